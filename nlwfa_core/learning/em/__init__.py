"""Probabilistic automata by expectation–maximisation.

- `prefix_tree`: the E step of both models.
- `loop`: runs EM to its end.
- `hmm`: hidden Markov models.
- `pfa`: probabilistic automata.
- `em_training`: EM that can be stopped and continued, for a search.
"""
