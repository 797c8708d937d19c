"""History page: lists every run so far; runs can be searched, opened, compared, and exported to
another lab.
"""

from pages.shared import sidebar, widgets
from pages.views import history as view

sidebar.page_recipe(
    "History",
    "Every run is listed here with its recipe, its scores and how it ended. Find a run, open it, "
    "take it to another lab, or compare two runs.",
)
view.stop_if_off()
with widgets.errors_as_messages():
    run_list = view.run_list()
    choices = view.choices(run_list)
    if not choices.total:
        view.undo_bar(run_list)
        view.nothing_yet(run_list)
    else:
        view.interrupted_bar(run_list, choices)
        query = view.query_controls(run_list, choices)
        page = view.page_of(run_list, query)
        picked = view.table(run_list, page, query)
        view.undo_bar(run_list)  # in the place where the Delete button was
        view.actions(run_list, picked, choices.tags)
        view.one_run(run_list, picked)
        view.watch(run_list, page, query)
    view.import_control(run_list)
