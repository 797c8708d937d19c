"""Studies with the library. They need a checkout, because they are not installed with it.

- `reproduction`: repeats the experiments of Li, Rabusseau and Precup (2018) (`nlwfa reproduce`).
- `competitions`: the problems of PAutomaC and SPiCe, with the scores reached here and
  published ones (`nlwfa compete`); `records` brings them to the lab.

The other modules answer one question each, with a command of its own.
"""
