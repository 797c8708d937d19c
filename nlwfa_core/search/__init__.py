"""Search for the best model of all families within a few minutes, and choose a rank.

- `budget`: how much time and how many states and threads a search may use.
- `rank_selection`: the choice of a rank by validation strings, AIC or BIC.
- `candidates`: models with their bits and recipes, and the result.
- `mixing`: the choice of a model or a mixture.
- `families`: what each family trains, how its models learn from all strings, and their titles.
- `loop`: the search, which decides which family trains next, and its result.
"""
