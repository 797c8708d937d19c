"""Running recipes in other processes, so that a page stays quick and a sweep uses all cores.

- `pace`: how long a stage still takes, from how fast it has gone.
- `snapshots`: a picture of the states in the middle of a training.
- `job`: one run of a recipe by a server, with its progress and its state.
- `queue`: the jobs that wait, fair to sessions.
- `folders`: the folders of finished runs on disk.
- `worker`: the worker processes, of servers and of sweeps.
- `runner`: a server's state machine: queue, worker processes, pauses, cancelling.
- `sweep`: many recipes at once, on this machine or on a Dask cluster.

A result is a folder on disk, named by its recipe's key, whoever made it. What happens to runs is written into the `history`. This
package does not know who people are: a session is only a name here.
"""
