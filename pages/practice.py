"""Practice: tasks with fresh numbers from a seed, entered, checked and worked out."""

from pages.shared import sidebar, widgets
from pages.views import practice as view

sidebar.page_recipe(
    "Practice",
    "Tasks for pencil and paper, with fresh numbers each time. Enter your answer; if it is wrong, you learn why and have a second "
    "try, which counts half. Then the solution opens. The address of the page holds the kinds and the number of the task: whoever "
    "opens it sees the same task.",
)
with widgets.errors_as_messages():
    names, number = view.choice()
    view.task(names, number)
view.score()
