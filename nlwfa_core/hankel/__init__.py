"""The Hankel matrix of a function of strings, H[u, v] = f(uv).

- `names`: the names of the statistics that f can be, and of the transforms of entries.
- `basis`: `Basis`, the prefixes and suffixes that are rows and columns, and their selection from a
  sample.
- `matrix`: `HankelMatrix` itself, boundary symbols, transforms of its entries, and H of a known
  function.
- `estimate`: estimates H from a sample.
- `values`: H with only some cells known, for functions that are not distributions.

`learning` learns models from H.
"""
