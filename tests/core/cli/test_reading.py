"""How files are read is said by options, the same for all commands; `count` reads files of any
size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nlwfa_core import limits
from nlwfa_core.cli.main import main
from nlwfa_core.sources.counting import count_text
from nlwfa_core.sources.reading import Reading
from nlwfa_core.sources.string_files import read_strings

LOG = "who;what;when\n1;b;2\n2;a;1\n1;a;1\n" + "".join(f"{n};a;1\n{n};b;2\n" for n in range(3, 40))
BY_OPTIONS = (
    "--format events --separator ; --case-column who --event-column what --order-column when"
)

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def run_(arguments: str, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        assert main(arguments.split()) == code
        said = capsys.readouterr()
        return said.out, said.err

    return run_


def test_a_log_is_learned_and_scored_by_the_same_options(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "plain").write_text("a b\na\n" + "a b\n" * 37)
    _, said = run(f"fit --train log.csv --learner SP --rank 2 --out m {BY_OPTIONS}")
    assert (
        "log.csv: read as events: 2 symbols: a b; one string for each 'who', symbols in 'what', "
        "sorted by 'when'" in said
    )
    run("fit --train plain --format tokens --learner SP --rank 2 --out n")
    for name in ("model.safetensors",):
        assert (tmp_path / "m" / name).read_bytes() == (tmp_path / "n" / name).read_bytes()
    scores, _ = run(f"score --model m --test log.csv --json {BY_OPTIONS}")
    plain, _ = run("score --model m --test plain --format tokens --json")
    assert json.loads(scores) == json.loads(plain)


def test_errors_name_the_options(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    _, said = run("fit --train log.csv --learner SP --rank 2 --out m --format events", 2)
    assert said.endswith(
        "say which column has the cases (--case-column) and which the events (--event-column); the "
        "columns are 'who', 'what', 'when'\n"
    )
    _, said = run("count log.csv --encoding latin", 2)
    assert "--encoding must be one of utf-8, utf-16, windows-1252" in said


def test_a_sweep_reads_its_files_as_its_options_say(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "s.json").write_text(
        json.dumps({"base": {"data": {"num_test": 5}}, "learners": ["SP"], "ranks": [1]})
    )
    _, said = run(f"sweep s.json --train log.csv --out home {BY_OPTIONS}")
    assert "read as events" in said
    table, _ = run("history --home home --json")
    assert json.loads(table)


FILES = {
    "characters": b"abba\nab\n\nabba\n\n",
    "tokens": b"the cat\na  dog\nthe cat\n",
    "pautomac": b"3 2\n2 0 1\n0\n2 0 1\n",
    "csv": b"string,count\nab,3\nb,1\nab,2\n",
    "json": b'["a", "b"]\n["b"]\n["a", "b"]\n',
    "events": b"case,event\n1,a\n2,a\n1,b c\n3,a\n",
    "xes": b"<log xes.version='1.0'>\n<trace><event><string key='concept:name' value='a'/></event>"
    b"</trace></log>",
    "conll": b"# text = a b\na\tX\nb\tY\n\na\tX\n",
    "fasta": b">s\nAC\nGT\n>t\nA\n>u\nACGT\n",
    "fastq": b"@r\nAC\n+\nII\n@s\nAC\n+\nII\n",
    "spmf": b"1 -1 2 -1 -2\n1 -1 2 -1 -2\n",
    "uniq": b"   3 ab\n  12 b\n",
    "abbadingo": b"3 2\n1 2 0 1\n0 2 0 1\n1 0\n",
}


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_counting_in_pieces_gives_the_strings_that_reading_gives(format: str, size: int) -> None:
    data = FILES[format]
    whole = read_strings(data, format).sample()
    reads = (data[start : start + size] for start in range(0, len(data), size))
    counted = read_strings(count_text(reads, Reading(format)).csv.encode()).sample()
    assert counted.alphabet.symbols == whole.alphabet.symbols
    assert (list(counted.words), counted.counts.tolist()) == (
        list(whole.words),
        whole.counts.tolist(),
    )


@pytest.mark.parametrize("format", FILES)
def test_counting_recognises_the_formats_that_reading_recognises(format: str) -> None:
    assert count_text([FILES[format]]).format == read_strings(FILES[format]).format


def test_count_reads_more_than_the_limit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "file_bytes", 1000)
    (tmp_path / "many").write_text("ab\nba\nb\n" * 500)
    run("fit --train many --learner SP --rank 1 --out m", 2)
    out, said = run("count many --out counts.csv")
    assert (out, said) == (
        "1,500 strings, 3 of them distinct, written to counts.csv\n",
        "many: read as characters\n",
    )
    assert (tmp_path / "counts.csv").read_text() == "characters,count\nab,500\nba,500\nb,500\n"
    run("fit --train counts.csv --learner SP --rank 1 --out m")
    assert "at most" in run("count many --max-distinct 2")[1]


def test_other_encodings_are_decoded_piece_by_piece() -> None:
    text = "\u00e9a\n\u20ac\n" * 3
    for encoding in ("utf-16", "windows-1252"):
        data = text.encode(encoding)
        pieces = [data[start : start + 3] for start in range(0, len(data), 3)]
        counted = count_text(pieces, Reading("characters", encoding=encoding))
        assert counted.csv == "characters,count\n\u00e9a,3\n\u20ac,3\n"
