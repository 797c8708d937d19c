"""Learn functions of strings that need not be distributions, from their values.

- `fit_values`: `fit_values`, which learns from values at some strings.
- `square_root`: turns a linear model of f² into a model of f, from which a refinement can start.
- `queries`: `learn_by_queries`, which learns by asking for values, and the oracles that supply its
  counterexamples.
"""
