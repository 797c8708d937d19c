"""Pictures for LaTeX: two automata drawn by hand, and others read back from their pictures."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core.display.walk import automaton_graph
from nlwfa_core.errors import RecipeError
from nlwfa_core.export.downloads import refusals, saved_files
from nlwfa_core.export.tikz import tikz
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet
from nlwfa_core.teaching.automata.examples import example
from tests.waiting import PATIENCE_SECONDS

NODE = re.compile(r"  \\node\[state(.*)\] \(q(\d+)\) at \((.*), (.*)\) \{(.*)\};")
EDGE = re.compile(r"  \\path \(q(\d+)\) edge (?:\[(.*?)\] )?node (?:\[.*?\] )?\{(.*)\} \(q(\d+)\);")
LINE = re.compile(r"\\texttt\{(.*)\} (.*)")
# What TeX reads -> the character that it prints, from Lamport's and Mittelbach's books.
PRINTED = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textvisiblespace{}": " ",
    r"$\lambda$": "λ",
    "$<$": "<",
    "$>$": ">",
    "$|$": "|",
    **{f"\\{character}": character for character in "&%$#_{}"},
}
# α₀ has an entry below 0, α∞ a small one; the weight of b in state 1 is too small to be drawn.
TWO = WFA(
    np.array([1.0, -0.5]),
    np.array([[[0.5, 0.25], [0.125, 0.0]], [[0.001, 0.0], [-0.25, 0.0]]]),
    np.array([0.0, 1e-5]),
)


def printed(text: str) -> str:
    """What TeX prints for an escaped text."""
    known = "|".join(re.escape(command) for command in sorted(PRINTED, key=len, reverse=True))
    return re.sub(f"{known}|.", lambda match: PRINTED.get(match[0], match[0]), text)


def read(text: str) -> tuple[dict[int, str], dict[tuple[int, int], dict[str, str]]]:
    """A picture's states with their options, and its arrows with symbol -> weight."""
    states = {int(row[1]): row[0] for row in NODE.findall(text)}
    arrows = {}
    for source, _, label, target in EDGE.findall(text):
        lines = [LINE.fullmatch(line) for line in label.split(r"\\")]
        assert (int(source), int(target)) not in arrows  # one arrow for all symbols
        arrows[int(source), int(target)] = {printed(row[1]): row[2] for row in lines if row}
    return states, arrows


def test_a_weighted_automaton_is_drawn_as_by_hand() -> None:
    """Two states in one column: the loop of the upper one is above it, and the pair is bent."""
    assert tikz(TWO, ("a", "b")).splitlines() == [
        r"% needs \usepackage{tikz} and \usetikzlibrary{automata}",
        "% 1 weight below 0.01 not drawn",
        r"\begin{tikzpicture}[->, auto, font=\small, "
        "negative/.style={draw={rgb,255:red,213;green,94;blue,0}}]",
        r"  \node[state, initial left, initial text={1}] (q1) at (0.00, 0.00) {1};",
        r"  \node[state, initial left, initial text={$-$0.5}, accepting below, "
        r"accepting text={1$\cdot 10^{-5}$}] (q2) at (0.00, -2.24) {2};",
        r"  \path (q1) edge [loop above] node {\texttt{a} 0.5} (q1);",
        r"  \path (q1) edge [bend left=27] node {\texttt{a} 0.25} (q2);",
        r"  \path (q2) edge [negative, bend left=27] node [align=left] "
        r"{\texttt{a} 0.125\\\texttt{b} $-$0.25} (q1);",
        r"\end{tikzpicture}",
    ]


def test_a_deterministic_finite_automaton_has_double_circles_and_no_weights() -> None:
    """Strings with an even number of a."""
    draft = example("even-a")
    assert tikz(draft.automaton, ("a", "b"), names=draft.names).splitlines() == [
        r"% needs \usepackage{tikz} and \usetikzlibrary{automata}",
        r"\begin{tikzpicture}[->, auto, font=\small]",
        r"  \node[state, initial left, initial text={}, accepting] (q1) at (0.00, 0.00) {even};",
        r"  \node[state] (q2) at (3.12, 0.00) {odd};",
        r"  \path (q1) edge [loop above] node {\texttt{b}} (q1);",
        r"  \path (q1) edge [bend left=27] node {\texttt{a}} (q2);",
        r"  \path (q2) edge [bend left=27] node {\texttt{a}} (q1);",
        r"  \path (q2) edge [loop above] node {\texttt{b}} (q2);",
        r"\end{tikzpicture}",
    ]
    every = WFA(np.ones(1), np.ones((10, 1, 1)), np.ones(1))
    assert r"\texttt{7},\\\texttt{8}, \texttt{9}" in tikz(every, "0123456789")
    # an automaton that counts runs does more than accept: ab has weight 1, aab weight 2
    counting = example("count-a").automaton
    assert r"{\texttt{a} 1\\\texttt{b} 1}" in tikz(counting, "ab")


@pytest.mark.parametrize("num_states", [1, 2, 5, 9])
def test_states_arrows_and_weights_are_read_back_from_a_picture(num_states: int) -> None:
    rng = np.random.default_rng(num_states)
    wfa = WFA(
        rng.integers(0, 2, num_states) * 0.5,
        rng.normal(size=(3, num_states, num_states)).round(2),
        rng.integers(0, 2, num_states) * 0.25,
    )
    smallest = 0.02 * np.abs(wfa.transitions).max()
    states, arrows = read(tikz(wfa, "abc"))
    assert {state: "initial text={0.5}" in options for state, options in states.items()} == {
        state + 1: weight > 0 for state, weight in enumerate(wfa.initial)
    }
    assert {state: "accepting text={0.25}" in options for state, options in states.items()} == {
        state + 1: weight > 0 for state, weight in enumerate(wfa.termination)
    }
    assert {
        (source, symbol, target): float(weight.replace("$-$", "-"))
        for (source, target), label in arrows.items()
        for symbol, weight in label.items()
    } == {
        (source + 1, "abc"[symbol], target + 1): weight
        for (symbol, source, target), weight in np.ndenumerate(wfa.transitions)
        if abs(weight) >= smallest
    }


def test_states_are_where_the_lab_draws_them() -> None:
    for name in ("dyck-2", "hmm", "tomita-6"):
        wfa = example(name).automaton
        assert wfa.alphabet is not None
        nodes = automaton_graph(wfa, wfa.alphabet, "").view["nodes"]
        drawn = np.array([(node["x"], -node["y"]) for node in nodes]) / 50
        written = np.array(
            [
                (float(x), float(y))
                for _, _, x, y, _ in NODE.findall(tikz(wfa, wfa.alphabet.symbols))
            ]
        )
        np.testing.assert_allclose(written - written[0], drawn - drawn[0], atol=0.01)


def test_ends_are_drawn_where_no_arrow_is() -> None:
    """Below the upper state is the lower one, and to the right of the lower one its loop."""
    states, _ = read(tikz(example("hmm").automaton, ("read", "walk")))
    assert "initial left" in states[1] and "accepting right" in states[1]
    assert "initial left" in states[2] and "accepting below" in states[2]


def test_every_symbol_is_printed_as_it_is() -> None:
    symbols = (*r"\{}$&#^_%~<>|[]()*`'\"", "λ", "é猫", "New York", r"\end{tikzpicture}", "]}", "%")
    symbols = tuple(dict.fromkeys(symbols))
    text = tikz(WFA(np.ones(1), np.full((len(symbols), 1, 1), 0.5), np.ones(1)), symbols)
    _, arrows = read(text)
    assert arrows == {(1, 1): dict.fromkeys(symbols, "0.5")}
    assert "% for é 猫: LuaLaTeX or XeLaTeX, with a font that has them" in text.splitlines()
    [broken] = read(tikz(WFA(np.ones(1), np.full((1, 1, 1), 0.5), np.ones(1)), ["a\n%"]))[
        1
    ].values()
    assert broken == {"a\\n%": "0.5"}


def test_a_picture_that_is_too_large_for_tex_is_refused() -> None:
    wfa = WFA(np.full(16, 1 / 16), np.full((2, 16, 16), 0.01), np.full(16, 0.68))
    message = "A TikZ picture can have at most 500 states and transitions; this one would have 528."
    with pytest.raises(RecipeError, match=message):
        tikz(wfa, "ab")
    assert refusals(wfa) == (message,)
    assert "automaton.tex" not in saved_files(wfa, Alphabet(("a", "b")), {})
    assert tikz(wfa, "ab", smallest=0.02).count("path") == 0


def test_tex_itself_draws_it(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("LaTeX is not installed here")
    symbols = ("a", r"\{}$&#^_%~<>|[]")
    picture = tikz(TWO, symbols) + tikz(example("even-a").automaton, symbols)
    head = r"\documentclass{article}\usepackage{tikz}\usetikzlibrary{automata}\begin{document}"
    (tmp_path / "a.tex").write_text(f"{head}\n{picture}\\end{{document}}\n")
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    assert (tmp_path / "a.pdf").exists()
