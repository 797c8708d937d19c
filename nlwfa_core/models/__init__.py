"""Functions over strings: what a learner returns, and what scores are computed from.

- `model`: what every model can do: weights of strings, and scores of what comes next.
- `wfa`: `WFA`, weighted finite automata.
- `conversion`: from automata of prefix or factor probabilities to automata of string probabilities.
- `nlwfa`: `NLWFA`, their nonlinear version, whose maps are small networks.
- `reading`: what is done with a network's outputs.
- `ngram`, `recurrent`: the uniform model, n-grams, and GRU and LSTM, which the automata are compared with.
- `sampling`: strings drawn from any model.
- `geometry`: states compared as points.
- `files`: models in folders.

Models are frozen values, evaluated with numpy. `learning` makes them from data; the true models of generated strings are in
`sources`.
"""
