"""Status page: shows what the server is doing now, for the person who runs it."""

from pages.shared import sidebar
from pages.views import status as view

sidebar.page_recipe(
    "Status", "This page shows a teacher what the server is doing now, while a class works."
)
view.stop_if_not_allowed()
view.board()
