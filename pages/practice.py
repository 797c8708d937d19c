"""Practice: tasks with fresh numbers from a seed, whose answers are entered, checked and worked
out; quizzes before and after a lesson.
"""

from pages.shared import sidebar, widgets
from pages.views import practice as view

sidebar.page_recipe(
    "Practice",
    "Tasks for pencil and paper, with fresh numbers each time. Enter your answer; if it is wrong, "
    "you learn why and have a second try, which counts for half. Then the solution opens. The "
    "address of the page contains the kinds and the number of the task, so anyone who opens it "
    "sees the same task. *Quiz* has eight items for each lesson, to take before and after it.",
)
with widgets.errors_as_messages():
    if view.mode() == view.QUIZ:
        view.quiz(*view.quiz_choice())
    else:
        names, number = view.choice()
        view.task(names, number)
        view.score()
