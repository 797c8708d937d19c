"""Probabilistic automata by expectation–maximisation.

- `prefix_tree`: the E step of both.
- `loop`: EM to its end.
- `hmm`: hidden Markov models.
- `pfa`: probabilistic automata.
- `em_training`: EM of both in turns, for a search.
"""
