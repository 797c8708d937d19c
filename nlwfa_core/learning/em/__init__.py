"""Probabilistic automata by expectation–maximisation.

- `hmm`: hidden Markov models.
- `pfa`: probabilistic automata.
- `em_training`: EM of both in turns, for a search.
"""
