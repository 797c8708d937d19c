"""A third step (§4.4), which trains all parameters of a model together. Modules are named after
their objectives.

- `hankel`: on the rows of H.
- `likelihood`: to predict what follows each prefix of the training strings.
- `values`: on known values of a function.
- `torch_states`: the states of a prefix tree in torch, so they can be differentiated, for
  `likelihood` and `values`. `hankel` computes states and gradients itself, in NumPy.

The option `refine` chooses between `hankel` and `likelihood`, in `fitting`.
"""
