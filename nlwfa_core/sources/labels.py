"""Split a table with a column of labels, such as classes of sequences, into one file of strings for
each label.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..errors import FormatError, check_types, listed
from .counting import strings_csv
from .reading import AUTO, Reading
from .recognition import MOST_ROWS, labelled_table_of
from .string_files import (
    CsvCells,
    StringFile,
    bytes_of,
    clean,
    first_rows,
    in_utf8,
    line_blocks,
    read_strings,
)

MOST_LABELS = 100  # a column with more of them hardly has labels
LONGEST_LABEL = 100


@check_types
def read_labelled(
    data: bytes | Path, label_column: str, reading: Reading | None = None
) -> dict[str, StringFile]:
    """Read the strings of each label of a table.

    >>> table = b"class,sequence\\n+,abab\\n-,ba\\n+,ab\\n"
    >>> {label: list(file.sample()) for label, file in read_labelled(table, "class").items()}
    {'+': ['abab', 'ab'], '-': ['ba']}

    Parameters
    ----------
    data : bytes or Path
        A table with a string in each row: a file's bytes, or its path.
    label_column : str
        The column of the labels: its name, or its number from 1.
    reading : Reading, optional
        Encoding, separator and header of the table, and the column of the strings (`text_column`);
        its format is `csv`. The column of the strings need not be given if there are no more than
        two columns, or if one of them is called `string`, `sequence` or similar.

    Returns
    -------
    files : dict of str to StringFile
        Label -> its strings, in the order in which labels first appear. `fit_classifier` takes this
        dict.

    Raises
    ------
    FormatError
        If the file is not such a table, or has fewer than two labels or more than a hundred.
    """
    parts = split_by_label(bytes_of(data), label_column, reading or Reading())
    return {label: read_strings(part, "csv") for label, part in parts.items()}


def split_by_label(data: bytes, label_column: str, reading: Reading) -> dict[str, bytes]:
    """Make a file of strings and counts for each label of a table: see `read_labelled`."""
    reading = (
        Reading.adapted(reading.changes(), format="csv") if reading.format == AUTO else reading
    )
    if reading.format != "csv":
        raise FormatError(f"labels need a table (format csv); got the format {reading.format!r}")
    if reading.count_column or reading.window:
        raise FormatError(
            "each row of a labelled table is one whole string: count_column must be empty and "
            f"window 0; got {reading.count_column!r} and {reading.window}"
        )
    cleaned = clean(in_utf8(data, reading.encoding))
    rows = first_rows(cleaned)
    table = labelled_table_of(rows, len(rows) < MOST_ROWS, reading, label_column)
    counts: dict[str, Counter[str]] = {}

    def check_labels(labels: list[str], lines: list[int]) -> None:
        for label, line in zip(map(str.strip, labels), lines, strict=True):
            if not 1 <= len(label) <= LONGEST_LABEL:
                raise FormatError(
                    f"a label must have from 1 to {LONGEST_LABEL} characters; got one of "
                    f"{len(label):,}",
                    line,
                )
            counts.setdefault(label, Counter())
            if len(counts) > MOST_LABELS:
                raise FormatError(
                    f"there must be at most {MOST_LABELS} labels; {label[:20]!r} is one too many",
                    line,
                )

    reader = CsvCells(lambda: line_blocks(cleaned), "label", table).check(None, [], check_labels)
    if len(counts) < 2:
        raise FormatError(f"there must be at least 2 labels; got {listed(list(counts))}")
    for cells, labels, _ in reader.rows():
        for cell, label in zip(cells, map(str.strip, labels), strict=True):
            counts[label][cell] += 1
    return {
        label: strings_csv(strings.items(), reader.in_tokens).encode()
        for label, strings in counts.items()
    }
