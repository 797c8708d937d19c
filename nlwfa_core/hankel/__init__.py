"""The Hankel matrix of a function of strings, H[u, v] = f(uv).

- `names`: the names of the statistics that f can be, and of the transforms of entries.
- `basis`: `Basis`, the prefixes and suffixes that are rows and columns, and their selection from a sample.
- `matrix`: `HankelMatrix` itself, boundary symbols, and H of a known function.
- `estimate`: estimates H from a sample.
- `transforms`: takes square roots of entries, or divides rows by the frequency of their prefix.
- `values`: H with only some cells known, for functions that are not distributions.

`learning` learns models from H.
"""
