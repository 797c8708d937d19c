"""Automata that a person draws: rows and their mistakes, what is said about them, challenges,
learning back, files.
"""

from __future__ import annotations

import io
import json
import zipfile
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import WFA, Alphabet, DataRecipe, RecipeError, Words
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.files import zipped
from nlwfa_core.models.algebra import equivalent, minimise
from nlwfa_core.teaching.automata import facts
from nlwfa_core.teaching.automata.automaton_files import automaton_files, read_automaton
from nlwfa_core.teaching.automata.challenges import Challenge, read_challenges
from nlwfa_core.teaching.automata.draft import (
    MAX_STATES,
    ArrowRow,
    Draft,
    StateRow,
    draft_of_link,
    edited,
    read_draft,
    weight_of,
    weight_text,
)
from nlwfa_core.teaching.automata.examples import EMPTY, EXAMPLES, example
from nlwfa_core.teaching.automata.learning_back import (
    SIZES,
    curve_sentence,
    learning_curve,
    source_files,
    source_recipe,
)

ASSETS = Path(__file__).resolve().parents[3] / "assets" / "automata"
CHALLENGES = read_challenges(ASSETS)
EVEN = example("even-a")


def test_rows_with_mistakes_are_named_and_the_rest_is_an_automaton():
    draft = Draft(
        (
            StateRow("1", "1", "x"),
            StateRow("2", "1", ""),
            StateRow("", ".5", ""),
            StateRow("3", "0", "1/2"),
            StateRow("2", "", ""),
        ),
        (
            ArrowRow("2", "a", "4", "1"),
            ArrowRow("2", "a b", "3", "1"),
            ArrowRow("2", "a", "3", "1"),
            ArrowRow("2", "a", "3", "2"),
            ArrowRow("3", "b", "3", ""),
            ArrowRow("", "", "", ""),
            ArrowRow("3", "", "3", "1"),
            ArrowRow("3", "λ", "3", "1"),
            ArrowRow("3", "b", "3", "1e400"),
        ),
    )
    assert draft.mistakes == (
        "States, row 1: α∞: write a number: a decimal, a fraction or a percentage; got 'x'",
        "States, row 3: the state has no name",
        "States, row 5: there is already a state 2; each name may be used once",
        "Arrows, row 1: To: there is no state 4; the states are 2, 3",
        "Arrows, row 2: a symbol must have no spaces; got 'a b'",
        "Arrows, row 4: row 3 has an arrow from 2 to 3 with a already; put the sum of the "
        "weights there",
        "Arrows, row 5: the weight is missing",
        "Arrows, row 7: the symbol is missing",
        "Arrows, row 8: λ stands for the empty string, and can't be a symbol",
        "Arrows, row 9: a weight must be a finite number of at most 1·10¹⁰⁰; got '1e400'",
    )
    wfa = draft.automaton
    assert draft.names == ("2", "3") and wfa.alphabet == Alphabet(("a",))
    assert (
        wfa.initial.tolist() == [1, 0] and wfa.termination.tolist() == [0, 0.5] and wfa("a") == 0.5
    )


def test_states_without_a_way_are_named():
    draft = read_draft(
        "state 1 1 0\nstate 2 0 1\nstate 3 0 1\nstate 4 0 0\narrow 1 a 2 1\narrow 3 a 2 "
        "1\narrow 1 a 4 1"
    )
    assert draft.notes == (
        "State 3 can't be reached: no chain of arrows leads to it from a state with an "
        "initial weight.",
        "State 4 reaches no end: no chain of arrows leads from it to a state with a final weight.",
    )
    assert EMPTY.notes == (
        "No state has a final weight, so every string has the weight 0: set α∞ of a state.",
    )


@given(st.floats(allow_nan=False, min_value=-1e100, max_value=1e100))
def test_weights_are_read_as_they_are_written(value: float):
    assert weight_of(weight_text(value)) == value


def test_a_draft_in_lines_and_in_a_link():
    for name in EXAMPLES:
        draft = example(name, 3)
        assert not draft.mistakes and draft_of_link(draft.link_text()) == draft
        assert equivalent(read_draft(draft.text).automaton, draft.automaton)
    broken = Draft((StateRow("", "x", "y"),), (ArrowRow("a b", "", "c", "1"),))
    assert draft_of_link(broken.link_text()) == broken
    for text in (
        "",
        "x",
        "!!!",
        EVEN.link_text()[:-6],
        Draft((StateRow("1", "1" * 41, ""),)).link_text(),
    ):
        with pytest.raises(RecipeError, match="the automaton in this link is damaged"):
            draft_of_link(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "stat 1 1 1",
            "line 2: a line of an automaton is symbols symbols or state name α₀ α∞ or arrow "
            "state symbol state weight",
        ),
        ("state 2 1", "line 2: a line of an automaton is"),
        ("arrow 1 a 2 1", "line 2: To: there is no state 2; the states are 1"),
        ("state 2 x 0", "line 2: α₀: write a number"),
    ],
)
def test_lines_with_an_error_name_it(line: str, message: str):
    with pytest.raises(RecipeError) as error:
        read_draft(f"state 1 1 1\n{line}\n")
    assert str(error.value).startswith(message)


def test_edits_in_the_drawing_make_an_automaton_from_nothing():
    draft = EMPTY
    for edit in (
        {"kind": "state", "name": "1", "initial": "1", "termination": "1"},
        {"kind": "add-state"},
        {"kind": "arrow", "source": "1", "symbol": "a", "target": "2", "weight": "2"},
        {"kind": "arrow", "source": "1", "symbol": "a", "target": "2", "weight": "1"},
        {"kind": "arrow", "source": "2", "symbol": "a", "target": "1", "weight": "1"},
        {"kind": "arrow", "source": "1", "symbol": "b", "target": "1", "weight": "1"},
        {"kind": "arrow", "source": "2", "symbol": "b", "target": "2", "weight": "1"},
    ):
        draft = edited(draft, edit)
    assert equivalent(draft.automaton, EVEN.automaton) and len(draft.arrows) == 4
    assert (
        edited(draft, {"kind": "remove-arrow", "source": "1", "symbol": "a", "target": "2"}).arrows
        == draft.arrows[1:]
    )
    smaller = edited(draft, {"kind": "remove-state", "name": "2"})
    assert smaller.names == ("1",) and smaller.arrows == (ArrowRow("1", "b", "1", "1"),)
    for edit, message in (
        (
            {"kind": "arrow", "source": "1", "symbol": "a", "target": "7", "weight": "1"},
            "there is no state 7",
        ),
        (
            {"kind": "arrow", "source": "1", "symbol": "a", "target": "1", "weight": "x"},
            "write a number",
        ),
        ({"kind": "state", "name": "1", "initial": "?", "termination": "0"}, "α₀: write a number"),
        ({"kind": "fly"}, "an edit must be one of"),
    ):
        with pytest.raises(RecipeError, match=message):
            edited(draft, edit)
    crowded = draft
    while len(crowded.names) < MAX_STATES:
        crowded = edited(crowded, {"kind": "add-state"})
    with pytest.raises(RecipeError, match=f"at most {MAX_STATES} states"):
        edited(crowded, {"kind": "add-state"})


def test_the_matrix_and_its_rank():
    block = facts.hankel_block(EVEN.automaton, 2, 2).block.toarray()
    words = [word for length in range(3) for word in product((0, 1), repeat=length)]
    assert (block == [[(u + v).count(0) % 2 == 0 for v in words] for u in words]).all()
    assert "**2 states**" in facts.rank_sentence(2, EVEN.automaton)
    assert facts.rank_sentence(1, EVEN.automaton).endswith(
        "too short. Yours has no more than that."
    )
    assert "so 2 could be dropped" in facts.rank_sentence(2, EVEN.automaton + EVEN.automaton)
    sentence = facts.removal_sentence(EVEN.automaton, 1, "odd")
    assert sentence.startswith(
        "Without state odd the rank falls from 2 to 1. The shortest string whose weight "
        "changes is aa: f = 1 b"
    )
    spare = read_draft("state 1 1 1\nstate 2 0 1\narrow 1 a 1 0.5\narrow 2 a 1 1").automaton
    assert facts.removal_sentence(spare, 1, "2").startswith(
        "Without state 2 nothing changes: the rank stays 1"
    )
    with pytest.raises(RecipeError, match="the length of prefixes must be between 0 and 5; got 6"):
        facts.hankel_block(EVEN.automaton, 6, 1)


def test_what_is_a_distribution_and_what_is_not():
    def said(name: str) -> str:
        return facts.mass(example(name).automaton, example(name).names).sentence

    assert said("hmm") == "It is a probability distribution: the weights of all strings sum to 1."
    assert "because the spectral radius is 2, not below 1" in said("even-a")
    assert said("even-a").endswith("Too much weight stays among the states even, odd.")
    # both loops weigh 2; either would do
    assert said("count-a").endswith("Too much weight stays in state 2.")
    minus = CHALLENGES["a-minus-b"].solution
    assert "f(b) = −1 is negative" in facts.mass(minus.automaton, minus.names).sentence
    halves = CHALLENGES["halves"].solution
    found = facts.mass(halves.automaton, halves.names)
    assert (
        found.sentence.endswith("the weights of all strings sum to 2, not to 1.")
        and found.is_scalable
        and found.total == 2
    )
    nothing = facts.mass(EMPTY.automaton, EMPTY.names)
    assert nothing.sentence.endswith("every string has the weight 0.") and not nothing.is_scalable
    signed = WFA([1.0, -0.5], [[[0.5, 0], [0, 0.25]]], [1.0, 1.0])  # 2⁻ⁿ − 4⁻ⁿ/2 > 0, sum 4/3
    scaled = facts.mass(signed * 0.75, ("1", "2"))
    assert (
        scaled.is_distribution
        and "no string of up to 40 symbols has a negative weight" in scaled.sentence
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31))
def test_scaling_makes_a_probabilistic_automaton_of_the_same_shape(seed: int):
    rng = np.random.default_rng(seed)
    wfa = WFA(rng.random(3), 0.15 * rng.random((2, 3, 3)), rng.random(3))
    scaled = facts.scaled_to_one(wfa)
    assert np.allclose(scaled.initial.sum(), 1) and np.allclose(
        scaled.transitions.sum(axis=(0, 2)) + scaled.termination, 1
    )
    assert equivalent(wfa.total_weight() * scaled, wfa)
    with pytest.raises(RecipeError, match="got the lowest weight −1 and the sum"):
        facts.scaled_to_one(WFA([-1.0], [[[0.5]]], [1.0]))


@pytest.mark.parametrize("challenge", CHALLENGES.values(), ids=CHALLENGES)
def test_each_challenge_accepts_its_solution_in_any_basis_and_refuses_others(challenge: Challenge):
    assert challenge.check(challenge.solution).correct
    target = challenge.automaton
    # the shipped solutions have the fewest states
    assert minimise(target).num_states == target.num_states
    rng = np.random.default_rng(1)
    basis = np.eye(target.num_states) + np.triu(rng.integers(0, 3, target.transitions.shape[1:]), 1)
    inverse = np.linalg.inv(basis)
    turned = WFA(
        target.initial @ basis,
        inverse @ target.transitions @ basis,
        inverse @ target.termination,
        target.alphabet,
    )
    assert challenge.check(Draft.of(turned)).correct
    assert (
        "1 state more than the smallest one"
        in challenge.check(challenge.solution.with_state()).reason
    )
    for row in challenge.solution.arrows:
        verdict = challenge.check(challenge.solution.without_arrow(*row[:3]))
        assert (
            not verdict.correct
            and 0 <= verdict.credit <= 0.5
            and "The shortest string whose weight differs is" in verdict.reason
        )


# What the texts promise, computed from their words.
EXPECTED = {
    "even-a": lambda x: x.count("a") % 2 == 0,
    "ends-in-b": lambda x: x.endswith("b"),
    "ab-star": lambda x: x == "ab" * (len(x) // 2),
    "both-even": lambda x: x.count("a") % 2 == x.count("b") % 2 == 0,
    "number-of-a": lambda x: x.count("a"),
    "a-minus-b": lambda x: x.count("a") - x.count("b"),
    "halves": lambda x: 0.5 ** len(x),
    "fibonacci": lambda x: [0, 1, 1, 2, 3, 5, 8][len(x)],
    "binary": lambda x: int(x or "0", 2),
    "coin": lambda x: 0.25 * 0.375 ** len(x),
    "dyck-2": lambda x: _bracketed(x),
    "hmm": lambda x: _umbrellas(x),
}


def _bracketed(text: str) -> bool:
    depths = np.cumsum([0, *(1 if letter == "[" else -1 for letter in text)])
    return bool(depths.min() >= 0 and depths.max() <= 2 and depths[-1] == 0)


def _umbrellas(text: str) -> float:
    """Sum over all days' weather: starts, emissions, moves and the end, by the table of the
    text.
    """
    seen = {"sun": {"u": 0.1, "n": 0.9}, "rain": {"u": 0.8, "n": 0.2}}
    move = {"sun": {"sun": 0.6, "rain": 0.2}, "rain": {"sun": 0.3, "rain": 0.5}}
    total = 0.0
    for days in product(seen, repeat=len(text)):
        steps = [seen[day][letter] for day, letter in zip(days, text, strict=True)]
        moves = [move[one][two] for one, two in pairwise(days)]
        total += 0.5 * 0.2 * float(np.prod(steps + moves)) if text else 0.0
    return total


@pytest.mark.parametrize("name", [name for name in CHALLENGES if name != "random-brackets"])
def test_each_solution_computes_what_its_text_says(name: str):
    challenge = CHALLENGES[name]
    words = [
        "".join(word)
        for length in range(6)
        for word in product(challenge.alphabet.symbols, repeat=length)
    ]
    assert np.allclose(
        [challenge.automaton(word) for word in words],
        [EXPECTED[name](word) for word in words],
        atol=1e-12,
    )


def test_the_brackets_at_random():
    f = CHALLENGES["random-brackets"].automaton
    assert np.allclose(
        [f("λ"), f("[]"), f("[[]]"), f("[][]"), f("[[]")], [1 / 2, 1 / 6, 1 / 18, 1 / 18, 0]
    )
    assert abs(f.total_weight() - 1) < 1e-12


def test_what_a_wrong_attempt_is_told():
    even = CHALLENGES["even-a"]
    assert even.check(EMPTY).reason == (
        "Right for 15 of the 31 strings of up to 4 symbols. The shortest string whose weight "
        "differs is λ: yours gives 0, but it "
        "should be 1. No automaton with 1 state computes this function; it needs 2."
    )
    third = read_draft("state 1 1 1/4\narrow 1 h 1 0.375\narrow 1 t 1 0.376")
    assert "write fractions such as 1/3" in CHALLENGES["coin"].check(third).reason
    broken = even.check(
        Draft(EVEN.states, (*EVEN.arrows[:3], ArrowRow("odd", "b", "odd", "?")), ("a", "b"))
    ).reason
    assert "A row was left out because of a mistake: Arrows, row 4: write a number" in broken
    with pytest.raises(
        RecipeError, match="the strings of this task are over a, b; an arrow reads c"
    ):
        even.check(EVEN.with_arrow(ArrowRow("even", "c", "even", "1")))


def test_files_of_challenges_with_errors(tmp_path: Path):
    text = (ASSETS / "2-numbers.md").read_text()
    for change, message in (
        (("---\ntitle", "title"), "x.md: line 1: a file of automata to build must begin"),
        (("name: halves", "name: Halves!"), "name: only lower-case letters"),
        (("symbols: a\n", ""), "line 47: the line symbols: is missing, or has no value"),
        (("arrow 1 a 1 1/2", "arrow 1 a 3 1/2"), "To: there is no state 3; the states are 1"),
        (
            ("hint: One state is enough.\n", ""),
            "a task needs text, a line that begins with hint:",
        ),
        (("name: halves", "name: fibonacci"), "the name 'fibonacci' is already taken"),
    ):
        (tmp_path / "x.md").write_text(text.replace(*change))
        with pytest.raises(RecipeError) as error:
            read_challenges(tmp_path)
        assert message in str(error.value)


@pytest.mark.parametrize("name", ["hmm", "dyck-2", "tomita-5", "a-then-b"])
def test_strings_of_an_automaton_are_a_source_with_the_truth_beside_it(name: str):
    wfa = example(name).automaton
    files = source_files(wfa, 400, seed=5)
    shelf = {field: file.data for field, file in files.items()}
    recipe = source_recipe(
        DataRecipe(), {field: format(number, "064x") for number, field in enumerate(files)}, 400, 5
    )
    data = load_data(recipe, lambda name: shelf[list(files)[int(name, 16)]])
    assert data.sizes == (400, 100, 1000) and data.alphabet == wfa.alphabet
    assert isinstance(data.true_model, WFA) and equivalent(data.true_model, wfa)
    assert np.allclose(data.test.target, wfa.weights(data.test.words)) and data.test.target_is_true


def test_an_automaton_with_negative_entries_has_a_solution_beside_its_strings():
    wfa = WFA([0.75, -0.375], [[[0.5, 0], [0, 0.25]]], [1.0, 1.0], Alphabet(("a",)))
    files = source_files(wfa, 400, seed=5)
    assert set(files) == {"upload", "upload_test", "upload_solution"}
    shelf = {format(number, "064x"): file.data for number, file in enumerate(files.values())}
    recipe = source_recipe(DataRecipe(), dict(zip(files, shelf, strict=True)), 400, 5)
    data = load_data(recipe, shelf.__getitem__)
    assert data.test.target_is_true and np.allclose(data.test.target, wfa.weights(data.test.words))
    rare = read_draft("state 1 1 0.5\narrow 1 a 1 0.4999999\narrow 1 b 1 0.0000001")
    with pytest.raises(
        RecipeError, match="no drawn string contains the symbol b; draw more strings"
    ):
        source_files(rare.automaton, 100, seed=0)
    with pytest.raises(RecipeError, match="not a probability distribution"):
        source_files(EVEN.automaton, 100, seed=0)


def test_the_error_of_learning_back_falls_like_one_over_root_n():
    curve = learning_curve(example("hmm").automaton, SIZES[:5:2])
    medians = np.median(curve.errors, axis=1)
    assert curve.errors.shape == (3, 5) and curve.rank == 2 and 0.8 < curve.compared_mass < 1
    # √10 = 3.2
    assert (medians[:-1] / medians[1:] > 1.8).all() and (medians[:-1] / medians[1:] < 6).all()
    assert curve_sentence(curve).startswith(
        "With 100 strings the error is"
    ) and "which would be 10 times." in curve_sentence(curve)


def test_every_form_that_is_written_is_read_back():
    for name in ("hmm", "even-a", "dyck-2", "fibonacci"):
        draft = example(name)
        files = automaton_files(draft)
        for form in ("automaton.txt", "automaton.json"):
            assert equivalent(read_automaton(files[form]).automaton, draft.automaton)
        archive = zipped(
            {f"model/{file}": files[file] for file in ("model.json", "model.safetensors")}
        )
        assert equivalent(read_automaton(archive).automaton, draft.automaton)
        assert b"digraph" in files["automaton.dot"]
        assert all(f"{{{name}}};" in files["automaton.tex"].decode() for name in draft.names)
    # symbols are numbers there
    numbered = read_automaton(automaton_files(example("dyck-2"))["automaton.pautomac.txt"])
    assert numbered.automaton((0, 1)) == example("dyck-2").automaton(
        (0, 1)
    ) and numbered.alphabet == Alphabet(("0", "1"))


LARGE = json.dumps(
    {
        "symbols": ["a"],
        "initial": [1] * 21,
        "transitions": [[[1] * 21] * 21],
        "termination": [1] * 21,
    }
).encode()
BOMB = io.BytesIO()
with zipfile.ZipFile(BOMB, "w", zipfile.ZIP_DEFLATED) as bomb:
    bomb.writestr("model.json", bytes(2**23))
    bomb.writestr("model.safetensors", b"")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty; it must be a zip archive"),
        (b"\xff\xfe\x00", "the file is neither text nor a zip archive"),
        (b"PK\x03\x04 cut", "the zip archive can't be read"),
        (zipped({"a.txt": b"a"}), "the zip archive must hold one model.json; got 0"),
        (BOMB.getvalue(), "model.json must be at most 4,194,304 bytes"),
        (automaton_files(EVEN)["automaton.dot"], "DOT and TikZ can be written, but not read"),
        (automaton_files(EVEN)["automaton.tex"], "DOT and TikZ can be written, but not read"),
        (b"HOA: v1\nStates: 1\nStart: 0\n--BODY--\nState: 0\n--END--\n", "reads infinite words"),
        (automaton_files(EVEN)["model.json"], "model.json needs model.safetensors with it"),
        (
            b'{"symbols": ["a"], "initial": [1], "transitions": [[1]], "termination": [1]}',
            "a WFA needs initial",
        ),
        (
            b'{"symbols": ["a"], "initial": ["x"], "transitions": [[[1]]], "termination": [1]}',
            "initial",
        ),
        (
            json.dumps(
                {
                    "symbols": ["a"],
                    "initial": [1] * 21,
                    "transitions": [[[1] * 21] * 21],
                    "termination": [1] * 21,
                }
            ).encode(),
            "20",
        ),
        (b"I: (state)\n\t(0) 1\nF: (state)\n\t(0) 2\n", "a probability must be at most 1"),
        (b"hello\n", "this is not an automaton file; got 'hello'"),
        (b"state 1 1 1\narrow 1 a 2 1\n", "line 2: To: there is no state 2"),
    ],
)
def test_files_that_are_no_automata(data: bytes, message: str):
    with pytest.raises(RecipeError) as error:
        read_automaton(data)
    assert (
        message in str(error.value)
        and "Traceback" not in str(error.value)
        and "/tmp" not in str(error.value)
    )


def test_words_are_counted():
    assert [facts.longest_within(n, 100, 8) for n in (1, 2, 3, 12)] == [8, 5, 3, 1]
    assert len(facts.all_words(3, 3)) == 40 and isinstance(facts.all_words(1, 0), Words)


def test_the_example_of_the_handbook_is_a_task(tmp_path: Path):
    text = (ASSETS.parents[1] / "docs" / "tasks.md").read_text(encoding="utf-8")
    (tmp_path / "x.md").write_text(
        text.split("````markdown\n")[1].split("````")[0], encoding="utf-8"
    )
    challenge = read_challenges(tmp_path)["begins-with-a"]
    assert [challenge.automaton(word) for word in ("λ", "a", "ba", "abb")] == [0, 1, 0, 1] and len(
        challenge.hints
    ) == 2
    assert minimise(challenge.automaton).num_states == 2
