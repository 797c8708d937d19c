"""From a Hankel matrix, or from strings, to a model: the paper's learners, and those they are compared with.

What is asked, and what is answered:

- `names`: the registry of learners and refinements.
- `options`: `Options` and `Refinement`, what is asked of a learner.
- `learners`: `fit` from a Hankel matrix, and `fit_strings` from strings.
- `values`: `fit_values`, any function from the values of some strings.
- `progress`: reports, logs and cancelling.

The steps, in the order of the paper:

- `spectral`: linear spectral learning, SP (§2.3): the SVD of H_λ, then all A_σ; `completion`: the same with unknown cells.
- `factorisation`: step 1 (§4.1), an auto-encoder of the matrix's rows.
- `transition_networks`: step 2 (§4.2), a network for each symbol; `levenberg_marquardt`: small ones, the same on every
  processor.
- `reading`: from these parts to a model.
- `refine_hankel` (§4.4), `refine_likelihood`, `refine_values`: a third step, which trains all parameters together.
- `square_root`: from a linear model of f² to f itself, a start of `refine_values`.
- `rollout`: the model rolled out along a prefix tree, which the third steps differentiate.

What they stand on, and the learners of strings:

- `losses`: the losses of both steps, exact and without a dense matrix, with gradients written by hand.
- `networks`, `early_stopping`: the training loop, and the best model so far.
- `hmm`, `recurrent`: hidden Markov models by EM, and recurrent networks.

No module here sees a recipe or a test string: that is up to `experiment`. Those with torch are imported only to train networks.
"""
