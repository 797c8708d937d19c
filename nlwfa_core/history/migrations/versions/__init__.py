"""The steps in their order: `revision_1` (the table of runs), `revision_2` (whose runs are whose).

They have run on people's files, so none of them is ever changed: a new layout of the tables is a new step.
"""
