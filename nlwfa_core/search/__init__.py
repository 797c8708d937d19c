"""Searches for the best model of all families within some minutes, and chooses a rank by validation
strings.

- `budget`: how much a search may spend: time, states and threads.
- `rank_selection`: the choice of a rank by validation strings.
- `networks`: the recipes of NL-WFA that a search trains.
- `loop`: the search: families, numbers of states and starts, and a mixture at the end.
"""
