"""Prepare the drawing of the auto-encoder: what each of its units computes from a row of H, and how
much of H its output retains.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..hankel.basis import Basis
from ..jobs.snapshots import NetworkPicture
from ..strings.words import Alphabet
from .palette import BLUES, MARK, REDS
from .string_labels import word_labels

# Powers of ten between which the sizes of entries are coloured. H is divided by its largest entry.
SCALE = (-4, 0)


def network_drawing(
    network: NetworkPicture, basis: Basis, alphabet: Alphabet, training: bool
) -> dict[str, Any]:
    """Make the payload of the drawing.

    `basis`: the prefixes and suffixes of H. `alphabet`: the symbols of the basis. `training`:
    whether the network is still being trained.

    Returns the fields of `network` under their own names, and "prefixes", "suffixes": labels of the
    rows and columns that are drawn; "whole": [num_prefixes, num_suffixes] of H; "training", "scale"
    and "colours".
    """
    num_rows = len(network.inputs)
    num_columns = len(network.outputs[0])
    return asdict(network) | {
        "prefixes": word_labels(basis.prefixes.take(list(range(num_rows))), alphabet),
        "suffixes": word_labels(basis.suffixes.take(list(range(num_columns))), alphabet),
        "whole": [len(basis.prefixes), len(basis.suffixes)],
        "training": training,
        "scale": SCALE,
        "colours": {"positive": BLUES, "negative": REDS, "mark": MARK},
    }
