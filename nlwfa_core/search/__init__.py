"""Searches for the best model of all families within some minutes, and chooses a rank.

- `budget`: how much a search may spend: time, states and threads.
- `rank_selection`: the choice of a rank by validation strings, AIC or BIC.
- `networks`: the recipes of NL-WFA that a search trains.
- `candidates`: models with their bits and recipes, and the result.
- `mixing`: the choice of a model or a mixture.
- `retraining`: the training of the chosen models on all strings.
- `loop`: the search: what is trained next, of which family, with how many states.
"""
