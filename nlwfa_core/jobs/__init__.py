"""Runs recipes in other processes, so that pages stay responsive and a sweep uses all cores.

- `pace`: estimates a stage's remaining time from its speed so far.
- `snapshots`: a picture of the states in the middle of a training.
- `job`: one run of a recipe by a server, with its progress and its state.
- `queue`: the waiting jobs; sessions take turns.
- `folders`: the folders of finished runs on disk.
- `worker`: the worker processes, of servers and of sweeps.
- `runner`: a server's state machine: queue, worker processes, pauses, cancelling.
- `sweep`: many recipes at once, on this machine or on a Dask cluster.

A result is a folder on disk, named after its recipe's key, no matter who made it. The `history` records what happens to runs. This
package knows nothing about people: a session is only a name here.
"""
