"""Keep the history: a database of every run in a lab's folder, with scores, curves and messages.

- `database`: SQLite or PostgreSQL; `migrations` makes the tables.
- `runs`: the table of runs, and `History`, which changes it.
- `owners`: people's own lists of runs, for labs that many people share.
- `listing`: looks runs up, filtered and sorted, a page at a time.
- `recorder`: records runs as their states change, and cleans up after servers that have died.
- `classes`: sessions of a class, with their members' answers and hand-ins.
- `bundles`: finished runs as one file, which another lab can import.

Models and whole results are not here: they stay in their folders, from which lost rows can be
restored.
"""

from ..errors import check_extra

check_extra("cli", "sqlalchemy", "alembic", "filelock")
