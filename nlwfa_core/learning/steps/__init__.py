"""The two steps of NL-WFA learning (Li, Rabusseau, Precup 2018, §4), and their training.

- `auto_encoder`: the auto-encoder of the matrix's rows (§4.1).
- `factorisation`: step 1, which trains it.
- `transitions`: step 2 (§4.2), one network per symbol.
- `losses`: the losses of both steps, computed exactly, without a dense matrix, and with gradients
  written by hand.
- `descent`: the training loop: L-BFGS, or Adamax as in the paper.
- `levenberg_marquardt`: an optimiser for small networks of step 2, with the same result on every
  processor.
"""
