"""Compute, in blocks of rows, the likelihood of what followed some prefixes, with gradients written
by hand.

The scores of next symbols have a row for each prefix and a column for each symbol: with 6,722
symbols, the scores for 300,000 prefixes take 16 GB, and autograd holds several such tables. Here
the gradient of a block is computed together with its value, and a block is small enough to stay in
the processor's cache, which also makes the computation faster (for many symbols, three to four
times).

With few symbols, blocks gain nothing, so `in_blocks` decides when they are used. The results equal
those of whole tables up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..strings.trie import SCORES_AT_ONCE

# more next symbols than this are always scored in blocks, because that is faster
MANY_OUTPUTS = 1000
SCORES_PER_BLOCK = 2**18  # 2 MB
# added to each, so a string to which the model gives 0 does not stop the training
MIN_PROBABILITY = 1e-8


def in_blocks(num_rows: int, num_outputs: int) -> bool:
    """Return whether scores of this many rows and columns are computed in blocks.

    >>> in_blocks(20_000, 34), in_blocks(100, 6_723), in_blocks(1_000_000, 34)
    (False, True, True)
    """
    return num_outputs > MANY_OUTPUTS or num_rows * num_outputs > SCORES_AT_ONCE


def blocks(
    rows: torch.Tensor, num_rows: int, rows_at_once: int
) -> Iterator[tuple[slice, torch.Tensor]]:
    """Yield slices of 0 … num_rows − 1, each with the positions in `rows` of the entries that lie
    in it.

    >>> rows = torch.tensor([3, 0, 1, 3])
    >>> [(part.start, part.stop, positions.tolist()) for part, positions in blocks(rows, 4, 2)]
    [(0, 2, [1, 2]), (2, 4, [0, 3])]
    """
    order = torch.argsort(rows, stable=True)
    starts = np.arange(0, num_rows, max(1, rows_at_once))
    bounds = [*np.searchsorted(rows[order].numpy(), starts).tolist(), len(rows)]
    for number, start in enumerate(starts.tolist()):
        yield (
            slice(start, min(start + max(1, rows_at_once), num_rows)),
            order[bounds[number] : bounds[number + 1]],
        )


def log_likelihood(
    hidden: torch.Tensor,
    columns: torch.Tensor,
    rows: torch.Tensor,
    symbols: torch.Tensor,
    weights: torch.Tensor,
    softmax: bool,
) -> torch.Tensor:
    """Compute Σ_i w_i ln p(symbol_i | row_i) in blocks, where p comes from the scores S = `hidden`
    · `columns`.

    `hidden` (num_rows, width). `columns` (width, num_outputs). `rows` and `symbols` (n,): distinct
    pairs of a row and a column of S. `weights` (n,): the constants w_i. `softmax`: whether p is the
    softmax of a row of S. If not, it is |S_ij| / Σ_j |S_ij| + `MIN_PROBABILITY`.

    Returns a number with gradients with respect to `hidden` and `columns`.
    """
    with_gradients = torch.is_grad_enabled()
    arguments = (hidden, columns, rows, symbols, weights, softmax, with_gradients)
    return _LogLikelihood.apply(*arguments)  # type: ignore[no-any-return,no-untyped-call]


class _LogLikelihood(torch.autograd.Function):
    """The sum and its gradients.

    For a softmax the gradient with respect to a row of S is Σ_i w_i (e_i − p), with e_i the unit
    vector of symbol_i. For absolute values with sum s, and q_i = |S_i| / s + MIN_PROBABILITY, it is
    sign(S) · Σ_i w_i (e_i − |S_i| / s) / (q_i s).
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        columns: torch.Tensor,
        rows: torch.Tensor,
        symbols: torch.Tensor,
        weights: torch.Tensor,
        softmax: bool,
        differentiated: bool,
    ) -> torch.Tensor:
        hidden, columns, weights = hidden.detach(), columns.detach(), weights.to(hidden.dtype)
        total = torch.zeros((), dtype=hidden.dtype)
        ctx.gradients = (
            torch.empty_like(hidden) if differentiated else None,
            torch.zeros_like(columns) if differentiated else None,
        )
        for part, chosen in blocks(rows, len(hidden), SCORES_PER_BLOCK // columns.shape[1]):
            row = rows[chosen] - part.start
            symbol = symbols[chosen]
            weight = weights[chosen]
            scores = hidden[part] @ columns
            if softmax:
                scores -= scores.amax(dim=1, keepdim=True)
                followed = scores[row, symbol]
                values = scores.exp_()
                sums = values.sum(dim=1)
                total += weight @ (followed - sums.log()[row])
                pulls = weight
                shares = weight
            else:
                values = scores.abs()
                sums = values.sum(dim=1) + torch.finfo(scores.dtype).tiny
                shares = values[row, symbol] / sums[row]
                raised = shares + MIN_PROBABILITY
                total += weight @ raised.log()
                pulls = weight / raised
                shares = pulls * shares
            if not differentiated:
                continue
            down = torch.zeros_like(sums).index_add_(0, row, shares) / sums
            if softmax:
                gradient = values.mul_(-down[:, None])
                gradient[row, symbol] += pulls
            else:
                gradient = (-down[:, None]).expand_as(scores).clone()
                gradient[row, symbol] += pulls / sums[row]
                gradient *= scores.sign()
            torch.mm(gradient, columns.T, out=ctx.gradients[0][part])
            ctx.gradients[1].addmm_(hidden[part].T, gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        return *(outer[0] * gradient for gradient in ctx.gradients), None, None, None, None, None
