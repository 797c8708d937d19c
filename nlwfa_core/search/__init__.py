"""Search for the best model of all families within some minutes, and choose a rank.

- `budget`: how much a search may spend: time, states and threads.
- `rank_selection`: the choice of a rank by validation strings, AIC or BIC.
- `candidates`: models with their bits and recipes, and the result.
- `mixing`: the choice of a model or a mixture.
- `families`: what each family trains, how its models learn from all strings, and their titles.
- `loop`: the search: which family's training is next, and the result.
"""
