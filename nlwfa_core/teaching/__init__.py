"""The lab's teaching, without Streamlit: lessons, questions, tasks, quizzes, automata to build, and
a class.

- `markdown`: the form of the Markdown files that lessons, tasks, quizzes and automata to build are.
- `answers`, `questions`: what is expected, how it is read and checked; questions in Markdown, and
  responses to them.
- `lessons`: a reader of the lessons' Markdown files.
- `shipped`: training of the results that are shipped with the lab.
- `tasks`: the bank of tasks, with fresh numbers from a seed.
- `automata`: automata that a person draws: tables and mistakes, what they are, challenges, learning
  them back, files.
- `quizzes`: quizzes before and after a lesson, and the normalised gain.
- `class_board`: what a class has answered.
- `class_plan`: the plan for a class, step by step.
- `glossary`: the field's terms, and those used in a given text.

Only the command line and the pages import this package.
"""
