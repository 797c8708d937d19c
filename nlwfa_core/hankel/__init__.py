"""The Hankel matrix of a function of strings, H[u, v] = f(uv).

- `names`: the statistics that f may be, and the transforms of its entries, by name.
- `basis`: `Basis`, the prefixes and suffixes, and which of a sample's are selected.
- `matrix`: `HankelMatrix` itself, boundary symbols, and H of a known function.
- `estimate`: H from a sample.
- `transforms`: square roots, or rows divided by their prefix's frequency.
- `values`: H with only some cells observed, for functions that are not distributions.

How H becomes a model is up to `learning`.
"""
