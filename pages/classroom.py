"""Class page: a session of a class, with its board for the teacher and a way in for students, and a
plan for 50 minutes.
"""

from pages.shared import share_link, sidebar, widgets
from pages.views import classroom as view

with widgets.errors_as_messages():
    if view.is_teacher() and share_link.is_slide():
        view.slide()
    elif view.is_teacher():
        view.presenter()
        view.session_controls()
        view.plan()
    else:
        sidebar.page_recipe(
            "Class",
            "A session collects a class's answers, and nobody needs an account: students join with "
            "a code, and the teacher sees who is where, moves the class from step to step, reveals "
            "answers, and collects what is handed in.",
        )
        if view.has_code():
            view.student()
        else:
            view.entrance()
            view.plan()
