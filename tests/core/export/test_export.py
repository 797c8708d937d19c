"""Exports: programs run and print the same numbers, files are read back, and a user's text stays
text.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import asdict, replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient

from nlwfa_core import (
    DataRecipe,
    HankelRecipe,
    Recipe,
    RecipeError,
    load,
    load_info,
    run,
)
from nlwfa_core.display.graph import dot, quoted
from nlwfa_core.display.recipe_differences import NO_EFFECT, options
from nlwfa_core.display.result_tables import as_sentence
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import prepare
from nlwfa_core.experiment.results import Result
from nlwfa_core.export.automaton_formats import openfst, pautomac, weights_json
from nlwfa_core.export.downloads import (
    data_files,
    figure_files,
    model_files,
    refusals,
    score_files,
)
from nlwfa_core.export.figures import FORMATS
from nlwfa_core.export.notebook import notebook
from nlwfa_core.export.ranks import files_of
from nlwfa_core.export.report import report
from nlwfa_core.export.script import script
from nlwfa_core.files import FileShelf, zipped
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.learning.learners import SP, BothNon
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.pautomac import read_pautomac_model, read_solution
from nlwfa_core.sources.random_automata import random_automaton, sample_words, squared_automaton
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.words import Alphabet, Words
from tests.waiting import PATIENCE_SECONDS

HOSTILE = (
    "<script>alert(1)</script>",
    '"quote"',
    "'",
    "$x$",
    "`x`",
    "a\\nb",
    "\\",
    "-->",
    "</style>",
    "{x}",
    "&lt;",
    "]];",
    "N\\G",
)
SMALL = Recipe(
    data=DataRecipe(num_strings=300, num_validation=40, num_test=40),
    hankel=HankelRecipe(num_prefixes=30, num_suffixes=30),
    learning=SP(rank=2),
)
NETWORKS = SMALL.changed(
    learning=BothNon(
        rank=2,
        optimizer="adamax",
        start="random",
        epochs_factorisation=5,
        epochs_transitions=5,
        refine="likelihood",
        epochs_refinement=2,
    ),
)
AUTOMATON = random_automaton(4, 3, seed=5, density=0.5)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> FileShelf:
    return FileShelf(tmp_path_factory.mktemp("uploads"))


@pytest.fixture(scope="module")
def hostile(shelf: FileShelf) -> Recipe:
    """A recipe of strings whose symbols have a meaning in HTML, Markdown, Python or Graphviz."""
    lines = "\n".join(" ".join(HOSTILE[start:] + HOSTILE[:start]) for start in range(len(HOSTILE)))
    tests = f"<img/src=x/onerror=alert(2)> <script>alert(1)</script>\n{HOSTILE[0]} {HOSTILE[1]}\n"
    upload, upload_test = (shelf.put(text.encode()) for text in (lines * 3, tests))
    return SMALL.changed(data=DataRecipe(source="upload", upload=upload, upload_test=upload_test))


@pytest.fixture(scope="module")
def learned() -> Result:
    return run(SMALL)


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(SMALL, id="SP"),
        pytest.param(NETWORKS, id="both.non", marks=pytest.mark.slow),
    ],
)
def test_the_script_prints_the_runs_scores(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(script(recipe), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    printed = dict(re.findall(r"^  (\w+): (.*)$", done.stdout, flags=re.MULTILINE))
    assert printed == {name: repr(value) for name, value in asdict(run(recipe).scores).items()}


def test_the_script_finds_uploaded_files_beside_it(
    hostile: Recipe, shelf: FileShelf, tmp_path: Path
) -> None:
    (tmp_path / "run.py").write_text(script(hostile), encoding="utf-8")
    shutil.copytree(shelf.directory, tmp_path / "uploads")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    assert f"wer: {run(hostile, files=shelf.get).scores.wer!r}" in done.stdout


def test_a_recipes_text_reaches_a_program_as_text_only() -> None:
    evil = '"); import os; os.system("x") #\n"""'
    # unchecked, as no user can
    recipe = SMALL.model_copy(
        update={"hankel": SMALL.hankel.model_copy(update={"statistic": evil})}
    )
    tree = ast.parse(script(recipe))
    assert evil in {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert [
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    ] == []


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(SMALL, id="SP"), pytest.param(NETWORKS, id="both.non", marks=pytest.mark.slow)],
)
def test_the_notebook_runs_and_ends_with_the_runs_scores(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MPLBACKEND", raising=False)  # so the kernel shows figures, as for people
    book = nbformat.reads(notebook(recipe), as_version=4)
    nbformat.validate(book)
    NotebookClient(
        book,
        timeout=PATIENCE_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    assert json.loads(book.cells[-1].outputs[0]["text"]) == json.loads(
        json.dumps(asdict(run(recipe).scores))
    )
    kinds = {
        kind
        for cell in book.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    }
    assert {"image/png", "text/markdown"} <= kinds
    assert recipe.learning.learner in str(book.cells[-3].outputs)


@pytest.mark.parametrize("learner", ["HMM", "fac.non"])
def test_notebooks_are_the_same_bytes_and_hold_no_text_of_a_user(
    learner: str, hostile: Recipe
) -> None:
    recipe = hostile.with_learner(learner)
    book = notebook(recipe)
    nbformat.validate(nbformat.reads(book, as_version=4))
    assert book == notebook(recipe)
    assert not [symbol for symbol in HOSTILE[:1] if symbol in book]
    for cell in json.loads(book)["cells"]:
        assert cell["cell_type"] == "markdown" or ast.parse(cell["source"])


def test_a_probabilistic_automaton_goes_to_pautomac_and_back() -> None:
    words = sample_words(AUTOMATON, 300, 1)
    back = read_pautomac_model(pautomac(AUTOMATON).encode(), 3)
    np.testing.assert_allclose(back.weights(words), AUTOMATON.weights(words), rtol=1e-9, atol=0)
    np.testing.assert_allclose(back.transitions, AUTOMATON.transitions, rtol=1e-12)
    assert pautomac(read_pautomac_model(pautomac(back).encode(), 3)) == pautomac(
        read_pautomac_model(pautomac(back).encode(), 3)
    )


def test_a_state_that_always_stops_has_no_symbols() -> None:
    wfa = WFA(np.array([1.0, 0.0]), np.array([[[0.0, 0.5], [0.0, 0.0]]]), np.array([0.5, 1.0]))
    back = read_pautomac_model(pautomac(wfa).encode())
    assert back.weights(Words.of([(), (0,), (0, 0)])).tolist() == [0.5, 0.5, 0.0]


def test_automata_that_a_format_can_not_express_are_refused(learned: Result) -> None:
    with pytest.raises(RecipeError, match="needs probabilities, but the lowest weight here is −"):
        pautomac(squared_automaton(2, 2, 0))
    with pytest.raises(
        RecipeError, match="the transitions and the termination of state 0 sum to 0.9"
    ):
        pautomac(WFA(np.array([1.0]), np.array([[[0.5]]]), np.array([0.4])))
    with pytest.raises(RecipeError, match="the initial weights sum to 2"):
        pautomac(WFA(np.array([2.0]), np.array([[[0.5]]]), np.array([0.5])))
    assert isinstance(learned.model, WFA)
    assert len(refusals(squared_automaton(2, 2, 0))) == 2 and not refusals(AUTOMATON)
    assert any("the initial weights sum to" in sentence for sentence in refusals(learned.model))
    assert "automaton.pautomac.txt" not in model_files(learned)


def test_openfst_arcs_sum_to_the_automatons_weights() -> None:
    """What the text means, computed from its lines: paths from state 0, weights −ln, label 0 reads
    no symbol.
    """
    arcs = []
    final = {}
    for row in (line.split("\t") for line in openfst(AUTOMATON).splitlines()):
        if len(row) == 4:
            arcs.append((int(row[0]), int(row[1]), int(row[2]), np.exp(-float(row[3]))))
        else:
            final[int(row[0])] = np.exp(-float(row[1]))

    def weight(word: tuple[int, ...]) -> float:
        states = {0: 1.0}
        for label in (0, *(symbol + 1 for symbol in word)):
            following: dict[int, float] = {}
            for start, end, read, share in arcs:
                if read == label and start in states:
                    following[end] = following.get(end, 0.0) + states[start] * share
            states = following
        return sum(share * final.get(state, 0.0) for state, share in states.items())

    words = [(), (0,), (2, 1), (0, 1, 2, 2)]
    np.testing.assert_allclose(
        [weight(word) for word in words], AUTOMATON.weights(Words.of(words)), rtol=1e-12
    )


def test_graphviz_reads_hostile_symbols_as_text() -> None:
    alphabet = Alphabet((*HOSTILE, "line\nbreak"))
    wfa = WFA(np.array([1.0]), np.full((len(alphabet), 1, 1), 0.01), np.array([0.1]))
    text = dot(wfa, alphabet.symbols)
    # head, layout, styles of nodes and arrows, a state, an arrow, the end
    assert text.count("\n") == 7
    labels = re.findall(r'\[label="((?:[^"\\]|\\.)*)"[\],]', text)
    assert len(labels) == 2 and len(labels[1].split("\\l")) - 1 >= len(alphabet)
    assert (
        quoted('"];x[label="') == '\\"];x[label=\\"'
        and quoted("a\nb") == "a\\\\nb"
        and quoted("&quot;") == "&amp;quot;"
    )
    assert "<script>" in quoted(HOSTILE[0])  # inside quotes, an angle bracket is one
    small = WFA(np.array([1.0]), np.array([[[0.9]], [[0.001]]]), np.array([0.1]))
    assert "// 1 weights below 0.018 are not drawn" in dot(small, ("a", "b"))


def test_graphviz_itself_draws_it() -> None:
    if shutil.which("dot") is None:
        pytest.skip("there is no Graphviz on this machine")
    alphabet = Alphabet(HOSTILE)
    wfa = WFA(np.array([1.0]), np.full((len(alphabet), 1, 1), 0.01), np.array([0.1]))
    drawn = subprocess.run(
        ["dot", "-Tplain"],
        input=dot(wfa, alphabet.symbols),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    assert drawn.stdout.count("\nnode ") == 1


def test_the_json_of_an_automaton_has_all_digits(learned: Result) -> None:
    assert isinstance(learned.model, WFA)
    read = json.loads(weights_json(learned.model, learned.alphabet))
    again = WFA(*(np.array(read[name]) for name in ("initial", "transitions", "termination")))
    words = load_data(SMALL.data).test.words
    assert read["symbols"] == ["[", "]"] and np.array_equal(
        again.weights(words), learned.model.weights(words)
    )


def test_archives_are_the_same_bytes_and_hold_the_model(learned: Result, tmp_path: Path) -> None:
    archive = zipped(model_files(learned))
    assert archive == zipped(model_files(learned))
    zipfile.ZipFile(io.BytesIO(archive)).extractall(tmp_path)
    again = load(tmp_path)
    assert evaluate(again, load_data(SMALL.data).test) == learned.scores
    assert load_info(tmp_path)["recipe"] == SMALL.model_dump(mode="json")
    assert "automaton.json" not in model_files(run(NETWORKS))


def test_data_is_read_back_as_it_was() -> None:
    data = load_data(SMALL.data.changed(source="automaton"))
    files = data_files(data)
    train = read_strings(files["train.txt"]).sample()
    assert train.num_strings == 300 and dict(
        zip(train.words, train.counts.tolist(), strict=True)
    ) == dict(zip(data.train.words, data.train.counts.tolist(), strict=True))
    assert list(read_strings(files["test.txt"]).words) == list(data.test.words)
    assert np.array_equal(read_solution(files["test-solution.txt"]), data.test.target)
    true = read_pautomac_model(files["true-automaton.pautomac.txt"], alphabet=data.alphabet)
    np.testing.assert_allclose(true.weights(data.test.words), data.test.target, rtol=1e-9)


class Reader(HTMLParser):
    """Collects the elements, addresses and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.addresses += [
            value or ""
            for name, value in attrs
            if name in ("src", "href", "action", "data", "poster")
        ]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_needs_no_other_file_and_hostile_symbols_are_text_in_it(
    hostile: Recipe, shelf: FileShelf
) -> None:
    result = run(hostile, files=shelf.get)
    data = load_data(hostile.data, shelf.get)
    prepared = prepare(hostile, files=shelf.get)
    references = {
        "<b>uniform</b>": evaluate(Uniform(data.train.num_symbols, data.alphabet), data.test)
    }
    link = "http://localhost:8501/?a='\"><script>x</script>"
    page = Reader()
    text = report(result, data, prepared.hankel, references, link)
    page.feed(text)
    assert (
        not page.names & {"script", "iframe", "object", "embed", "link", "b", "form", "base"}
        and not page.handlers
    )
    assert page.addresses and all(
        address.startswith("data:image/svg+xml;base64,") for address in page.addresses
    )
    assert (
        "<img/src=x/onerror=alert(2)>" in page.text
        and link in page.text
        and "<b>uniform</b>" in page.text
    )
    assert "url(" not in text and "@import" not in text and "default-src 'none'" in text
    written = options(hostile)
    assert all(
        (option in page.text) == (value != NO_EFFECT)
        for option, value in written.items()
        if " " in option
    )
    assert f"{result.scores.wer:.3f}" in page.text and "Lower is better" in page.text
    assert f"<th>training strings</th><td>{data.train.num_strings}</td>" in text


def test_the_report_of_networks_has_their_losses_and_how_training_ended(learned: Result) -> None:
    result = run(NETWORKS)
    data = load_data(NETWORKS.data)
    text = report(result, data, build_hankel(data.train, NETWORKS.hankel), {})
    assert text.count("<img ") == 3 + len({log.measure for log in result.report.logs})
    for log in result.report.logs:
        assert f'<p class="muted">{escape(as_sentence(log.summary))}</p>' in text
    assert (
        "spectral radius" not in text
        and "numerical rank" not in text
        and "epochs of the factorisation" in text
    )
    assert "torch" in text
    assert text == report(result, data, build_hankel(data.train, NETWORKS.hankel), {})
    opponent = run(SMALL.with_learner("HMM"))
    assert "Hankel matrix</h2>" not in report(opponent, data, None, {})


def test_the_report_of_a_linear_model_says_how_far_the_rank_is_known(learned: Result) -> None:
    data = load_data(SMALL.data)
    text = report(learned, data, build_hankel(data.train, SMALL.hankel), {})
    assert "<th>numerical rank</th><td>at least 2</td>" in text and "spectral radius" in text
    recipe = text.split("<h2>Recipe</h2>")[1]
    assert "P(S→SS)" in recipe and "Tomita" not in recipe and "epochs" not in recipe


@pytest.mark.slow
def test_the_figures_of_a_run_are_files_for_papers_and_slides(learned: Result) -> None:
    data = load_data(SMALL.data)
    hankel = build_hankel(data.train, SMALL.hankel)
    files = figure_files(learned, data, hankel)
    names = {"hankel", "singular-values", "weights"}
    assert set(files) == {f"{name}.{suffix}" for name in names for suffix in FORMATS}
    assert all(files[name][:4] == b"%PDF" for name in files if name.endswith("pdf"))
    assert files == figure_files(learned, data, hankel)
    networks = run(NETWORKS)
    data = load_data(NETWORKS.data)
    hankel = build_hankel(data.train, NETWORKS.hankel)
    drawn = figure_files(networks, data, hankel)
    assert "SP, same rank" in drawn["relative-loss.svg"].decode()
    assert all(name in drawn["weights.svg"] for name in (b">truth<", b">SP<", b">both.non<"))
    pfa = run(SMALL.with_learner("PFA"))
    assert b">PFA<" in figure_files(networks, data, hankel, [pfa])["weights.svg"]
    scores = score_files(networks, data, hankel, {}, [pfa])
    rows = scores["scores.csv"].decode().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ['"both.non', '"SP', '"PFA']
    lines = scores["scores.tex"].decode().splitlines()
    assert [line.split(",")[0] for line in lines if ", k = " in line] == ["both.non", "SP", "PFA"]
    assert f" & {networks.scores.wer:.3f} & " in lines[8]
    assert lines[3].startswith(rf"\caption{{{networks.scores.num_strings} test strings")
    alone = figure_files(networks, data, None)
    assert "bits-per-symbol.svg" in alone and b">SP<" not in alone["weights.svg"]
    opponent = run(SMALL.with_learner("HMM"))
    assert b"k = 2<" in files["singular-values.svg"]
    assert b"k = 2<" not in figure_files(opponent, data, hankel)["singular-values.svg"]


def test_scores_of_all_ranks_are_a_table_and_figures(learned: Result) -> None:
    """Without what is not known: here, of SP with one state, the total variation."""
    networks = run(NETWORKS)
    seeds = [networks, run(NETWORKS.changed(learning=NETWORKS.learning.changed(seed=1)))]
    unknown = replace(learned.scores, total_variation=math.nan)
    files = files_of({1: unknown, 2: learned.scores}, {"both.non": {2: seeds}})
    names = [
        f"ranks-{score}.{kind}" for score in ("tv", "wer", "bits-per-symbol") for kind in FORMATS
    ]
    assert list(files) == ["ranks.csv", *names]
    table = pd.read_csv(io.BytesIO(files["ranks.csv"]))
    assert table["learner"].tolist() == ["SP", "SP", "both.non", "both.non"]
    assert table["rank"].tolist() == [1, 2, 2, 2]
    assert table["seed"].tolist()[2:] == [0, 1]
    assert table["wer"].tolist()[1:] == [one.scores.wer for one in (learned, *seeds)]
    assert b"by likelihood" not in files["ranks-wer.svg"]
    assert b"from the matrix" in files["ranks-wer.svg"] and b">both.non<" in files["ranks-wer.svg"]
    assert "∞" not in files["ranks-tv.svg"].decode()
    first, second = seeds
    nan_first = replace(first, scores=replace(first.scores, wer=math.nan))
    assert "ranks-wer.pdf" not in files_of({}, {"both.non": {2: [nan_first, second]}})
    known_nowhere = files_of({2: replace(learned.scores, total_variation=None)}, {})
    assert "ranks-tv.pdf" not in known_nowhere and "ranks-wer.pdf" in known_nowhere
