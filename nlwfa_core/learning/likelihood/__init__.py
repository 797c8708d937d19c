"""Networks trained by likelihood along the prefix tree of the training strings, without a Hankel
matrix: what is minimised and how, and the path of ranks.

- `prefixes`: the distinct prefixes of a sample, and how often each symbol follows them.
- `network`: the network, what is minimised, and its gradient.
- `curvature`: the generalised Gauss–Newton matrix, and the evidence for a network.
- `newton`: the descent, by L-BFGS in coordinates in which that matrix is the identity.
- `path`: from rank to rank, with random starts for few states and growth after that.
- `many_symbols`: networks for which that matrix is too large, taught by networks of the same rank.
"""
