"""Figures: the room that letters and toolbars need."""

from __future__ import annotations

import numpy as np

from nlwfa_core.display.figures import for_a_wall
from nlwfa_core.display.figures.bars import bars_figure, lengths_figure
from nlwfa_core.display.figures.score_curves import score_bars
from nlwfa_core.metrics.seeds import Spread


def test_bars_end_below_the_toolbar() -> None:
    """Which is 40 pixels high in a browser, and lies over the top of the figure."""
    assert bars_figure(["a", "b"], np.array([4, 3]), "symbol").layout.margin.t >= 40
    assert lengths_figure(np.array([0, 3, 4, 3]), 3).layout.margin.t >= 40


def test_letters_on_a_wall_are_larger_and_have_the_room_that_they_need() -> None:
    scores = {"SP": Spread.of([0.4]), "both.non": Spread.of([0.3])}
    usual, large = (score_bars(scores, {"uniform": 0.8}, "wer") for _ in range(2))
    assert for_a_wall(large) is large
    drawn = large.to_dict()
    axes = [drawn["layout"][axis] for axis in ("xaxis", "yaxis")]
    assert {axis["tickfont"]["size"] for axis in axes} == {24}
    assert drawn["layout"]["xaxis"]["title"]["font"]["size"] == 24
    assert drawn["data"][0]["textfont"]["size"] == 24
    assert large.layout.height == 1.6 * usual.layout.height
