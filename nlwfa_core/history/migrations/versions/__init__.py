"""The steps in order: `revision_1` (the table of runs), `revision_2` (people's own lists),
`revision_3` (sessions of a class).

They have run on people's files, so they are never changed: a new layout of the tables is a new
step.
"""
