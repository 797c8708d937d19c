"""History: every run that was kept; looking for some of them, and what can be done with them."""

from pages.shared import blocks, history_actions, history_view

blocks.page_recipe(
    "History",
    "Every run stays here with its recipe, its scores and how it ended: find it again, open it, put two side by side, or take it "
    "to another lab.",
)
history_view.stop_if_off()
with blocks.errors_shown():
    shelf = history_view.shelf()
    choices = history_view.choices(shelf)
    if not choices.total:
        history_actions.undo_bar(shelf)
        history_view.nothing_yet(shelf)
    else:
        history_actions.go_on_bar(shelf, choices)
        query = history_view.query_controls(shelf, choices)
        page = history_view.page_of(shelf, query)
        picked = history_view.table(shelf, page, query)
        history_actions.undo_bar(shelf)  # where the button was that deleted
        history_actions.actions(shelf, picked, choices.tags)
        history_view.one_run(shelf, picked)
        history_view.watch(shelf, page, query)
    history_actions.import_control(shelf)
