"""Colours that must be told apart are far apart: for usual eyes, and as people with each kind of
colour blindness see them.

Simulation: Machado, Oliveira, Fernandes 2009, severity 1, in linear RGB. Distance: CIE 1976 ΔE*ab,
of which 2.3 is just noticeable and 10 is seen at a glance.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from nlwfa_core.display.palette import ACCENT, BLUES, COLOURS, MARK, REDS
from nlwfa_core.learning.learners import HANKEL_LEARNERS

EYES = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.3039],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)
WHITE = TO_XYZ @ np.ones(3)
PAGES = {"light": ("#ffffff", "#f4f6f8"), "dark": ("#11161d", "#1a212b")}


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour: str, eyes: str) -> np.ndarray:
    x, y, z = TO_XYZ @ np.clip(EYES[eyes] @ linear(colour), 0, 1) / WHITE
    fx, fy, fz = (
        t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in (x, y, z)
    )
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def distance(first: str, second: str, eyes: str = "usual") -> float:
    return float(np.linalg.norm(lab(first, eyes) - lab(second, eyes)))


def contrast(first: str, second: str) -> float:
    """WCAG 2: of luminances."""
    light, dark = sorted(
        (float(TO_XYZ[1] @ linear(colour)) for colour in (first, second)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def test_the_measures_are_those_of_their_sources() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert lab("#ffffff", "usual") == pytest.approx([100, 0, 0], abs=0.02)
    assert distance("#ff0000", "#00ff00") == pytest.approx(170.6, abs=0.5)


@pytest.mark.parametrize("eyes", EYES)
def test_learners_are_told_apart(eyes: str) -> None:
    """Their curves have markers of their own, too; opponents and references have dashes."""
    distances = {
        pair: distance(*(COLOURS[name] for name in pair), eyes)
        for pair in combinations(HANKEL_LEARNERS, 2)
    }
    assert min(distances.values()) > 15, distances


@pytest.mark.parametrize("eyes", EYES)
def test_negative_entries_are_told_from_positive_ones(eyes: str) -> None:
    distances = [distance(blue, red, eyes) for blue, red in zip(BLUES, REDS, strict=True)]
    assert min(distances) > 10, distances
    assert distance(ACCENT, MARK, eyes) > 30


@pytest.mark.parametrize("scale", [BLUES, REDS])
def test_scales_run_from_light_to_dark_in_even_steps(scale: tuple[str, ...]) -> None:
    lightness = np.array([lab(colour, "usual")[0] for colour in scale])
    steps = -np.diff(lightness)
    assert steps.min() > 0 and steps.max() < 3 * steps.min(), steps


@pytest.mark.parametrize("look", PAGES)
@pytest.mark.parametrize("name", COLOURS)
def test_lines_stand_out_from_the_page(name: str, look: str) -> None:
    """WCAG 2.1 asks 3 to 1 of graphics; the bright Okabe–Ito colours miss it on white, where width
    and markers help.
    """
    assert contrast(COLOURS[name], PAGES[look][0]) >= (2.2 if look == "light" else 3.0)
