"""The Hankel matrix of a function of strings, H[u, v] = f(uv).

- `statistics`: the names of the statistics that f can be, and of the transforms of entries.
- `basis`: `Basis`, the prefixes and suffixes that are rows and columns, and the selection of the
  most frequent prefixes and suffixes of a sample.
- `boundary`: boundary symbols around strings.
- `matrix`: `HankelMatrix` over the p-closure of a basis, made from counts, a function or arrays.
- `transforms`: the transforms of a matrix's entries before it is factorised.
- `recipe`: `HankelRecipe`, the options of a matrix.
- `estimate`: estimates a matrix from a sample, for each statistic.
- `valued_strings`: strings with values, and the cells that they fill.

`learning` learns models from H.
"""
