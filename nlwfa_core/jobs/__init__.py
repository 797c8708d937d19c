"""Run recipes in other processes, so pages stay responsive and a sweep uses all cores.

A job is one run of a recipe by a server. It waits, runs or has ended; while it is paused, it is
held between two epochs.

- `pace`: estimates a stage's remaining time from its speed so far.
- `snapshots`: the states as points in the plane, during training.
- `job`: a job with its progress and its state.
- `queue`: the queue of waiting jobs, in which sessions take turns.
- `folders`: the folders of finished runs on disk.
- `worker`: the worker processes, of servers and of sweeps.
- `runner`: the jobs of a server: its queue, worker processes, pauses and cancelling.
- `sweep`: many recipes at once, on this machine or on a Dask cluster.

A result is a folder on disk, named after its recipe's key, whether a server or a sweep made it. The
package `history` records what happens to runs. A session is a name for a submitter of jobs, such as
a browser; this package needs to know nothing else about people.
"""
