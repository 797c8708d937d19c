"""Options: what changes nothing is refused, for every option of every command, and is indeed
without effect on the model.

The options are those of typer's own objects, so that a new one fails here until it is said when it
has an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from nlwfa_core.cli.main import COMMANDS, main, program
from nlwfa_core.cli.recipe_options import LEARNING, typed
from nlwfa_core.cli.value_commands import VALUE_OPTIONS
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import DataRecipe, Recipe, flat, with_fields
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.valued_strings import ValuedStrings
from nlwfa_core.learning.fitting import Fit, fit
from nlwfa_core.learning.functions.fit_values import fit_values
from nlwfa_core.learning.learners import (
    HANKEL_LEARNERS,
    LEARNERS,
    NETWORK_LEARNERS,
    STRING_LEARNERS,
    VALUE_LEARNERS,
)
from nlwfa_core.learning.names import OPTIMIZERS, REFINEMENTS
from nlwfa_core.records import options_of
from nlwfa_core.sources.reading import Reading
from nlwfa_core.strings.words import Alphabet
from tests.references import all_words, ring

SMALL = {"num_prefixes": 6, "num_suffixes": 6, "rank": 2}
SMALL |= {"epochs_factorisation": 3, "epochs_transitions": 3, "epochs_refinement": 3}
# Another value of every field.
OTHER: dict[str, Any] = {
    "num_prefixes": 4,
    "num_suffixes": 5,
    "statistic": "factor",
    "transform": "sqrt",
    "learning_seed": 5,
    "hidden": "1",
    "width_transitions": 1,
    "epochs_factorisation": 5,
    "epochs_transitions": 5,
    "rate_factorisation": 0.5,
    "rate_transitions": 0.5,
    "schedule": "cosine",
    "start": "random",
    "starts": 2,
    "em_start": "split",
    "pseudo_count": 0.5,
    "optimizer": "adamax",
    "tolerance": 0.5,
    "refine": "hankel",
    "optimizer_refinement": "adamax",
    "tolerance_refinement": 0.5,
    "epochs_refinement": 5,
    "rate_refinement": 0.5,
    "batch": 20,
    "weight_decay": 0.5,
    "dropout": 0.5,
    "restarts": 1,
    "refinement_seed": 5,
    "ridge": 0.5,
    "seed": 5,
    "objective": "likelihood",
}
# Their effect does not show in few epochs, or only if the first start is not the best; seeds of
# both parts are one option.
NOT_SEEN = {"basis", "tolerance", "tolerance_refinement", "starts", "restarts", "refinement_seed"}


def same(one: Fit, other: Fit, words: Any) -> bool:
    """Whether two fits have the same losses and, up to rounding, give the same weights."""
    logs = [
        (log.stage, len(log.losses), *log.losses.tolist())
        for fit in (one, other)
        for log in fit.report.logs
    ]
    half = len(logs) // 2
    weights = one.model.weights(words), other.model.weights(words)
    return logs[:half] == logs[half:] and np.allclose(*weights, rtol=1e-9, atol=1e-12)


# Refinement treats networks alike, and its optimisers are those of "hankel" only.
COMBINATIONS = [
    (learner, optimizer, "none") for learner in HANKEL_LEARNERS[1:] for optimizer in OPTIMIZERS
]
COMBINATIONS += [("tran.non", "lm", "none"), ("both.non", "lm", "none")]
COMBINATIONS += [
    ("SP", "lbfgs", "none"),
    ("SP", "lbfgs", "likelihood"),
    ("both.non", "lbfgs", "likelihood"),
]
COMBINATIONS += [
    (learner, optimizer, "hankel") for learner in ("SP", "tran.non") for optimizer in OPTIMIZERS
]


@pytest.mark.parametrize(("learner", "optimizer", "refine"), COMBINATIONS)
def test_every_field_of_a_recipe_changes_the_model(
    learner: str, optimizer: str, refine: str
) -> None:
    """So a field that would change nothing does not exist."""
    data = load_data(DataRecipe(num_strings=60, num_validation=20, num_test=20))
    # of several starts, only the first is the one that `start` names
    both = {**SMALL, "optimizer": optimizer, "starts": 1}
    if optimizer in OPTIMIZERS:
        both["optimizer_refinement"] = optimizer
    base = with_fields(Recipe(), {"learner": learner, "refine": refine}, both)
    assert data.validation is not None
    validation = data.validation.sample

    def learned(recipe: Recipe) -> Fit:
        hankel = build_hankel(data.train, recipe.hankel)
        return fit(hankel, recipe.learning, strings=data.train, validation=validation)

    first = learned(base)
    wrong = []
    fields = {field for fields in LEARNING.values() for field in fields} & set(flat(base))
    if optimizer != "lbfgs" or refine != "none":  # whatever optimises them, the entries are others
        fields -= {"num_prefixes", "num_suffixes", "statistic", "transform"}
    for field in sorted(fields - NOT_SEEN - {"refine"}):
        other = "lbfgs" if field.startswith("optimizer") and optimizer == "adamax" else OTHER[field]
        if same(first, learned(with_fields(base, {}, {field: other})), data.test.words):
            wrong.append(field)
    assert not wrong


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_the_same_holds_for_learning_from_values(learner: str, optimizer: str) -> None:
    words = all_words(2, 4)
    values = ValuedStrings(words, ring(2).weights(words), Alphabet(("a", "b")))
    basis = values.basis(6, 6)
    base = VALUE_LEARNERS[learner].adapted({**SMALL, "optimizer": optimizer})
    first = fit_values(values, base, basis=basis)
    wrong = []
    for field in sorted(set(base.fields()) - {"learner", "rank", "refine"} - NOT_SEEN):
        other = "lbfgs" if field == "optimizer" and optimizer == "adamax" else OTHER[field]
        if same(first, fit_values(values, base.changed(**{field: other}), basis=basis), words):
            wrong.append(field)
    assert not wrong


# The command line


# Options that are not fields of a recipe, and have an effect wherever their command runs.
EFFECTIVE = {
    "fit": "--train --out --learner --rank --preset --force --alphabet --unknown",
    "select-rank": "--train --validation --folds --learner --ranks --criterion --json --alphabet "
    "--unknown",
    "rank": "--model --prefixes --targets --out --json",
    "mix": "models --out --validation --force",
    "classify": "--train --test --learner --rank --against --priors --out --json --alphabet "
    "--unknown --label-column",
    "count": "file --out --max-distinct",
    "compete": "competition --data --minutes --problems --out --max-states --threads --clock "
    "--seed",
    "lab": "--port --address",
    "compare": "first second --test --solution --true-model --floor --resamples --confidence "
    "--unseen --json",
    "classes": "--home --delete --delete-unjoined",
    "history": "--home --search --learner --state --tag --order --limit --json",
    "import": "file --out --from --force",
    "fit-values": "--train --learner --rank --out --transform --force",
    "score": "--model --test --solution --true-model --against --floor --resamples --confidence "
    "--unseen --json",
    "weights": "--model --words",
    "next": "--model --prefix --json",
    "score-values": "--model --test --json",
    "export": "--model --to --out",
    "sample": "--model --num-strings --seed --max-length --out",
    "sweep": "sweep --out --scheduler --intervals --force --train --test --solution --true-model "
    "--prefixes --targets",
    "reproduce": "experiment --out --seeds --quick --jobs --minutes --force",
    "generate dyck": "--out --num-strings --solution --force --seed --split --wrap",
    "generate automaton": "--out --num-strings --solution --force --seed --states --symbols",
    "generate hmm": "--out --num-strings --solution --force --seed --states --symbols",
    "generate pfa": "--out --num-strings --solution --force --seed --states --symbols",
    "generate pdfa": "--out --num-strings --solution --force --seed --states --symbols",
    "generate squared": "--out --num-strings --solution --force --seed --states --symbols",
}
# Command -> option -> a command line in which it would change nothing.
REFUSED = {
    "fit": {
        "--validation": "fit --train none --learner SP --rank 2 --out new --validation none",
        "--max-states": "fit --train none --learner SP --rank 2 --out new --max-states 3",
        "--minutes": "fit --train none --learner SP --rank 2 --out new --minutes 3",
        "--with-ngrams": "fit --train none --learner SP --rank 2 --out new --with-ngrams",
        "--with-lstm": "fit --train none --learner SP --rank 2 --out new --with-lstm",
        "--max-distinct": "fit --train lines --learner SP --rank 2 --out new --max-distinct 10",
        "--min-count": "fit --train lines --learner SP --rank 2 --out new --min-count 2",
    },
    "select-rank": {
        "--max-distinct": "select-rank --train lines --validation lines --learner SP --ranks 1 "
        "--max-distinct "
        "10",
        "--fold-seed": "select-rank --train lines --validation lines --learner SP --ranks 1 "
        "--fold-seed 3",
        "--min-count": "select-rank --train lines --validation lines --learner SP --ranks 1 "
        "--min-count 3",
        "--metric": "select-rank --train lines --criterion aic --learner PFA --ranks 1 "
        "--metric wer",
    },
    "compare": {"--table": "compare none none --test none --json --table csv"},
    "classes": {"--json": "classes --home . --delete-unjoined --json"},
    "history": {
        "--csv": "history --home . --json --csv",
        "--table": "history --home . --csv --table latex",
    },
    "import": {
        "--labels": "import lines --out new --from json --labels names",
        "--semiring": "import lines --out new --from json --semiring real",
        "--symbols": "import lines --out new --from json --symbols lines",
    },
    "score": {"--table": "score --model none --test none --against none --table csv"},
    "count": {"--force": "count none --force"},
    "mix": {"--format": "mix none none --out new --format csv"},
    "classify": {
        "--force": "classify --train a=none --train b=none --test a=none --learner SP --rank 2 "
        "--force",
        "--min-count": "classify --train a=none --train b=none --test a=none --learner SP --rank 2 "
        "--min-count 3",
    },
    "export": {
        "--force": "export --model none --to dot --force",
        "--symbols": "export --model none --to dot --symbols none",
    },
    "rank": {"--force": "rank --model none --prefixes none --force"},
    "sample": {"--force": "sample --model none --force"},
    "sweep": {"--jobs": "sweep none --out new --scheduler tcp://127.0.0.1:9 --jobs 2"},
    "reproduce": {
        "--train": "reproduce dyck-rank --out new --minutes 0 --train none",
        "--validation": "reproduce dyck-rank --out new --minutes 0 --validation none",
        "--prefixes": "reproduce verbs --out new --minutes 0 --prefixes none",
        "--targets": "reproduce verbs --out new --minutes 0 --targets none",
    },
}
# Commands that read a file of strings, and the options that say how.
READERS = "count fit select-rank rank mix classify compare score weights sweep".split()  # noqa: SIM905
READING_OPTIONS = [typed(name) for name in options_of(Reading)]
BY_RECIPE = {
    "fit": LEARNING,
    "select-rank": LEARNING,
    "classify": LEARNING,
    "fit-values": VALUE_OPTIONS,
}


Run = Callable[[str], tuple[int, str]]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Each command's name, and its options and arguments as typed."""

    def below(group: Any, before: str) -> Iterator[tuple[str, list[str]]]:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from below(command, f"{before}{name} ")
            else:
                yield (
                    f"{before}{name}",
                    [option.opts[-1] for option in command.params if option.name != "help"],
                )

    yield from below(typer.main.get_group(program(*COMMANDS)), "")


def test_it_is_said_of_every_option_when_it_has_an_effect() -> None:
    names = {name for name, _ in commands()}
    assert names == set(EFFECTIVE)
    for name, options in commands():
        by_recipe = {typed(option) for option in BY_RECIPE.get(name, {})}
        known = {*EFFECTIVE[name].split(), *REFUSED.get(name, {}), *by_recipe}
        if name in READERS:
            known |= set(READING_OPTIONS)
        assert sorted(options) == sorted(known), name


@pytest.mark.parametrize("name", READING_OPTIONS)
def test_how_a_file_is_read_is_refused_where_it_changes_nothing(run: Run, name: str) -> None:
    field = name.removeprefix("--").replace("-", "_")
    needed = options_of(Reading)[field].when
    if not needed:
        return
    for command in ("fit --train none --learner SP --rank 2 --out new", "count none"):
        value = {"--separator": ";", "--header": "yes"}.get(name, "a")
        message = f"{name} has no effect with --format fasta; it needs --format "
        assert message in run(f"{command} --format fasta {name} {value}")[1]
        for format in needed[0]["format"]:
            said = run(f"{command} --format {format} {name} {value}")[1]
            assert "can't read none" in said


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines").write_text("ab\nb\n" * 5)

    def run_(arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(arguments.split())
        return code, capsys.readouterr().err

    return run_


@pytest.mark.parametrize(
    ("option", "arguments"), [case for cases in REFUSED.values() for case in cases.items()]
)
def test_an_option_without_effect_is_refused(
    run: Run, tmp_path: Path, option: str, arguments: str
) -> None:
    code, said = run(arguments)
    assert code == 2 and said.startswith("error: ") and said.count("\n") == 1
    assert option in said and ("no effect" in said or "only for" in said)
    assert not (tmp_path / "new").exists()
    assert (
        "no effect"
        not in run(
            arguments.replace(f" {option}", "", 1).rsplit(" ", 1)[0]
            if option != "--force"
            else arguments[:-8]
        )[1]
    )


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_field_is_refused_where_it_changes_nothing(run: Run, learner: str) -> None:
    """Before any file is read. A default that nobody typed is never refused."""
    refinements = REFINEMENTS if learner in HANKEL_LEARNERS else ["none"]
    for command in ("fit", "select-rank"):
        ranks = "--rank 2 --out new" if command == "fit" else "--ranks 2 --validation none"
        for refine in refinements:
            base = f"{command} --train none --learner {learner} {ranks}" + (
                f" --refine {refine}" if refine != "none" else ""
            )
            assert "can't read none" in run(base)[1]
            if LEARNERS[learner].networks:
                assert "can't read none" in run(f"{base} --optimizer lm")[1]
            for option, fields in LEARNING.items():
                if option == "refine" and learner in HANKEL_LEARNERS:
                    continue
                if option == "objective" and LEARNERS[learner].networks:
                    continue  # with it, the refinement has no effect: see the next test
                value = "lbfgs" if option == "optimizer" else OTHER[fields[0]]
                chosen = {"learner": learner, "refine": refine}
                if learner in STRING_LEARNERS:
                    del chosen["refine"]
                recipe = with_fields(Recipe(), chosen, dict.fromkeys(fields, value))
                refused = set(fields).isdisjoint(flat(recipe))
                code, said = run(f"{base} --{option.replace('_', '-')} {value}")
                no_effect = f"--{option.replace('_', '-')} has no effect with --learner {learner}"
                assert code == 2 and (no_effect in said) == refused, said
                assert ("; it needs --" if refused else "can't read none") in said
    if learner in STRING_LEARNERS:  # they read the validation strings, and their seed
        seed = "--seed 3" if LEARNERS[learner].is_random else ""
        assert (
            "can't read none"
            in run(
                f"fit --train none --learner {learner} --rank 2 --out new --validation none {seed}"
            )[1]
        )


@pytest.mark.parametrize("learner", NETWORK_LEARNERS)
def test_by_likelihood_only_the_ridge_and_the_seed_have_an_effect(run: Run, learner: str) -> None:
    for command, ranks in (("fit", "--rank 2 --out new"), ("select-rank", "--ranks 2")):
        base = f"{command} --train none --learner {learner} {ranks} --objective likelihood"
        base += " --validation none" if command == "select-rank" else ""
        assert "can't read none" in run(base)[1]
        for option, fields in LEARNING.items():
            if option == "objective":
                continue
            value = "lbfgs" if option == "optimizer" else OTHER[fields[0]]
            code, said = run(f"{base} --{option.replace('_', '-')} {value}")
            refused = option not in ("ridge", "seed")
            no_effect = f"--{option.replace('_', '-')} has no effect with --learner {learner}"
            assert code == 2 and (no_effect in said) == refused, said
            assert ("; it needs --" if refused else "can't read none") in said
    code, said = run(
        f"fit --train none --learner {learner} --rank 2 --out new --objective likelihood "
        "--validation none"
    )
    assert code == 2 and "--validation has no effect with" in said


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_the_same_holds_for_values(run: Run, learner: str) -> None:
    base = f"fit-values --train none --learner {learner} --rank 2 --out new"
    record = VALUE_LEARNERS[learner](rank=2)
    for option, (field,) in VALUE_OPTIONS.items():
        value = {"optimizer": "lbfgs", "refine": "values"}.get(field, OTHER[field])
        code, said = run(f"{base} --{option.replace('_', '-')} {value}")
        refused = not (record.has(field) or field.startswith("num_"))
        no_effect = f"--{option.replace('_', '-')} has no effect with --learner {learner}"
        assert code == 2 and (no_effect in said) == refused, said
        assert ("; it needs --" if refused else "can't read none") in said
