"""History: every run there was; search it, open a run, compare, take runs to another lab."""

from pages.shared import sidebar, widgets
from pages.views import history as view

sidebar.page_recipe(
    "History",
    "Every run is listed here with its recipe, its scores and how it ended. Find a run again, open it, put two side by side, or "
    "take it to another lab.",
)
view.stop_if_off()
with widgets.errors_as_messages():
    shelf = view.shelf()
    choices = view.choices(shelf)
    if not choices.total:
        view.undo_bar(shelf)
        view.nothing_yet(shelf)
    else:
        view.go_on_bar(shelf, choices)
        query = view.query_controls(shelf, choices)
        page = view.page_of(shelf, query)
        picked = view.table(shelf, page, query)
        view.undo_bar(shelf)  # at the place of the button that deleted
        view.actions(shelf, picked, choices.tags)
        view.one_run(shelf, picked)
        view.watch(shelf, page, query)
    view.import_control(shelf)
