"""Hostile input: every reader of the lab gets sound files that were changed at random, and may only
accept or refuse them.

- `readers`: what reads bytes or text from outside, each with sound inputs;
- `mutations`: how a sound input becomes a hostile one, by a seed;
- `fuzz`: the long run, `python -m benchmarks.hostile`, each reader in its own process;
- `guided`: the same guided by coverage, one reader at a time, with Atheris.

`tests/core/test_hostile.py` gives the same readers some hundred inputs each. Results are in
docs/hostile-input.md.
"""
