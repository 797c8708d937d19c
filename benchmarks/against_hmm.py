"""Compare EM of an HMM, hmmlearn's and ours, with EM of a PFA and spectral learning: time and
scores, with the same number of states.

Results are not checked for equality: spectral models are different, and the two EMs start from
different points. A test shows that one iteration gives the same result.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nlwfa_core import TestSet, evaluate, fit
from nlwfa_core.learning.em.hmm import EM, fit_hmm
from nlwfa_core.learning.em.pfa import PFATraining, fit_pfa
from nlwfa_core.metrics.pautomac_score import pautomac_score
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.sample import Sample

from .opponents import Opponents
from .report import Table
from .timing import clocked, interleave
from .work import Work


def table(opponents: Opponents | None, work: Work, repeats: int, iterations: int) -> Table:
    """Measure the time from the same strings to a model, and its scores on the same test
    strings.
    """
    title = f"Linear models: EM of an HMM and of a PFA, {work.title}"
    columns = (
        "learner",
        "ms",
        "hmmlearn's faster time / this",
        "log₂ Pauto",
        "mean log₂ P of a test string",
    )
    if opponents is None:
        return Table(title, notes=["Skipped: hmmlearn's environment is not set up."])
    words = Dyck().sample_words(250, 3)
    test = TestSet.as_drawn(words, Dyck().weights(words), Sample.of(words, work.alphabet))
    model = fit(work.counted(work.sample()), learner="SP", rank=work.rank).model
    scores = evaluate(model, test)
    num_symbols = len(work.alphabet)
    with TemporaryDirectory() as folder:
        lists = {"train": work.train, "words": words}
        arrays = {
            f"{name}_{part}": getattr(of, part)
            for name, of in lists.items()
            for part in ("symbols", "offsets")
        }
        np.savez(Path(folder, "work.npz"), **arrays)
        options = {
            "file": str(Path(folder, "work.npz")),
            "num_states": work.rank,
            "num_symbols": num_symbols,
        }
        answers = {
            name: opponents.ask("hmm", num_iterations=iterations, implementation=name, **options)
            for name in ("scaling", "log")
        }
    seconds = answers["scaling"]["seconds"]
    training = PFATraining(iterations=iterations, tolerance=0.0)
    em = fit_hmm(work.sample(), work.rank, EM(iterations))
    pfa = fit_pfa(work.sample(), work.rank, training)
    sides = (
        lambda: fit(work.counted(work.sample()), learner="SP", rank=work.rank),
        lambda: fit_hmm(work.sample(), work.rank, EM(iterations)),
        lambda: fit_pfa(work.sample(), work.rank, training),
    )
    ours, our_em, our_pfa = interleave([clocked(side) for side in sides], repeats)
    outputs = model.weights(words)
    positive = float(np.log2(outputs).mean()) if (outputs > 0).all() else "some outputs ≤ 0"
    truth = float(np.log2(test.target).mean())
    rows = [
        [
            f"SP, {work.rank} states, ours",
            ours.median * 1e3,
            seconds / ours.median,
            scores.log2_pauto,
            positive,
        ],
        [
            f"EM of an HMM, {work.rank} states, {iterations} iterations, ours",
            our_em.median * 1e3,
            seconds / our_em.median,
            evaluate(em, test).log2_pauto,
            float(np.log2(em.weights(words)).mean()),
        ],
        [
            f"EM of a PFA, {work.rank} states, {iterations} iterations, ours",
            our_pfa.median * 1e3,
            seconds / our_pfa.median,
            evaluate(pfa, test).log2_pauto,
            float(np.log2(pfa.weights(words)).mean()),
        ],
        *(
            [
                f"hmmlearn CategoricalHMM, {work.rank} states, {iterations} iterations, {name}",
                answer["seconds"] * 1e3,
                seconds / answer["seconds"],
                pautomac_score(np.exp(answer["logs"]), test.target).log2,
                float(np.mean(answer["logs"]) / np.log(2)),
            ]
            for name, answer in answers.items()
        ),
        ["true model", "", "", scores.true_log2_pauto, truth],
    ]
    notes = [
        "hmmlearn ran once with each setting. *log* is its default; *scaling* is faster, and the "
        "ratios refer to its time. The HMM emits an end symbol after each string. "
        "A PFA has |Σ| times as many transition probabilities as an HMM. "
        f"The scores are on {len(words)} test strings as drawn; Pauto uses their exact "
        "probabilities.",
    ]
    return Table(title, columns=columns, rows=rows, notes=notes)
