"""Every public function and class, called with wrong values: None, text, nan, negative numbers,
empty and three-dimensional arrays.

Each call is refused by the project's own error, or accepted where the value has a meaning; never
does numpy or Python complain from within. `SOUND` has a call that works for every public name, and
a test fails if one is missing.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlwfa_core
from nlwfa_core import (
    NLWFA,
    WFA,
    Alphabet,
    Basis,
    Classifier,
    FileShelf,
    HankelMatrix,
    NGram,
    Recipe,
    Sample,
    Targets,
    TestSet,
    Words,
    estimate_hankel,
    fit,
    read_ranking,
    read_strings,
    read_targets,
    read_values,
    select_basis,
    string_scores,
)
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.metrics import seeds
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.strings.trie import Trie

AB = Alphabet(("a", "b"))
SAMPLE = read_strings(b"ab\na\n\nba\nab\n").sample()
BASIS = select_basis(SAMPLE, 4, 4)
HANKEL = estimate_hankel(SAMPLE, BASIS)
BLOCKS = [HANKEL.block.toarray(), *(HANKEL.symbol_block(symbol).toarray() for symbol in range(2))]
LINEAR = fit(HANKEL, "SP", rank=2).model
TEST = TestSet.empirical(SAMPLE)
TWO = Words.of([(0,), (1,)])
LARGER_TREE = Trie.of(Words.of([(5,)]), 6)
NGRAM = NGram.fit(SAMPLE, 2)
SMALL = {"num_strings": 50, "num_test": 20, "num_validation": 10}
RECIPE = Recipe(data=SMALL, hankel={"num_prefixes": 5, "num_suffixes": 5}, learning={"rank": 2})
TARGETS = read_targets(b"1.0 3 1.0\n1.0 -1 1.0\n")
RANKING = read_ranking(b"4 10 1 5 9\n1 -1\n")
SCORES = string_scores(LINEAR, TEST)
CLASSIFIER = Classifier.of({"x": LINEAR, "y": NGRAM})
HALVES = WFA([1.0], [[[0.25]], [[0.25]]], [0.5])
AUTOMATON = (
    b"I: (state)\n\t(0) 1.0\nF: (state)\n\t(0) 0.5\nS: (state,symbol)\n\t(0,0) 1.0\nT: "
    b"(state,symbol,state)\n\t(0,0,0) 1.0\n"
)
# Methods that a walk along strings calls for each symbol, with the arrays of the walk: a check
# would cost more than the step.
STEPS = {
    "WFA.transition",
    "NLWFA.transition",
    "NLWFA.decode",
    "NLWFA.outputs",
    "NLWFA.side_by_side",
}
# Methods whose arguments only the library makes: trees of prefixes, and the parts of a file.
INSIDE = {
    f"{kind}.{name}"
    for kind in ("WFA", "NLWFA", "NGram", "Mixture")
    for name in ("states", "scaled_states", "next_scores", "scaled_next_scores", "influences")
} | {"Sample.merged", "Words.joined"}
# Methods without arguments, and records that are checked elsewhere (recipes) or that only the
# library makes (`Scores`).
WITHOUT = {
    # fields: tests/core/experiment/test_recipe.py
    "DataRecipe", "HankelRecipe", "Recipe", "DataRecipe.source_options",
    "Reading",  # tests/core/sources/test_other_formats.py
    "Recipe.needs", "Recipe.setting",
    "RecipeError", "Scores", "Comparison", "FileShelf.titles", "Recipe.to_json", "Sample.frequencies", "WFA.squared", "WFA.total_weight",  # noqa: E501
    "Sample.to_series",
    "Words.packed",
    "Words.longest_first", "Words.blocks", "Words.suffixes", "Words.reversed",
}  # fmt: skip
BAD: dict[str, Any] = {
    "None": None, "text": "text", "empty text": "", "nan": float("nan"), "negative": -1, "a fraction": 2.5,  # noqa: E501
    "infinite": float("inf"),
    "an empty list": [], "three dimensions": np.zeros((2, 2, 2)), "nan in an array": np.array([np.nan, 1.0]), "texts": ["a", "b"],  # noqa: E501
    "a dictionary": {}, "an object": object(), "words": TWO, "a larger tree": LARGER_TREE, "None in a tuple": (None,),  # noqa: E501
    "nan in a list": [float("nan")],
}  # fmt: skip


def _calls(folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Name -> a function or class with arguments that it accepts."""
    shelf = FileShelf(folder / "shelf")
    key = shelf.put(b"ab\n")
    trained = fit(HANKEL, "fac.non", 2, epochs_factorisation=2)
    network = trained.model
    nlwfa_core.save(LINEAR, folder / "m", alphabet=AB)
    bootstrap = {"num_resamples": 10, "seed": 0, "confidence": 0.9}
    public = {
        "Alphabet": {"symbols": ("a", "b")},
        "Basis": vars(BASIS),
        "Classifier": {
            "labels": ("x", "y"),
            "models": (LINEAR, NGRAM),
            "priors": np.ones(2) / 2,
            "floor": 0.1,
        },
        "FileShelf": {"directory": folder},
        "HankelMatrix": vars(HANKEL),
        "NGram": vars(NGRAM),
        "NLWFA": vars(network),
        "Sample": {
            "words": SAMPLE.words,
            "counts": SAMPLE.counts,
            "alphabet": AB,
        },
        "Targets": vars(TARGETS),
        "TestSet": {
            "words": TWO,
            "target": np.ones(2) / 2,
            "sample": SAMPLE,
            "target_is_true": True,
            "true_model": None,
        },
        "WFA": {
            "initial": [1.0],
            "transitions": [[[0.25]]],
            "termination": [0.5],
            "alphabet": None,
        },
        "Words": {"symbols": TWO.symbols, "offsets": TWO.offsets, "alphabet": AB},
        **{
            name: {"wfa": HALVES}
            for name in ("minimise", "norm", "reverse", "singular_value_automaton", "trim")
        },
        **{
            name: {"left": HALVES, "right": HALVES}
            for name in ("counterexample", "distance", "equivalent", "relative_entropy")
        },
        **{name: {"wfa": HALVES, "word": (0, 1)} for name in ("posterior", "viterbi")},
        "approximate": {"wfa": HALVES, "num_states": 1},
        "as_sample": {"strings": ["ab"], "alphabet": AB},
        "frequent_symbols": {"strings": ["ab"], "min_count": 1, "unknown": "?"},
        "compare": {"first": LINEAR, "second": NGRAM, "strings": TEST, "floor": 0.0} | bootstrap,
        "conformance_oracle": {"weights": HALVES, "extra_states": 1, "tolerance": 0.1},
        "conformance_words": {"wfa": HALVES, "extra_states": 1},
        "converges_absolutely": {"wfa": HALVES, "max_products": 10},
        "cross_validate": {
            "sample": SAMPLE,
            "recipe": RECIPE,
            "number": 2,
            "ranks": (1,),
            "seed": 0,
        },
        "dense_hankel": {"blocks": BLOCKS, "basis": BASIS, "statistic": "string"},
        "draw": {"model": HALVES, "num_strings": 3, "seed": 0, "max_length": 10},
        "estimate_hankel": {
            "sample": SAMPLE,
            "basis": BASIS,
            "statistic": "string",
            "bounded": False,
        },
        "evaluate": {"model": LINEAR, "test": TEST, "floor": 0.0},
        "exact_oracle": {"target": HALVES},
        "fit_classifier": {
            "strings": {"x": ["ab"], "y": ["b"]},
            "options": "SP",
            "rank": 1,
            "priors": "uniform",
            "floor": 0.1,
            "alphabet": AB,
        },
        "fit_mixture": {"models": [LINEAR, NGRAM], "validation": SAMPLE, "level": "symbol"},
        "Mixture": {
            "models": (LINEAR, NGRAM),
            "shares": np.ones(2) / 2,
            "alphabet": AB,
            "level": "symbol",
        },
        "mixture": {"models": [HALVES, HALVES], "weights": [0.5, 0.5], "level": "symbol"},
        "exact_hankel": {
            "weights": LINEAR.weights,
            "basis": BASIS,
            "statistic": "string",
            "bounded": False,
        },
        "fit": {"data": SAMPLE, "options": "SP", "rank": 1, "validation": SAMPLE},
        "fit_values": {
            "values": read_values(b"ab,0.5\n,-2\nb,3\n").strings,
            "options": "SP",
            "rank": 1,
            "transform": "none",
        },
        "information_criteria": {"model": NGRAM, "strings": SAMPLE},
        "intervals": {"model": SCORES} | bootstrap,
        "learn_by_queries": {
            "weights": HALVES,
            "alphabet": 2,
            "oracle": nlwfa_core.exact_oracle(HALVES),
            "max_states": 3,
        },
        "linear_loss": {"hankel": HANKEL, "rank": 1},
        "load_data": {"recipe": RECIPE.data},
        "load": {"path": folder / "m"},
        "load_info": {"path": folder / "m"},
        "num_parameters": {"model": NGRAM},
        "options": {"learner": "SP", "rank": 2},
        "prepare": {"recipe": RECIPE},
        "rank_next": {"model": LINEAR, "prefixes": TWO, "count": 2},
        "read_pautomac_model": {"data": AUTOMATON, "num_symbols": 2},
        "read_prefixes": {"data": b"2 4\n1 2\n2 0 1\n", "format": "auto", "alphabet": None},
        "read_ranking": {"data": b"4 10 1 5 9\n1 -1\n", "alphabet": None},
        "read_solution": {"data": b"1\n0.5\n"},
        "read_labelled": {"data": b"x,a\ny,b\n", "label_column": "1", "reading": None},
        "read_strings": {"data": b"ab\n", "format": "auto", "alphabet": None},
        "read_targets": {"data": b"0\n1\n", "alphabet": None},
        "read_values": {"data": b"a,1\n", "alphabet": None},
        "reference_models": {"data": load_data(RECIPE.data), "ngram_order": 2},
        "run": {"recipe": RECIPE},
        "sample_words": {"wfa": HALVES, "num_strings": 3, "seed": 0, "max_length": 50},
        "sampling_oracle": {
            "weights": HALVES,
            "num_symbols": 2,
            "error": 0.1,
            "failure": 0.1,
            "max_length": 5,
            "tolerance": 0.1,
            "seed": 0,
        },
        "save": {
            "model": LINEAR,
            "path": folder / "n",
            "info": {},
            "alphabet": AB,
            "sync": False,
        },
        "score_ranking": {"ranking": RANKING, "targets": TARGETS},
        "select_basis": {
            "sample": SAMPLE,
            "num_prefixes": 2,
            "num_suffixes": 2,
            "statistic": "string",
        },
        "select_rank": {
            "train": SAMPLE,
            "validation": TEST,
            "ranks": [1],
            "recipe": RECIPE,
            "metric": "wer",
        },
        "string_scores": {"model": LINEAR, "test": TEST, "floor": 0.0},
        "value_scores": {"outputs": np.ones(2), "values": np.ones(2)},
        "write_ranking": {"ranking": RANKING, "alphabet": None},
    }
    fields = {
        Basis,
        HankelMatrix,
        NGram,
        NLWFA,
        Sample,
        Targets,
        TestSet,
        Words,
    }
    networks = {"rank": 2, "hidden": (2, 1, 2), "tolerance": 0.1, "seed": 0, "optimizer": "lm"}
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "options": (lambda name: nlwfa_core.options(name), {"name": "SP"}),
        "options of networks": (partial(nlwfa_core.options, "both.non"), networks),
    }
    for name, arguments in public.items():
        function = getattr(nlwfa_core, name)
        if function in fields:  # the cached properties of a record are in its dictionary too
            arguments = {
                key: value
                for key, value in arguments.items()
                if key in function.__dataclass_fields__
            }
        calls[name] = (function, arguments)
    methods = {
        "Alphabet.of": (Alphabet.of, {"symbols": "ab"}),
        "Alphabet.numbered": (Alphabet.numbered, {"num_symbols": 2}),
        "Alphabet.decode": (AB.decode, {"word": (0, 1)}),
        "Alphabet.encode": (AB.encode, {"text": "ab"}),
        "Alphabet.extended": (AB.extended, {"symbols": ["c"]}),
        "Alphabet.unknown_note": (AB.unknown_note, {"text": "ab"}),
        "Classifier.of": (
            Classifier.of,
            {"models": {"x": LINEAR, "y": NGRAM}, "priors": {"x": 1, "y": 2}, "floor": 0.1},
        ),
        **{
            f"Classifier.{name}": (getattr(CLASSIFIER, name), {"strings": ["ab"]})
            for name in ("log2_joint", "predict", "probabilities")
        },
        "Classifier.score": (CLASSIFIER.score, {"strings": {"x": ["ab"]}}),
        "Basis.up_to": (Basis.up_to, {"alphabet": AB, "prefix_length": 1, "suffix_length": 1}),
        "FileShelf.put": (shelf.put, {"data": b"x", "title": ""}),
        "FileShelf.get": (shelf.get, {"name": key}),
        "FileShelf.head": (shelf.head, {"name": key, "size": 1}),
        "FileShelf.title": (shelf.title, {"name": key}),
        "HankelMatrix.symbol_block": (HANKEL.symbol_block, {"symbol": 1}),
        "NGram.fit": (NGram.fit, {"sample": SAMPLE, "order": 2, "smoothing": "kneser-ney"}),
        "NGram.of_windows": (
            NGram.of_windows,
            {
                "windows": NGRAM.windows[0],
                "totals": NGRAM.windows[1],
                "num_symbols": 2,
                "smoothing": "kneser-ney",
                "alphabet": AB,
            },
        ),
        "Recipe.from_json": (Recipe.from_json, {"text": RECIPE.to_json()}),
        "Recipe.with_learner": (RECIPE.with_learner, {"learner": "SP", "rank": 3}),
        "Sample.of": (Sample.of, {"words": TWO, "alphabet": AB, "counts": np.array([1, 2])}),
        "Sample.in_alphabet": (SAMPLE.in_alphabet, {"alphabet": AB}),
        "Sample.split": (SAMPLE.split, {"sizes": [1, 1], "seed": 0}),
        **{
            f"Scores.{name}": (getattr(nlwfa_core.evaluate(LINEAR, TEST), name), {"name": "SP"})
            for name in ("to_table", "to_latex", "to_markdown")
        },
        "Scores.why_undefined": (nlwfa_core.evaluate(LINEAR, TEST).why_undefined, {"field": "wer"}),
        "Scores.to_frame": (nlwfa_core.evaluate(LINEAR, TEST).to_frame, {"name": "SP"}),
        "WFA.in_symbols_of": (HALVES.in_symbols_of, {"other": HALVES}),
        "WFA.in_alphabet": (HALVES.in_alphabet, {"alphabet": AB}),
        **{
            f"{kind}.next": (model.next, {"prefix": "a"})
            for kind, model in (("WFA", LINEAR), ("NGram", NGRAM))
        },
        **{
            f"{kind}.sample": (model.sample, {"num_strings": 2, "seed": 0})
            for kind, model in (("HALVES", HALVES), ("NGram", NGRAM))
        },
        **{
            f"{kind}()": (model.__call__, {"strings": "ab"})
            for kind, model in (("WFA", LINEAR), ("NGram", NGRAM))
        },
        "Targets.of": (Targets.of, {"symbols": np.array([1, 2])}),
        "Targets.of_symbols": (TARGETS.of_symbols, {"symbols": np.array([1, 2])}),
        "TestSet.of": (
            TestSet.of,
            {"rows": TWO, "alphabet": AB, "counts": None, "solution": None, "true_model": None},
        ),
        "TestSet.as_drawn": (
            TestSet.as_drawn,
            {"words": TWO, "target": np.ones(2) / 2, "sample": SAMPLE},
        ),
        "TestSet.empirical": (TestSet.empirical, {"sample": SAMPLE}),
        "TestSet.known_to": (TEST.known_to, {"alphabet": AB}),
        "TestSet.in_alphabet": (TEST.in_alphabet, {"alphabet": AB}),
        "TestSet.trie": (TEST.trie, {"num_symbols": 2}),
        "TestSet.ends": (TEST.ends, {"num_symbols": 2}),
        "Words.of": (Words.of, {"words": [(0, 1)]}),
        "Words.in_alphabet": (SAMPLE.words.in_alphabet, {"alphabet": AB}),
        "Words.reading_order": (TWO.reading_order, {}),
        "Words.take": (TWO.take, {"indices": [0]}),
        "Words.products": (TWO.products, {"suffixes": TWO}),
        "Spread.of": (seeds.Spread.of, {"values": [1.0, 2.0]}),
        "Spread.interval": (seeds.Spread.of([1.0, 2.0]).interval, {"confidence": 0.9}),
        "paired_t_interval": (
            seeds.paired_t_interval,
            {"first": [1.0, 2.0], "second": [1.0, 3.0], "confidence": 0.9},
        ),
        "signed_rank_interval": (
            seeds.signed_rank_interval,
            {"first": [1.0, 2.0], "second": [1.0, 3.0], "confidence": 0.9},
        ),
        "half_width": (seeds.half_width, {"sd": 1.0, "number": 3, "confidence": 0.9}),
        "badness": (seeds.badness, {"scores": [1.0], "zeros": [0]}),
    }
    models = {
        "WFA": LINEAR,
        "NLWFA": network,
        "NGram": NGRAM,
    }
    models["Mixture"] = nlwfa_core.mixture([LINEAR, NGRAM])
    for kind, model in models.items():
        for name in ("weights", "log2_weights"):
            if hasattr(model, name):
                methods[f"{kind}.{name}"] = (getattr(model, name), {"words": TWO})
    return calls | methods


@pytest.fixture(scope="module")
def calls(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    return _calls(tmp_path_factory.mktemp("misuse"))


def _public_names() -> set[str]:
    """The public functions and classes, and the public methods that these classes define."""
    names = set()
    for name in nlwfa_core.__all__:
        names.add(name)
        value = getattr(nlwfa_core, name)
        if inspect.isclass(value):
            for method, member in vars(value).items():
                function = getattr(member, "__func__", member)
                if not method.startswith("_") and inspect.isfunction(function):
                    names.add(f"{name}.{method}")
    return names


def _is_own(error: Exception) -> bool:
    """Whether the library itself raised the error, by a statement `raise`."""
    if isinstance(error, RecipeError):
        return True
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    assert frame is not None
    path = frame.tb_frame.f_code.co_filename
    return (
        isinstance(error, TypeError)
        and "nlwfa_core" in path
        and "raise" in linecache.getline(path, frame.tb_lineno)
    )


def test_every_public_name_has_a_sound_call(
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]],
) -> None:
    assert _public_names() - set(calls) - STEPS - INSIDE - WITHOUT == set()
    assert _public_names() >= (STEPS | WITHOUT)
    for function, arguments in calls.values():
        function(**arguments)


@pytest.mark.parametrize("model", [LINEAR, NGRAM, Uniform(2)], ids=repr)
def test_a_tree_with_other_symbols_is_refused(model: Any) -> None:
    with pytest.raises(RecipeError, match="symbol 5 is not in the alphabet of 2 symbols"):
        model.next_scores(LARGER_TREE)


@pytest.mark.parametrize("bad", BAD)
def test_a_wrong_value_is_refused_by_name(
    bad: str,
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # where "text" is a folder
    foreign = []
    accepted = []
    for name, (function, arguments) in calls.items():
        for parameter in arguments:
            try:
                function(**arguments | {parameter: BAD[bad]})
            except Exception as error:
                if not _is_own(error):
                    foreign.append(f"{name}({parameter}): {type(error).__name__}: {error}")
            else:
                accepted.append(f"{name}({parameter})")
    assert foreign == []
    if bad == "an object":
        assert accepted == []
