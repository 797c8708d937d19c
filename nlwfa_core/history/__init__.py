"""The history: every run there was on a lab's folder, in a database, with its scores, curves and sentences.

- `database`: SQLite or PostgreSQL; `migrations` brings the tables of earlier versions up to date.
- `runs`: the table of runs, and `History`, which changes it.
- `owners`: people's own lists of runs, for labs that many people share.
- `listing`: looks runs up, filtered and sorted, a page at a time.
- `recorder`: writes what happens to runs while they run, and cleans up after servers that have died.
- `bundles`: finished runs as one file, to take into another lab.

Models and whole results are not here: they stay in their folders, which are the truth, and from which lost rows are made again.
"""
