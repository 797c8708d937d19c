"""The revisions of the tables, in order: `revision_1` makes them.

Until 1.0 it is edited in place. From 1.0 on, people have tables that it made, so it never changes,
and a new layout of the tables is a new revision.
"""
