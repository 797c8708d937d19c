"""Figures for a projector."""

from __future__ import annotations

from nlwfa_core.display.figures import for_a_wall
from nlwfa_core.display.figures.score_curves import score_bars
from nlwfa_core.metrics.seeds import Spread


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
