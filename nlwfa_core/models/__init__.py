"""Models: the functions of strings that learners return, and from which scores are computed.

- `model`: the interface of all models, with weights of strings and scores of what comes next.
- `methods`: the methods of all models for use at a Python prompt, which call a model, predict the
  next symbol, and draw strings.
- `wfa`: `WFA`, weighted finite automata.
- `span`: the span of an automaton's states, with error bounds, and the projection of the automaton
  onto this span.
- `algebra`: smallest automata, equality, distances, canonical forms, forward–backward, Viterbi.
- `conversion`: from automata that compute prefix or factor probabilities to automata that compute
  string probabilities.
- `nlwfa`: `NLWFA`, nonlinear weighted finite automata, whose maps are small networks.
- `reading`: how the outputs of a network are turned into weights and scores.
- `ngram`, `recurrent`: the uniform model, n-grams, GRU and LSTM, for comparison with automata.
- `mixture`: convex combinations of models, with weights by EM.
- `unseen`: extends a model to symbols that it does not know; strings with them have weight 0.
- `sampling`: draws strings from any model.
- `geometry`: compares states as points.
- `model_files`: saves and loads models.

Models are frozen values, evaluated with numpy. `learning` learns them from data; the true models of
generated strings are in `sources`.
"""
