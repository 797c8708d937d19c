"""The page about English verbs: the paper's Table 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..learning.names import LEARNERS
from ..metrics.seeds import Spread
from .experiments import LINES, REFERENCE, Experiment
from .markdown import Body, table, why
from .reasons import COMMON, VERBS
from .runs import Finished, of
from .settings import SETTINGS
from .statistics import chosen_rank, comparable, ranks_of, values_of

# Learner -> log(Pauto), WER.
PAPER = {"SP": (21.3807, 0.8033), "tran.non": (12.2571, 0.8841), "fac.non": (13.8311, 0.7061), "both.non": (13.6604, 0.8334)}
HEADER = ("model", "k", "log₂ Pauto", "ln Pauto", "paper: log(Pauto)", "WER", "paper: WER", "bits per symbol", "zero outputs")


def table_1_body(experiment: Experiment, done: Sequence[Finished]) -> Body:
    """Of "verbs" and "verbs-shipped"; there are no figures."""
    body = ["## Table 1"]
    lines = [_row(line, "", list(of(done, settings=REFERENCE, learner=line)), ("", "")) for line in LINES[:2]]
    for name, settings in SETTINGS.items():
        own = comparable(experiment.settings[name], list(of(done, settings=name)))
        rows, chosen = [], {}
        for learner in LEARNERS:
            if by_rank := ranks_of(of(own, learner=learner), experiment.ranks):
                rank = chosen_rank(by_rank, "wer")
                chosen[learner] = by_rank[rank]
                printed = (f"{PAPER[learner][0]:.2f}", f"{PAPER[learner][1]:.3f}")
                rows.append(_row(learner, str(rank), by_rank[rank], printed))
        body.append(f"With {settings.title}:\n\n{table(HEADER, [*rows, *lines])}")
        if len(chosen) < len(settings.learners):
            body.append("Learners that were not yet run with every rank have no row.")
        elif len(chosen) == len(PAPER):
            pauto, wer = (
                min(chosen, key=lambda learner: Spread.of(values_of(chosen[learner], metric).values()).order)
                for metric in ("log2_pauto", "wer")
            )
            body.append(_against_the_paper(pauto, wer))
    body.append("A mean over one seed has no ±: it is one split of the training file.")
    return [*body, why((*COMMON, *VERBS))], {}


def _against_the_paper(pauto: str, wer: str) -> str:
    """What Table 1 says in words, with whoever is best here."""

    def answer(agrees: bool) -> str:
        return "**agrees**" if agrees else "**does not agree**"

    lines = [
        f"- “for both metrics, one of the NL-WFA models outperforms linear spectral learning”: {answer('SP' not in (pauto, wer))}",
        f"- “tran.non gives the best performances”, in log(Pauto): {answer(pauto == 'tran.non')}, here {pauto}",
        f"- “for the prediction task fac.non shows a significant advantage”: {answer(wer == 'fac.non')}, here {wer}",
    ]
    return "Against the paper:\n\n" + "\n".join(lines)


def _row(model: str, rank: str, done: Iterable[Finished], printed: tuple[str, str]) -> Sequence[str]:
    runs = list(done)
    log2, wer, bits, zeros = (values_of(runs, metric).values() for metric in ("log2_pauto", "wer", "bits_per_symbol", "num_zero"))
    natural = Spread.of(value * math.log(2) for value in log2).text(".2f")
    ours = Spread.of(log2).text(".2f"), Spread.of(wer).text(), Spread.of(bits).text(".2f"), Spread.of(zeros).text(".0f")
    return (model, rank, ours[0], natural, printed[0], ours[1], printed[1], ours[2], ours[3])
