"""Learns a model from a Hankel matrix or from strings: the paper's learners, and those that they
are compared with.

What callers use:

- `names`: names and texts of options.
- `options`: what the options of several learners have in common. `learners`: the options of each
  learner, and the registry of learners.
- `fitting`: `fit`, which learns from a Hankel matrix, and `fit_strings`, which learns from
  strings. `two_steps`: steps 1 and 2 of `fit`.
- `values`: `fit_values`, which learns any function of strings from its values at some of them.
- `queries`: `learn_by_queries`, which learns a function by asking for its values, and oracles for
  its counterexamples.
- `progress`: reports, logs and cancelling.

The steps, in the order of the paper:

- `spectral`: linear spectral learning, SP (§2.3): the SVD of H_λ, then all A_σ.
- `completion`: spectral learning when some cells of H are unknown.
- `factorisation`: step 1 (§4.1), an auto-encoder of the matrix's rows.
- `transition_networks`: step 2 (§4.2), one network per symbol.
- `levenberg_marquardt`: an optimiser for small networks of step 2, with the same result on every
  processor.
- `reading`: builds a model from the parameters that the two steps learned.
- `refine_hankel` (§4.4), `refine_likelihood`, `refine_values`: a third step, which trains all
  parameters together.
- `square_root`: turns a linear model of f² into a model of f, from which `refine_values` can start.
- `rollout`: computes the states of a prefix tree in torch, so that a third step can differentiate
  them.

What these modules share, and the learners that need no Hankel matrix:

- `losses`: the losses of steps 1 and 2, exact, without a dense matrix, and with gradients written
  by hand.
- `next_symbol_loss`: the likelihood of next symbols in blocks, for large alphabets and large
  samples.
- `networks`: the training loop. `early_stopping`: the best model so far, and when to stop.
- `hmm`: hidden Markov models by EM. `pfa`: probabilistic automata by EM. `em_training`: EM of both
  in turns, for a search.
- `merging`: deterministic automata, by merging states. `recurrent`: GRU and LSTM networks.

Recipes and test strings are the business of `experiment`; no module here uses them. Modules that
import torch are themselves imported only when a network is trained.
"""
