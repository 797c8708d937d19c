"""A third step (§4.4): trains all parameters of a model together. Modules have the names of their
objectives.

- `hankel`: on the rows of H.
- `likelihood`: to predict what follows each prefix of the training strings.
- `values`: on known values of a function.
- `rollout`: the states of a prefix tree in torch, so they can be differentiated.
"""
