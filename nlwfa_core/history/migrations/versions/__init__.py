"""The revisions of the tables, in order: `revision_1` makes them.

People have tables that a revision made, so it never changes, and a new layout of the tables is a
new revision.
"""
