"""Studies with the library, for those who have a checkout: none of them is installed with it.

- `reproduction`: the experiments of Li, Rabusseau and Precup (2018) again (`nlwfa reproduce`).
- `competitions`: the problems of PAutomaC and SPiCe, with the scores reached here and
  published ones (`nlwfa compete`); `records` brings them to the lab.

The other modules answer one question each, with a command of its own.
"""
