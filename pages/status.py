"""Status: what the server does now, for whoever runs it."""

from pages.shared import blocks, status_view

blocks.page_recipe("Status", "What this server is doing now: for a teacher, while a class works.")
status_view.stop_if_not_allowed()
status_view.board()
