"""Run the problems of two competitions, PAutomaC and SPiCe, and write a page that compares the
results with published figures.

PAutomaC (Verwer, Eyraud, de la Higuera 2014) asks for the probabilities of test strings. Its score
is a perplexity, here divided by the true model's: 1 is best, and 1.001 means a perplexity that is a
thousandth above the smallest possible one. SPiCe (Balle et al. 2016) asks for the five likeliest
next symbols after some prefixes; its score is NDCG5, and 1 is best. Models are learned and chosen
by `search` from training strings alone. Test strings, prefixes and solutions only score the model
that was chosen.

The files have the competitions' names: `N.pautomac.train`, `N.pautomac.test`,
`N.pautomac_solution.txt`; `N.spice.train`, `N.spice.prefix.public`, `N.spice.target.public`. A
table `published.csv` next to them, with a row for each problem, lists the scores of others.
"""

from __future__ import annotations

import csv
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt, TypeAdapter, ValidationError

from nlwfa_core.errors import RecipeError, check_one_of, check_types, plural
from nlwfa_core.experiment.results import first_error
from nlwfa_core.files import (
    MAX_JSON_BYTES,
    __version__,
    from_json,
    make_directory,
    read_capped,
    to_json,
    write_atomically,
)
from nlwfa_core.learning.progress import Report, silent
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.ranking import Prefixes, prefix_score
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.search.budget import DEFAULT_BUDGET, MAX_STATES, Budget
from nlwfa_core.search.loop import OTHER_MODELS, search
from nlwfa_core.sources.pautomac import read_solution
from nlwfa_core.sources.spice import read_prefixes, read_targets, targets_of
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.sample import Sample

PUBLISHED = "published.csv"
UNUSUAL_TARGETS = (
    " The public targets of problem 14 are not the next symbols but those one position later "
    "(best.md). So a better model of the next symbol has a lower score there, and the best n-gram "
    "with hindsight hardly depends on the prefix."
)
FORMAT = 1


@dataclass(frozen=True)
class Competition:
    """The properties of a competition.

    Attributes
    ----------
    title : str
    files : tuple of str
        The names of a problem's files, with {} for its number; the first one has the training
        strings.
    score : str
        What the score is.
    higher_is_better : bool
    kinds : tuple of str
        Columns of `published.csv` that describe a problem.
    figures : dict
        Column of `published.csv` -> its heading on the page. Our place is the place among those
        that are not `apart`.
    apart : tuple of str
        Columns of figures from other test data.
    max_states : int
        How many states a search may use if its budget sets no limit.
    other_models : tuple of str
        Models other than automata that may also be chosen.
    for_ranking : bool
        Whether models are chosen by how they rank the next symbols.
    """

    title: str
    files: tuple[str, ...]
    score: str
    higher_is_better: bool
    kinds: tuple[str, ...]
    figures: dict[str, str]
    apart: tuple[str, ...] = ()
    max_states: int = MAX_STATES
    other_models: tuple[str, ...] = ()
    for_ranking: bool = False


COMPETITIONS = {
    "pautomac": Competition(
        "PAutomaC",
        ("{}.pautomac.train", "{}.pautomac.test", "{}.pautomac_solution.txt"),
        "perplexity divided by the true model's",
        False,
        ("type", "states", "alphabet"),
        {
            "shibata_yoshinaka": "Shibata–Yoshinaka",
            "llorens": "Llorens",
            "hulden": "Hulden (EM)",
            "bailly": "Bailly",
            "kepler": "Kepler",
            "sp2learn_best_hindsight": "Sp2Learn, hindsight",
        },
    ),
    "spice": Competition(
        "SPiCe",
        ("{}.spice.train", "{}.spice.prefix.public", "{}.spice.target.public"),
        "NDCG5 on the public prefixes",
        True,
        ("kind", "alphabet"),
        {
            "pub_3gram": "3-gram",
            "pub_spectral_baseline": "spectral baseline",
            "pub_ushitora_ngrams": "ushitora, n-grams",
            "pub_ushitora_xgboost": "ushitora, XGBoost",
            "pub_ushitora_rnn": "ushitora, RNN",
            "pub_ushitora_hybrid_best": "ushitora, hybrid",
            "pub_shibata_best": "Shibata, best",
            "pub_zhao_best_single": "Zhao, best single",
            "pub_ours_witten_bell_ngram": "our n-gram",
            "priv_ping_dfasat_submitted": "private: ping",
            "priv_zhao_final": "private: Zhao",
            "priv_best_of_all_teams": "private: best team",
            "priv_quattoni2017_spectral_bm": "private: Quattoni 2017",
            "priv_ours_witten_bell_ngram": "private: our n-gram",
        },
        (
            "priv_ping_dfasat_submitted",
            "priv_zhao_final",
            "priv_best_of_all_teams",
            "priv_quattoni2017_spectral_bm",
            "priv_ours_witten_bell_ngram",
        ),
        max_states=2 * MAX_STATES,  # two LSTMs may be in it
        other_models=OTHER_MODELS,
        for_ranking=True,
    ),
}


@dataclass(frozen=True)
class ProblemResult:
    """The result of a search on a problem.

    Attributes
    ----------
    competition : str
        A key of `COMPETITIONS`.
    problem : int
    score : float or None
        The competition's score; None if it is infinite.
    title : str
        The chosen model.
    family : str
        Of the chosen model, or "mixture".
    num_states : int
    minutes : float
        The budget.
    seconds, cpu_seconds : float
        The wall time and the processor time that the search took.
    budget : Budget
        Its `threads` is the number of threads that there were.
    kinds : dict
        The description of the problem in `published.csv`.
    published : dict
        Column of `published.csv` -> the score of others.
    date, version, commit : str
    search : dict
        `SearchResult.record`.
    """

    competition: str
    problem: NonNegativeInt
    score: FiniteFloat | None
    title: str
    family: str
    num_states: NonNegativeInt
    minutes: FiniteFloat
    seconds: FiniteFloat
    cpu_seconds: FiniteFloat
    budget: Budget
    kinds: dict[str, str]
    published: dict[str, FiniteFloat]
    date: str
    version: str
    commit: str
    search: dict[str, Any]

    @property
    def held_out(self) -> float | None:
        """Return our NDCG5 on prefixes of held-out training strings, if that chose the model."""
        number = self.search["ndcg5"]
        return number if isinstance(number, float) else None

    @property
    def place(self) -> str:
        """Return our place among the published figures, such as "2 of 7"; "–" if there are none."""
        competition = COMPETITIONS[self.competition]
        others = [
            value
            for name, value in self.published.items()
            if name in competition.figures and name not in competition.apart
        ]
        if not others:
            return "–"
        own = self.score
        better = [
            value
            for value in others
            if own is None or (value > own if competition.higher_is_better else value < own)
        ]
        return f"{len(better) + 1} of {len(others) + 1}"


RESULT: TypeAdapter[ProblemResult] = TypeAdapter(ProblemResult)


def problem_folder(competition: str, data: Path) -> Path:
    """Find the folder of a competition's files: `data` itself, or the folder in it with the
    competition's name.

    Raises RecipeError if neither has a problem's files.
    """
    check_one_of("competition", competition, COMPETITIONS)
    for folder in (data / competition, data):
        if folder.is_dir() and problems_in(competition, folder):
            return folder
    names = ", ".join(name.format("N") for name in COMPETITIONS[competition].files)
    raise RecipeError(
        f"a problem's files must be named {names}; {data} and {data / competition} have none"
    )


def problems_in(competition: str, folder: Path) -> list[int]:
    """List the numbers of the problems whose files are all in a folder."""
    names = COMPETITIONS[competition].files
    pattern = re.compile(re.escape(names[0]).replace(r"\{\}", "([0-9]{1,6})"))
    numbers = [
        int(match[1]) for path in folder.iterdir() if (match := pattern.fullmatch(path.name))
    ]
    return sorted(
        number
        for number in numbers
        if all((folder / name.format(number)).is_file() for name in names)
    )


def read_published(competition: str, folder: Path) -> dict[int, dict[str, str]]:
    """Read `published.csv`: the number of each problem -> its row. Without the file, it is empty.

    Raises RecipeError if the table has no column "problem", something in it is no number, or a row
    has too many cells.
    """
    path = folder / PUBLISHED
    if not path.is_file():
        return {}
    table = csv.DictReader(
        read_capped(path, MAX_JSON_BYTES).decode("utf-8-sig", "replace").splitlines(), restval=""
    )
    columns = table.fieldnames or []
    rows = dict[int, dict[str, str]]()
    if "problem" not in columns:
        raise RecipeError(f"{path} must have a column 'problem'; it has {', '.join(columns)[:80]}")
    for row in table:
        if None in row:
            raise RecipeError(
                f"{path}, line {table.line_num}: a row must have at most "
                f"{plural(len(columns), 'cell')}; this has more"
            )
        try:
            rows[int(row["problem"])] = row
        except ValueError:
            number = row["problem"][:40]
            raise RecipeError(
                f"{path}, line {table.line_num}: the problem must be a whole number; got {number!r}"
            ) from None
    return rows


def figures_of(competition: str, row: dict[str, str]) -> dict[str, float]:
    """Convert a row's figures to scores. Cells that hold no finite number are left out.

    The perplexities of PAutomaC are divided by the true model's, from the column "solution".
    """

    def number(name: str) -> float:
        try:
            return float(row.get(name, ""))
        except ValueError:
            return np.nan

    unit = number("solution") if competition == "pautomac" else 1.0
    figures = (
        {name: number(name) / unit for name in COMPETITIONS[competition].figures}
        if unit > 0
        else {}
    )
    return {name: figure for name, figure in figures.items() if np.isfinite(figure)}


def read_problem(
    competition: str, folder: Path, problem: int
) -> tuple[Sample, Callable[[Model], float]]:
    """Read a problem: its training strings, and a function that scores a model.

    Test data is read only when that function is called.
    """
    names = [folder / name.format(problem) for name in COMPETITIONS[competition].files]
    train = read_strings(names[0].read_bytes(), "pautomac")

    def ratio(model: Model) -> float:
        tested = read_strings(names[1].read_bytes(), "pautomac", train.alphabet)
        test = TestSet.as_drawn(tested.words, read_solution(names[2].read_bytes()), tested.sample())
        scores = evaluate(model, test)
        return float(
            2
            ** (
                scores.log2_pauto
                - (np.nan if scores.true_log2_pauto is None else scores.true_log2_pauto)
            )
        )

    def ndcg5(model: Model) -> float:
        prefixes = read_prefixes(names[1].read_bytes(), "pautomac", train.alphabet)
        targets, _ = targets_of(
            read_targets(names[2].read_bytes(), prefixes.names), len(prefixes.words)
        )
        return prefix_score(model, Prefixes(prefixes.words, targets)).ndcg5

    return train.sample(), ratio if competition == "pautomac" else ndcg5


@check_types
def compete(
    competition: str,
    data: Path,
    out: Path,
    budget: Budget = DEFAULT_BUDGET,
    *,
    problems: Sequence[int] | None = None,
    stop: threading.Event | None = None,
    report: Report = silent,
    log: Callable[[str], None] = print,
) -> tuple[ProblemResult, ...]:
    """Run a competition's problems one after the other, and write the page after each.

    Each problem's result is a JSON file in a folder next to the page, which has the page's name.
    Problems that have a result are not run again.

    Parameters
    ----------
    competition : str
        "pautomac" or "spice".
    data : Path
        The folder of the problems; see `problem_folder`.
    out : Path
        The page, in Markdown.
    budget : Budget
        Of each problem.
    problems : sequence of int, optional
        Their numbers; by default all that are in the folder.
    stop : threading.Event, optional
        When it is set, the current problem ends without a result, and no other begins.
    report, log : callables
        As in `search.search`.

    Returns
    -------
    tuple of ProblemResult
        All results that are on the page for this competition.

    Raises
    ------
    RecipeError
        If a problem's files are missing or not valid, or a result can't be written.
    """
    folder = problem_folder(competition, data)
    stop = stop or threading.Event()
    available = problems_in(competition, folder)
    published = read_published(competition, folder)
    missing = sorted(set(problems or ()) - set(available))
    if missing:
        raise RecipeError(
            f"{folder} has the problems {', '.join(map(str, available))}; got "
            f"{', '.join(map(str, missing))}"
        )
    results = results_folder(out)
    make_directory(results)
    for number in problems or available:
        path = results / f"{competition}-{number}.json"
        if path.is_file():
            log(f"problem {number}: {path} has its result")
            continue
        if stop.is_set():
            break
        result = _run(
            competition, folder, number, budget, published.get(number, {}), (stop, report, log)
        )
        if result is None:
            break
        write_atomically(path, to_json({"format": FORMAT, **asdict(result)}).encode())
        write_page(out)
        score = "∞" if result.score is None else f"{result.score:.5f}"
        log(
            f"problem {number}: {COMPETITIONS[competition].score} {score}, place "
            f"{result.place}; {result.title}"
        )
    write_page(out)
    return tuple(one for one in read_results(results) if one.competition == competition)


def _run(
    competition: str,
    folder: Path,
    number: int,
    budget: Budget,
    row: dict[str, str],
    callbacks: tuple[threading.Event, Report, Callable[[str], None]],
) -> ProblemResult | None:
    """Run one problem. Returns None if the search was stopped."""
    stop, report, log = callbacks
    log(f"problem {number}: {budget.minutes:g} min")
    train, score_of = read_problem(competition, folder, number)
    started = process_time()
    rules = COMPETITIONS[competition]
    models = rules.other_models
    ranking = rules.for_ranking
    result = search(
        train,
        None,
        budget,
        stop=stop,
        report=report,
        log=log,
        other_models=models,
        for_ranking=ranking,
    )
    cpu_seconds = process_time() - started
    if result.stopped:
        return None
    score = score_of(result.model)
    return ProblemResult(
        competition,
        number,
        score if np.isfinite(score) else None,
        result.title,
        result.components[0].family if len(result.components) == 1 else "mixture",
        result.num_states,
        budget.minutes,
        result.seconds,
        cpu_seconds,
        replace(budget, threads=budget.number_of_threads),
        {name: row[name] for name in COMPETITIONS[competition].kinds if row.get(name)},
        figures_of(competition, row),
        datetime.now(UTC).date().isoformat(),
        __version__,
        _commit(),
        result.record,
    )


def _commit() -> str:
    """Return the short name of the commit that this package was imported from; empty if it is not
    in its own repository.
    """
    root = Path(__file__).parents[1]
    command = ["git", "-C", str(root), "rev-parse", "--show-toplevel", "--short", "HEAD"]
    try:
        folder, commit = subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=True
        ).stdout.splitlines()
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    # it may be installed inside another repository
    return commit if Path(folder).resolve() == root.resolve() else ""


def results_folder(out: Path) -> Path:
    """Return the folder with the results of a page: next to it, with its name and without the
    ending.

    >>> results_folder(Path("docs/records.md")).as_posix()
    'docs/records'
    """
    return out.with_suffix("") if out.suffix else out.with_name(f"{out.name}-results")


def read_results(folder: Path) -> list[ProblemResult]:
    """Read all results in a folder, in the order of competitions and problems.

    Raises RecipeError if one is not valid.
    """
    results = []
    for path in folder.glob("*-*.json"):
        record = from_json(read_capped(path, MAX_JSON_BYTES))
        try:
            if record.pop("format") != FORMAT:
                raise ValueError("another format")
            results.append(RESULT.validate_python(record))
            check_one_of("competition", results[-1].competition, COMPETITIONS)
        except ValidationError as error:
            raise RecipeError(
                f"{path} must be a result that `nlwfa compete` wrote: {first_error(error)}"
            ) from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RecipeError(
                f"{path} must be a result that `nlwfa compete` wrote: {error}"
            ) from None
    return sorted(results, key=lambda one: (one.competition, one.problem))


def write_page(out: Path) -> None:
    """Write the page with all results in its folder. Raises RecipeError if it can't be written."""
    try:
        make_directory(out.parent)
        write_atomically(out, page(read_results(results_folder(out))).encode())
    except OSError as error:
        raise RecipeError(f"can't write {out}: {error.strerror}") from None


def page(results: Sequence[ProblemResult]) -> str:
    """Write results as a page in Markdown: for each competition a table by problem, and a
    summary.
    """
    parts = [
        "# Records",
        "This page compares the scores of `nlwfa compete` on the problems of two competitions "
        "with published figures. Only the training strings of a problem were used to learn and "
        "choose its model. *Minutes* are the wall time and the processor time of the search. "
        "Rows may differ in budget and version. Problems that are not listed have not been run.",
    ]
    for name, competition in COMPETITIONS.items():
        own = [one for one in results if one.competition == name]
        if own:
            parts += [
                f"## {competition.title}",
                f"{_budgets(own)} {_explanation(name, own)}",
                _problem_table(competition, own),
                _summary(competition, own),
            ]
    if len(parts) == 2:
        parts.append("There are no results yet.")
    return "\n\n".join(parts) + "\n"


def _budgets(results: Sequence[ProblemResult]) -> str:
    """State how many problems there are, and what each search could spend."""
    spent = {
        (one.minutes * one.budget.threads if one.budget.clock == "processor" else one.minutes)
        for one in results
    }
    minutes = f"{min(spent):g} to {max(spent):g}" if len(spent) > 1 else f"{min(spent):g}"
    clocks = " or ".join(sorted({f"{one.budget.clock} time" for one in results}))
    return f"{plural(len(results), 'problem')}, each with a budget of {minutes} min of {clocks}."


def _explanation(name: str, results: Sequence[ProblemResult]) -> str:
    if name == "pautomac":
        return (
            "Scores are perplexities on the test strings divided by the true model's; 1 is best. "
            "Participants were also allowed to train on the test strings; no model here does so. "
            "*Sp2Learn, hindsight* is the best of many runs, chosen by the test strings. "
            "Published perplexities have three decimals, so their ratios are exact to about "
            "0.00005 at best. The states of a mixture, which is one automaton, are those of all "
            "its components."
        )
    text = (
        "Scores are NDCG5 on the public prefixes; 1 is best. *Held out* is our NDCG5 on prefixes "
        "of held-out training strings, for models that were chosen by it. *Our n-gram* is a "
        "Witten–Bell n-gram whose order was chosen with hindsight, on the public prefixes. The "
        "columns *private* are scores on other prefixes, and do not count for our place. A mixture "
        "with an n-gram or an LSTM, or a mixture by symbol, is not an automaton. *States* include "
        "an LSTM's units; an n-gram has none."
    )
    return text + UNUSUAL_TARGETS if any(one.problem == 14 for one in results) else text


def summary(competition: str, results: Sequence[ProblemResult]) -> str:
    """Write the median, the worst and the sum of our scores on a line."""
    scores = [np.inf if one.score is None else one.score for one in results]
    if not scores:
        return "no problem has a result"
    worst = min(scores) if COMPETITIONS[competition].higher_is_better else max(scores)
    return (
        f"{COMPETITIONS[competition].score} on {plural(len(scores), 'problem')}: "
        f"median {float(np.median(scores)):.4f}, worst {worst:.4f}, sum {sum(scores):.4f}"
    )


def _problem_table(competition: Competition, results: Sequence[ProblemResult]) -> str:
    figures = [
        name for name in competition.figures if any(name in one.published for one in results)
    ]
    kinds = [name for name in competition.kinds if any(name in one.kinds for one in results)]
    heading = [
        "problem",
        *(
            {"type": "kind", "states": "true states", "alphabet": "symbols"}.get(name, name)
            for name in kinds
        ),
    ]
    held_out = {one.problem: number for one in results if (number := one.held_out) is not None}
    heading += [
        "ours",
        "place",
        *(["held out"] if held_out else []),
        "states",
        "model",
        "minutes: wall, CPU",
        *(competition.figures[name] for name in figures),
        "date",
    ]
    rows = [heading, ["---"] * len(heading)]
    for one in results:
        own = "∞" if one.score is None else f"{one.score:.4f}"
        numbers = (
            f"{one.published[name]:.4f}" if name in one.published else "" for name in figures
        )
        minutes = f"{one.seconds / 60:.1f}, {one.cpu_seconds / 60:.1f}"
        kind_cells = [one.kinds.get(name, "") for name in kinds]
        commit = f"{one.date}, {one.commit or one.version}"
        chosen_by = (
            [f"{held_out[one.problem]:.4f}" if one.problem in held_out else ""] if held_out else []
        )
        model = [str(one.num_states), one.title, minutes]
        rows.append(
            [
                str(one.problem),
                *kind_cells,
                f"**{own}**",
                one.place,
                *chosen_by,
                *model,
                *numbers,
                commit,
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _summary(competition: Competition, results: Sequence[ProblemResult]) -> str:
    """Compare us with each published column over the problems that have both: median, worst, sum,
    and how often we are ahead.
    """
    worst = min if competition.higher_is_better else max
    rows = [
        [
            "",
            "problems",
            "median",
            "worst",
            "sum",
            "our median",
            "our worst",
            "our sum",
            "we are ahead on",
        ]
    ]
    rows.append(["---"] * len(rows[0]))

    def numbers(values: Sequence[float]) -> list[str]:
        return [f"{float(np.median(values)):.4f}", f"{worst(values):.4f}", f"{sum(values):.4f}"]

    def own(one: ProblemResult) -> float:
        return np.inf if one.score is None else one.score

    everyone = [own(one) for one in results]
    rows.append(["**ours**", str(len(results)), *numbers(everyone), *[""] * 4])
    for name, title in competition.figures.items():
        both = [one for one in results if name in one.published]
        if both and name not in competition.apart:
            theirs = [one.published[name] for one in both]
            ours = [own(one) for one in both]
            ahead = sum(
                a > b if competition.higher_is_better else a < b
                for a, b in zip(ours, theirs, strict=True)
            )
            rows.append(
                [title, str(len(both)), *numbers(theirs), *numbers(ours), f"{ahead} of {len(both)}"]
            )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
