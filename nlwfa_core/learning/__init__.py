"""Learn a model from a Hankel matrix or from strings, with the paper's learners or with others for
comparison.

- `names`: names and numbers that options and learners share.
- `shared_options`: the options that learners share, for networks and for the third step.
- `kinds`: the two kinds of learners, from a Hankel matrix and from strings.
- `learners`: a record of options for each learner, and the registry.
- `fitting`: `fit`, which learns from strings, or from a Hankel matrix.
- `two_steps`: steps 1 and 2 on a Hankel matrix: the SVD and linear maps, or networks from several
  starts.
- `progress`: reports, logs and cancelling.
- `spectral`: linear spectral learning, SP (§2.3): the SVD of H_λ, then all A_σ.
- `completion`: spectral learning when some cells of H are unknown.
- `steps`: the two steps of NL-WFA (§4): the auto-encoder of the rows of H, one network per symbol,
  and their training.
- `assembly`: builds a model from the parameters that the two steps learned.
- `likelihood`: networks trained by likelihood, without a matrix.
- `refine`: a third step (§4.4), which trains all parameters together.
- `functions`: functions learned from given values, or by asking for values.
- `em`: hidden Markov models and probabilistic automata by EM.
- `merging`: deterministic automata, by merging states.
- `recurrent_networks`: GRU and LSTM.
- `next_symbol_loss`: the likelihood of next symbols in blocks, for large alphabets and large
  samples.
- `tensors`: code shared by the modules that train with torch (the third step by likelihood or by
  values, GRU and LSTM).
- `lbfgs`: L-BFGS, the optimiser of the two steps and of the likelihood.
- `early_stopping`: keeps the best model so far, and decides when to stop.

Recipes and test strings are handled in `experiment`; no module here uses them. Modules that import
torch are themselves imported only when they train.
"""
