"""The families of models that a search compares. Each defines its name, which of its training runs
begin and continue, how its models are trained on all strings, and how they are described.

- `family`: what the families share, and what the loop of the search asks of each.
- `ngrams`: n-grams, a baseline without states.
- `spectral`: spectral learning (SP).
- `merging`: deterministic automata (PDFA) by merging states.
- `em`: PFA and HMM by EM, in turns.
- `networks`: NL-WFA by likelihood.
- `lstm`: LSTMs, on request.
"""
