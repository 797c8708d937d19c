"""Files of other fields are recognised, and read or refused by their names; strings that only
resemble them are read as strings.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import FormatError
from nlwfa_core.sources.exchange import read_openfst
from nlwfa_core.sources.other_files import RULES, other_file
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.sources.value_files import read_values

XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
# The name of a rule -> files that it recognises: at least one a rule.
OTHERS: dict[str, list[str]] = {
    "a table with Excel's own first line, sep=…": [
        "sep=;\nstring;count\na b;3\nb a;2\n",
        "sep=,\nab,1\n",
        '"sep=\t"\nab\t1\n',
    ],
    "a Git LFS pointer, not the file itself": [
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    ],
    "an XES event log": [
        f'{XML}<log xes.version="1.0">\n <trace>\n  <event><string key="concept:name" '
        'value="a"/></event>\n </trace>\n</log>\n',
        '<log xes.version="1.0" xmlns="http://www.xes-standard.org/">\n<trace><event>'
        '<string key="concept:name" value="b"/></event></trace><trace/>\n</log>\n',
    ],
    "a JFLAP file": [
        '<?xml version="1.0"?><structure><type>fa</type><automaton><state '
        'id="0"/></automaton></structure>',
        "<structure>\n<type>fa</type>\n<automaton/>\n</structure>\n",
    ],
    "an HTML page": [
        "<!DOCTYPE html><html><body>404</body></html>",
        '<html lang="en">\n<head><title>Not found</title></head>\n</html>\n',
        "<HTML>\n<BODY>\nx\n",
    ],
    "an XML file": [
        f"{XML}<corpus><s>a b</s></corpus>\n",
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<graph/>\n</graphml>\n',
    ],
    "a HOA file, whose automaton reads infinite words": [
        "HOA: v1\nStates: 1\nStart: 0\n--BODY--\nState: 0\n--END--\n",
        "HOA:v1\nStates: 2\n",
    ],
    "a DOT file": [
        'digraph learned_mdp {\ns0 [label="agree"];\ns0 -> s1 [label="go:0.25"];\n}\n',
        "// drawn by hand\nstrict digraph\n{\na -> b;\n}\n",
        "graph { a -- b }\n",
    ],
    "a PRISM file": [
        "dtmc\nmodule m\ns:[0..1] init 0;\nendmodule\n",
        "// a coin\nmdp\nconst double p = 0.5;\nmodule m\nendmodule\n",
    ],
    "a PRISM file of transitions": ["3 4\n0 1 0.5\n0 2 0.5\n1 1 1\n2 2 1\n"],
    "an Aldebaran file (.aut)": ['des (0, 2, 2)\n(0, "a", 1)\n(1, "b", 0)\n'],
    "a BA file": ["[0]\na,[0]->[1]\nb,[1]->[0]\n[1]\n"],
    "a foma file": ["##foma-net 1.0##\n##props##\n"],
    "an OpenFst symbol table": ["<eps>\t0\na\t1\nb\t2\n"],
    "an ARPA file (n-grams)": [
        "\\data\\\nngram 1=4\n\n\\1-grams:\n-1.2 a -0.3\n\\end\\\n",
        "made by a tool\n\n\\data\\\nngram 1=2\n",
    ],
    "a PGN file (chess)": [
        '[Event "x"]\n[Result "1-0"]\n\n1. e4 e5 2. Nf3 Nc6 1-0\n',
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6\n1. d4 d5 2. c4 e6\n",
    ],
    "a FASTA file": [
        ">seq1 promoter A\nACGTACGTAC\nGGTTAACC\n>seq2\nTTAA\n\n>seq3\nacgt\n",
        ">s1\nACGT\n>s2\nGGTA\n",
        ">sp|P1|X\nMKV*\n",
        ">a\nACGTACGTAC GGTTAACCTT\n",
        "; made by hand\n>a\nAC?T~\n>b\nAC\n",
    ],
    "a FASTQ file": ["@r1\nACGTN\n+\nIIIII\n@r2\nGGTTA\n+\n!!''*\n", "@r1 x/1\nAC\n+r1 x/1\n@@\n"],
    "a Stockholm file": ["# STOCKHOLM 1.0\nseq1 ACGU\n//\n"],
    "a CLUSTAL file": ["CLUSTAL W (1.83)\n\nseq1 ACGT\n"],
    "a GenBank file": ["LOCUS       SCU49845     5028 bp    DNA\nORIGIN\n"],
    "a NEXUS file": ["#NEXUS\nBegin data;\n"],
    "a VCF or GFF file": ["##fileformat=VCFv4.2\n#CHROM\tPOS\n", "##gff-version 3\nctg\t.\n"],
    "a SAM file": ["@HD\tVN:1.6\tSO:coordinate\nr1\t0\n"],
    "a CoNLL file": [
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\n",
        "# sent_id = 1\n# text = The cat\n1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n",
        "1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n",
        "EU B-ORG\nrejects O\nGerman B-MISC\ncall O\n",
        "the\tDT\ncat\tNN\nsat\tVBD\n",
        "1\tThe\tx\ty\n2\tcat\tx\tz\n\n1\tsat\tx\ty\n",
    ],
    "an ARFF file": ["@relation weather\n@attribute a numeric\n@data\n1\n"],
    "a Matrix Market file": ["%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 0.5\n"],
    "a UCI file of sequences": [
        "% Different categories found in input file:\n\nnews tech\n\n% Sequences:\n\n1 1 \n2 \n"
    ],
    "an RTF document": ["{\\rtf1\\ansi ab\\par}\n"],
    "a LaTeX document": [
        "\\documentclass{article}\n\\begin{document}\n",
        "\\begin{tikzpicture}\n\\end{tikzpicture}\n",
        "% needs \\usepackage{tikz} and \\usetikzlibrary{automata}\n\\begin{tikzpicture}\n",
    ],
    "an ABC file (music)": ["X:1\nT:A tune\nK:G\nGABc\n"],
    "a file of subtitles": ["1\n00:00:01,000 --> 00:00:02,000\nHello\n"],
    "a web server's log": [
        '127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326\n'
        '10.0.0.7 - bob [10/Oct/2000:13:56:36 -0700] "POST /b HTTP/1.1" 404 - "-" "curl/7"\n',
        "#Software: Microsoft Internet Information Services\n#Fields: date time\n",
    ],
    "a system's log": ["Oct 10 13:55:36 host sshd[1]: ok\nOct  1 13:55:37 host cron[2]: run\n"],
    "a log with a time on each line": [
        "2024-01-02 10:00:00 login bob\n2024-01-02 10:00:05 logout bob\n",
        "2024-01-02T10:00:00Z INFO x\n2024-01-02T10:00:01Z WARN y\n",
    ],
    "an SPMF file": [
        "1 -1 2 -1 3 -1 -2\n2 -1 3 -1 -2\n",
        "1 2 -1 3 -1 -2\n",
        "@CONVERTED_FROM_TEXT\n@ITEM=1=a\n1 -1 -2\n",
        "<1> 1 -1 <2> 2 -1 -2\n",
    ],
    "an svmlight file": ["+1 1:0.5 3:2\n-1 2:1\n"],
    "a fastText file": ["__label__good a nice film\n__label__bad a poor film\n"],
    "a Markdown table": [
        "| string | count |\n|---|---|\n| ab | 3 |\n",
        "| a b | 3 |\n| b a | 2 |\n",
    ],
    "a file of printed Python lists": ["['a', 'b']\n['b']\n[]\n", "(0, 1, 1)\n(1, 0)\n"],
    "a file of printed numpy arrays": ["[0 1 1]\n[ 1 10]\n"],
    "the output of `uniq -c`": [
        "   12 the cat sat\n    3 a dog ran\n    1 the dog\n",
        "      3 abba\n      2 bab\n",
        "     10 0 1 1\n      2 1 0\n",
        "   2 a,b\n 100 b\n",
        "  12 x\n   3 y z\n",
        "      7 a b\n",
    ],
    "a file of numbered lines": [
        "     1\tthe cat\n     2\ta dog\n     3\tthe dog\n",
        "1. the cat\n2. a dog\n3. run\n",
        "1: ab c\n2: d\n3: e\n",
    ],
    "an Abbadingo or FlexFringe file": [
        "20000 5\n1 7 1 1 2 0 0 2 0\n1 4 1 0 0 4\n1 1 4\n1 2 1 0\n",
        "3 2\n1 3 0/1.5 1/0.2 1/3\n0 2 1/0.5 0/0\n1 0\n",
        "3 3\n1 3 login read logout\n0 2 login logout\n1 0\n",
        "4 2\n1 3 0 1 1\n-1 2 1 0\n1 0\n-1 1 0\n",
        "2 2:1\n3 2 a/0.5 b/1\n0 1 a/2\n",
    ],
    "an Abbadingo or FlexFringe file without its header": ["1 3 0 1 1\n0 2 1 0\n1 0\n0 1 1\n"],
    "a StaMinA file": ["+ 0 1 1\n- 1 0\n+\n- 0\n", "- a\n+ b a\n? a b\n"],
    "a PAutomaC file without its header": [
        "7 1 1 2 0 0 2 0\n4 1 0 0 4\n1 4\n2 1 0\n",
        "3 0 1 1\n0\n2 1 0\n",
        "3 0 1 1\n2 1 0\n5 1 0\n",
    ],
}


def test_every_rule_has_an_example() -> None:
    assert [
        name for name in dict.fromkeys(rule.name for rule in RULES) if not OTHERS.get(name)
    ] == []


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in OTHERS.items() for text in texts]
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file_of_another_trade_is_read_or_refused_by_its_name(
    name: str, text: str, line_end: str
) -> None:
    data = text.replace("\n", line_end).encode("utf-8-sig" if line_end == "\r\n" else "utf-8")
    [format] = {rule.format for rule in RULES if rule.name == name}
    if format:
        assert read_strings(data).format == format
        return
    with pytest.raises(FormatError) as raised:
        read_strings(data)
    assert str(raised.value).startswith(f"this is {name}; ")


@pytest.mark.parametrize(
    "name",
    [
        "a HOA file, whose automaton reads infinite words",
        "a JFLAP file",
        "a DOT file",
        "a PRISM file",
        "an Aldebaran file (.aut)",
        "an XML file",
    ],
)
def test_automata_of_other_programs_are_named_by_import(name: str) -> None:
    for text in OTHERS[name]:
        with pytest.raises(FormatError) as raised:
            read_openfst(text.encode())
        assert (
            str(raised.value) == f"this is {name}; import reads JSON, PAutomaC, OpenFst and JFLAP"
        )


@pytest.mark.parametrize(
    "name",
    [
        "a FASTA file",
        "a StaMinA file",
        "an SPMF file",
        "an HTML page",
        "a table with Excel's own first line, sep=…",
    ],
)
def test_files_of_other_trades_are_named_where_values_are_read(name: str) -> None:
    for text in OTHERS[name]:
        with pytest.raises(
            FormatError, match="fit-values reads a table with the columns string and value"
        ):
            read_values(text.encode())


def test_the_format_overrules_a_name() -> None:
    assert len(read_strings(b">s1\nACGT\n", "characters").words) == 2
    assert list(read_strings(b"+ a\n- b\n", "tokens").words.lengths) == [2, 2]


def test_lines_that_begin_with_many_spaces_are_examined() -> None:
    assert read_strings(b" " * 20_000 + b"ab\n" + b" " * 20_000 + b"b\n").format == "characters"
    assert read_strings(b" " * 20_000 + b">s1\nACGT\n>s2\nGG\n").format == "fasta"


# Strings that only resemble such files
LEGITIMATE = [
    "<a> b </a>\n<a> </a>\n",
    "<html> <body> </body> </html>\n<html> </html>\n",
    "<log> 2\n<exp> 3 4\n",
    "> <\n> > <\n",
    "><><\n>>\n",
    ">a>b\nab\n",
    "@ a +\n+ @ b\n",
    "+ - + -\n- - +\n",
    "2020-01-01 2020-01-02\n2020-01-03\n",
    "2020-01-01T10:00 2020-01-02T10:00\n2020-01-03T10:00 2020-01-04T11:00\n",
    "1 0 1\n1 1\n0\n",
    "0\n1\n0\n",
    "2 0 1\n1 1\n",
    "0 1 1 0\n1 0 1\n",
    "-1 -2\n-2 -1\n",
    "3 blind mice\nsee how they run\n",
    "0.5 1.5\n2.5\n",
    "nan inf\n1e5 nan\n",
    "DET NOUN VERB\nPRON VERB DET NOUN\n",
    "NOUN VERB\nPRON VERB\nDET NOUN\n",
    "O B\nB O\n",
    "# a b\n# # c\n",
    "graph theory is fun\nso is algebra\n",
    "version 1 is out\nversion 2 is not\n",
    "1. well then\nso be it\n",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd\n\u05e9\u05dc\u05d5\u05dd\n",
    "\U0001f600 \U0001f601\n\U0001f600\n",
    "[[]]\n[]\n",
    "[ 0 1 ]\n[ 1 ]\n",
    "( a )\n( b ( a ) )\n",
    "[0]\n[[1]]0\n",
    "| a |\na | b\n",
    "a->b c->d\nb->c\n",
    "I: think so\nS: why not\n",
    "10:00 a b\n11:00 c\n",
]


@pytest.mark.parametrize("text", LEGITIMATE)
def test_strings_that_resemble_another_file_are_read(text: str) -> None:
    read = read_strings(text.encode())
    assert read.format in ("tokens", "characters")
    assert len(read.words) == text.count("\n")


@given(
    st.lists(
        st.lists(
            st.sampled_from(["a", "b", "run", "0", "1", "<x>", "</x>", "é"]), min_size=1, max_size=6
        ),
        min_size=3,
        max_size=9,
    )
)
def test_random_strings_of_words_and_markup_are_no_other_file(rows: list[list[str]]) -> None:
    if any(token in ("a", "run", "é", "<x>") for row in rows for token in row[:1]) and not all(
        row[0] in "01" for row in rows
    ):
        rule = other_file([" ".join(row) for row in rows])
        assert rule is None


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("12 the cat\n3 a dog\n", "Every line begins with a number: it is read as a symbol"),
        ("abba 12\nbab 3\n", "Every line ends with a number: it is read as a symbol"),
        (
            "# made today\na b\nb a\n",
            "The first line looks like a comment: it is read as a string.",
        ),
        ("% made today\na b\nb a\n", "The first line looks like a comment"),
        (
            "name\nAlice\nBob\n",
            "The first line, 'name', may be the name of a column: it is read as a string. If it is "
            "a name, set the format to csv and the header to yes.",
        ),
        (
            "activity\nregister pay\npay\n",
            "The first line, 'activity', may be the name of a column",
        ),
        (
            "visits\nhome item\nhome search\nitem cart\n",
            "The first line, 'visits', may be the name of a column",
        ),
        (
            "a b " * 60 + "\n",
            "The file has one string, of 120 symbols: cut one long sequence into windows",
        ),
        ("a\nb\n" * 20, "Every line is a string of one symbol. If the file is one sequence"),
    ],
)
def test_lines_that_may_be_meant_otherwise_are_read_with_a_sentence(text: str, note: str) -> None:
    assert [sentence for sentence in read_strings(text.encode()).notes if sentence.startswith(note)]


def test_ordinary_strings_are_read_without_a_word() -> None:
    for text in (
        "the cat sat\na dog\n",
        "abba\nab\n",
        "0 1 1\n1 0\n",
        "run 3 times\nstop\n",
        "λ\nab\n",
        "home\nhome item\nhome search\nitem cart\n",
        "visits\nhome item\nstop\nitem cart\n",
    ):
        assert read_strings(text.encode()).notes == ()
