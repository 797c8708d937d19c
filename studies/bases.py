"""Compare a basis by matching with one by frequency, at equal size.

`python -m studies.bases --data DIR` prints a row for each problem, statistic and size: the
structural rank of the block with the most frequent prefixes and suffixes, and SP's word error rate
with each basis. Test strings are not used to choose anything.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from scipy.sparse.csgraph import structural_rank

from nlwfa_core import (
    DataRecipe,
    Sample,
    as_sample,
    estimate_hankel,
    evaluate,
    fit,
    load_data,
    select_basis,
)
from nlwfa_core.sources.string_files import read_strings
from studies.matching import matching_basis

RANK = 20
SIZES = (50, 200, 1000)


def problems(data: Path) -> Iterator[tuple[str, Sample, Sample]]:
    """Yield titles, training strings and test strings of the problems that are available."""
    dyck = load_data(DataRecipe(num_strings=1000, num_test=1000))
    yield "Dyck, 1,000 strings", dyck.train, dyck.test.sample
    for number in (3, 24, 42):
        file = data / "pautomac" / f"{number}.pautomac"
        if Path(f"{file}.train").exists():
            train = as_sample(read_strings(Path(f"{file}.train")))
            yield (
                f"PAutomaC {number}",
                train,
                as_sample(read_strings(Path(f"{file}.test")), train.alphabet),
            )
    file = data / "spice" / "4.spice.dev"
    if Path(f"{file}.train").exists():
        train = as_sample(read_strings(Path(f"{file}.train")))
        yield "SPiCe 4", train, as_sample(read_strings(Path(f"{file}.validation")), train.alphabet)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    print(
        "| strings | statistic | size | structural rank by frequency | WER by frequency | "
        "WER by matching |"
    )
    print("|---|---|---|---|---|---|")
    for title, train, test in problems(parser.parse_args().data):
        for statistic in ("string", "prefix", "factor"):
            for size in SIZES:
                rates = []
                ranks = []
                for select in (select_basis, matching_basis):
                    hankel = estimate_hankel(train, select(train, size, size, statistic), statistic)
                    ranks.append(structural_rank(hankel.block))
                    rates.append(evaluate(fit(hankel, "SP", rank=RANK).model, test).wer)
                print(
                    f"| {title} | {statistic} | {size:,} | {ranks[0]:,} | {rates[0]:.4f} | "
                    f"{rates[1]:.4f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
