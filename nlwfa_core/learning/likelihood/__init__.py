"""Networks trained by likelihood along the prefix tree of the training strings, without a Hankel
matrix.

- `prefixes`: the distinct prefixes of a sample, and how often each symbol follows them.
- `network`: the network, the objective, and its gradient.
- `curvature`: the generalised Gauss–Newton matrix, and the evidence for a network.
- `newton`: the descent, with L-BFGS in coordinates in which that matrix is the identity.
- `path`: from rank to rank, with random starts for few states and growth for more.
- `many_symbols`: networks for which that matrix is too large, taught by networks of the same rank.
"""
