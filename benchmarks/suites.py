"""Define the suites of benchmarks, with their sizes in full and in quick runs; run them, and write
the report.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import torch

from nlwfa_core.learning.recurrent_networks import Training
from nlwfa_core.learning.steps.factorisation import fit_factorisation

from . import (
    against_gru,
    against_hmm,
    against_merging,
    against_plain,
    against_refinement,
    against_splearn,
    against_torch,
    convergence,
    functions,
    lesson,
    machine,
    opponents,
    report,
    scaling,
    work,
)
from .checks import Different
from .report import Table
from .timing import interleave


@dataclass(frozen=True)
class Plan:
    """Sizes of all suites.

    Attributes
    ----------
    set_up : bool
        Whether to make the opponents' environment if it is missing.
    repeats, long_repeats : int
        Turns of each side; turns of trainings that take minutes.
    num_strings : int
        Strings of the Dyck work.
    basis : int
        Number of its prefixes, and of its suffixes.
    steps : tuple of (num_strings, num_prefixes, num_suffixes, rank, target)
        Sizes of factorisation steps.
    epochs : (int, int)
        Epochs of the default lesson.
    growth, alphabets : tuples of int
        Sizes of the growth tables.
    limits : (int, int)
        Size of the matrix product, and length of the triad, that measure the machine.
    """

    set_up: bool
    repeats: int
    long_repeats: int
    num_strings: int
    basis: int
    steps: tuple[tuple[int, int, int, int, float | None], ...]
    epochs: tuple[int, int]
    growth: tuple[int, ...]
    alphabets: tuple[int, ...]
    limits: tuple[int, int]

    @classmethod
    def full(cls, repeats: int, largest: int) -> Plan:
        sizes = ((20_000, 1000, 1000, 6), (100_000, 3000, 3000, 60), (400_000, 10_000, 5000, 200))
        steps = tuple(
            (*size[:3], k, size[3] if k == 5 else None) for size in sizes for k in (5, 20)
        )
        growth = tuple(size for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= largest)
        return cls(
            True,
            repeats,
            min(repeats, 2),
            20_000,
            1000,
            steps,
            (1000, 500),
            growth,
            (2, 10, 100, 1000),
            (2048, 20_000_000),
        )

    @classmethod
    def quick(cls) -> Plan:
        return cls(
            False,
            1,
            1,
            500,
            50,
            ((500, 50, 40, 3, None),),
            (4, 3),
            (200, 400),
            (2, 5),
            (128, 10_000),
        )

    @property
    def is_quick(self) -> bool:
        return not self.set_up

    def dyck(self) -> work.Work:
        return work.dyck(self.num_strings, self.basis, self.basis, 20_000 if self.set_up else 200)


def run_suites(
    plan: Plan, names: Sequence[str], threads: int, directory: Path
) -> tuple[Path, Path]:
    """Run the named suites; return the paths of the report, (JSON, Markdown).

    It is written after each suite, so nothing is lost if one is stopped. Raises Different at the
    end if results were not equal.
    """
    torch.set_num_threads(threads)
    facts = machine.facts(threads)
    if plan.is_quick:
        facts["note"] = (
            "a quick run: it shows that everything runs and that results are equal; its "
            "times say nothing"
        )
    tables: list[Table] = []
    failures: list[str] = []
    with ExitStack() as stack:
        needed = {"splearn", "statistics", "hmm", "merging", "alphabet"} & set(names)
        against = (
            stack.enter_context(opponents.Opponents())
            if needed and opponents.available(plan.set_up)
            else None
        )
        suites: dict[str, Callable[[], list[Table]]] = {
            "splearn": lambda: _splearn(plan, against),
            "statistics": lambda: [_statistics(plan, against)],
            "steps": lambda: [_steps(plan)],
            "training": lambda: [_training(plan)],
            "refinement": lambda: [_refinement(plan)],
            "recurrent": lambda: [_recurrent(plan)],
            "likelihood": lambda: [_likelihood(plan)],
            "lesson": lambda: [lesson.compare(plan.dyck(), plan.epochs, plan.long_repeats, 10)],
            "hmm": lambda: [
                against_hmm.table(
                    against, plan.dyck(), plan.long_repeats, 3 if plan.is_quick else 20
                )
            ],
            "merging": lambda: [_merging(plan, against)],
            "scaling": lambda: _scaling(plan),
            "alphabet": lambda: _alphabet(plan, against),
            "functions": lambda: _functions(plan),
            "convergence": lambda: _convergence(plan),
            "machine": lambda: [_machine(plan)],
        }
        if against:
            facts["opponents"] = ", ".join(
                f"{name} {number}" for name, number in against.ask("versions").items()
            )
        for name in names:
            started = perf_counter()
            print(f"{name} …", end=" ", file=sys.stderr, flush=True)
            try:
                measured = suites[name]()
            except Different as error:  # run the other suites, and end with an error
                failures.append(f"{name}: results are not equal: {error}")
                measured = [Table(f"{name}: stopped", notes=[str(error)])]
            tables += map(_without_targets, measured) if plan.is_quick else measured
            paths = report.write(directory, facts, tables)
            print(f"{perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
    if failures:
        raise Different("; ".join(failures))
    return paths


def _without_targets(table: Table) -> Table:
    return replace(table, comparisons=[replace(row, target=None) for row in table.comparisons])


def _splearn(plan: Plan, against: opponents.Opponents | None) -> list[Table]:
    works = [plan.dyck()]
    skipped = []
    for name, sized in () if plan.is_quick else work.files():
        if sized is None:
            skipped.append(name)
        else:
            works.append(sized)
    tables = against_splearn.tables(against, works, plan.repeats)
    if skipped:
        tables[0].notes.append(f"Skipped, because their files are missing: {', '.join(skipped)}.")
    if against is not None and not plan.is_quick:
        tables.append(Table("Spectral learning by the size of the alphabet"))
        for number in plan.alphabets:
            rows = against_splearn.learning(
                against,
                work.automaton(number, plan.num_strings),
                min(plan.repeats, 3),
                target=None,
                dense=False,
            )
            tables[-1].comparisons.extend(rows[:1])
    return tables


def _statistics(plan: Plan, against: opponents.Opponents | None) -> Table:
    table = Table("Basis selection and Hankel estimation, other statistics")
    works = [plan.dyck(), None if plan.is_quick else work.pautomac(24)]
    for sized in filter(None, works):
        for statistic in ("prefix", "factor"):
            repeats = min(plan.repeats, 3)
            table.comparisons.append(against_plain.counting(sized, statistic, repeats))
            if against is not None:
                table.comparisons.append(
                    against_splearn.counting_anywhere(against, sized, statistic, repeats)
                )
    table.notes.append(
        "Our time starts from the strings as drawn and includes choosing the basis; the others "
        "are given the basis. scikit-splearn counts all prefixes and factors up to the longest "
        "that the matrix needs, because it would leave most cells at 0 if it were given the basis "
        "as sets."
    )
    return table


def _refinement(plan: Plan) -> Table:
    table = Table("Refinement by likelihood")
    if plan.is_quick:
        table.comparisons.append(against_refinement.epochs(plan.dyck(), 4, 1, 100))
        return table
    table.comparisons.append(against_refinement.epochs(plan.dyck(), 5, min(plan.repeats, 3), 2_000))
    spice = work.spice()
    if spice is None:
        table.notes.append("SPiCe 4 is skipped: its file is missing.")
    else:
        table.comparisons.append(against_refinement.epochs(spice, 20, min(plan.repeats, 3), 450))
    table.notes.append(
        "Times are for one pass over the same batches and for scoring the validation strings. "
        "Our program uses float64."
    )
    return table


def _recurrent(plan: Plan) -> Table:
    table = Table("Training of recurrent networks: loss and gradient")
    if plan.is_quick:
        table.comparisons.append(against_torch.gradients(plan.dyck(), "LSTM", 4, 2, 1))
        return table
    for name, sized in (
        ("SPiCe 4", work.spice()),
        ("SPiCe 1", work.long_strings()),
        ("SPiCe 11", work.large_alphabet()),
    ):
        if sized is None:
            table.notes.append(f"{name} is skipped: its file is missing.")
            continue
        table.comparisons.extend(
            against_torch.gradients(sized, kind, 50, 20, min(plan.repeats, 3))
            for kind in ("GRU", "LSTM")
        )
    table.notes.append(
        "Both sides start from the same weights and read the same batches. Timed runs use 32-bit "
        "floats."
    )
    return table


def _likelihood(plan: Plan) -> Table:
    table = Table("Networks by likelihood, processor time of each rank after those below it")
    dyck = work.dyck(60, num_words=200) if plan.is_quick else work.dyck(2_000, num_words=2_000)
    largest, training = (1, Training(updates=4)) if plan.is_quick else (5, Training())
    table.comparisons.extend(against_gru.ranks(dyck, largest, training))
    table.notes.append(
        "Each side trains once, with its default settings. Scores are on strings that were not "
        "used in training."
    )
    return table


def _steps(plan: Plan) -> Table:
    table = Table("One step of the factorisation: loss, gradient, Adamax")
    for num_strings, num_prefixes, num_suffixes, rank, target in plan.steps:
        sized = work.dyck(num_strings, num_prefixes, num_suffixes, num_words=1)
        hankel = sized.counted(sized.sample())
        table.comparisons.extend(
            against_plain.steps(hankel, rank, plan.repeats, target, two_threads=target is not None)
        )
    table.notes.append(
        "Our time is the median per epoch of a short training run in float64 with the public "
        "function, including all of its work."
    )
    return table


def _training(plan: Plan) -> Table:
    table = Table("Whole training of both.non")
    sized = work.spice()
    hidden = (4, 2, 1, 2, 4)
    if plan.is_quick or sized is None:
        table.notes.append(
            "SPiCe 4 is replaced by Dyck: this is a quick run, or its file is missing."
        )
        sized = plan.dyck()
        hidden = (2, 1, 2)
    epochs = 2 if plan.is_quick else 20
    table.comparisons.extend(
        against_plain.training(sized, hidden, plan.long_repeats + 1, epochs, 30)
    )
    table.notes.append(
        "Extrapolated: for each step, the median time per epoch is multiplied by the number of "
        "epochs. Work that is done only once is left out on both sides."
    )
    return table


def _merging(plan: Plan, against: opponents.Opponents | None) -> Table:
    sizes, num_strings = ((3,), 300) if plan.is_quick else ((8, 20, 50), 20_000)
    return against_merging.table(against, sizes, num_strings, plan.long_repeats)


def _scaling(plan: Plan) -> list[Table]:
    bases = [
        (num_prefixes, num_suffixes)
        for _, num_prefixes, num_suffixes, rank, _ in plan.steps
        if rank != 20
    ]
    return [
        scaling.strings(plan.growth, plan.long_repeats + 1),
        scaling.symbols(plan.alphabets, plan.num_strings, plan.long_repeats + 1),
        scaling.bases(bases, plan.steps[-1][0], plan.long_repeats + 1),
    ]


def _alphabet(plan: Plan, against: opponents.Opponents | None) -> list[Table]:
    large, smaller = (
        (work.automaton(20, 300, 50), 5) if plan.is_quick else (work.large_alphabet(), 1000)
    )
    if large is None:
        return [
            Table(
                "A large alphabet, step by step",
                notes=["Skipped: the file of SPiCe 11 is missing."],
            )
        ]
    learning = Table("A large alphabet: spectral learning and weights")
    if against is None:
        learning.notes.append("Skipped: scikit-splearn's environment is not set up.")
    else:
        learning.comparisons.extend(
            against_splearn.learning(against, large, min(plan.repeats, 3), target=None, dense=False)
        )
        learning.notes.append(
            "scikit-splearn uses sparse matrices, its default. Dense ones would have "
            "|P| × |S| × |Σ| numbers."
        )
    both = (large, work.with_fewer_symbols(large, smaller))
    return [
        scaling.step_by_step(both, 20 if plan.is_quick else 250, min(plan.repeats, 3)),
        learning,
    ]


def _functions(plan: Plan) -> list[Table]:
    sized = plan.dyck()
    step = functions.masked_steps(
        sized.counted(sized.sample()), 10, 3 if plan.is_quick else 50, plan.repeats
    )
    if plan.is_quick:
        return [
            *functions.squares((2,), 1, 3),
            functions.refined_squares((2,), 1, 8),
            functions.missing((2,), 1, 3),
            step,
        ]
    refined = functions.refined_squares((3, 4, 5, 6), 10, 640)
    return [
        *functions.squares((3, 4, 5, 6), 10, 5000),
        refined,
        functions.missing((2, 3, 5), 10, 3000),
        step,
    ]


def _convergence(plan: Plan) -> list[Table]:
    sized = plan.dyck()
    epochs = 20 if plan.is_quick else 10_000
    ranks = (3,) if plan.is_quick else (20,)
    table = Table("Seconds to the loss with which the paper's optimiser ends")
    table.comparisons.extend(
        convergence.to_the_same_loss(
            sized, sized.counted(sized.sample()), ranks, epochs, plan.long_repeats
        )
    )
    verbs = None if plan.is_quick else work.spice()
    if verbs is None:
        table.notes.append("SPiCe 4 is left out: this is a quick run, or its file is missing.")
    else:
        hankel = verbs.counted(verbs.sample())
        table.comparisons.extend(
            convergence.to_the_same_loss(verbs, hankel, (10, 50), epochs, plan.long_repeats)
        )
    table.notes.append("Adamax has a rate that falls along a cosine.")
    return [table, convergence.first_steps()]


def _machine(plan: Plan) -> Table:
    limits = machine.Limits(*plan.limits, plan.repeats)
    kernels = []
    for num_strings, num_prefixes, num_suffixes, rank, _ in plan.steps:
        sized = work.dyck(num_strings, num_prefixes, num_suffixes, num_words=1)
        hankel = sized.counted(sized.sample())
        (timing,) = interleave(
            [against_plain.factorisation_side(hankel, rank, (2, 1, 2), 20)], plan.repeats
        )
        name = (
            f"factorisation step, {hankel.num_closure_rows:,} × {hankel.num_suffixes:,}, k = {rank}"
        )
        kernels.append((name, machine.factorisation_work(hankel, rank, (2, 1, 2)), timing.median))
        options = against_plain.factorisation_options(rank, 1)
        latent = fit_factorisation(hankel, options).latent
        (timing,) = interleave([against_plain.transitions_side(latent, hankel, 20)], plan.repeats)
        name = (
            f"transitions step, {hankel.num_prefixes:,} prefixes, |Σ| = {hankel.num_symbols}, k "
            f"= {rank}"
        )
        kernels.append((name, machine.transitions_work(hankel, rank), timing.median))
    return machine.table(limits, kernels)
