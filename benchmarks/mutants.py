"""Measure by mutation testing what the tests guard: `python -m benchmarks.mutants COMMAND`.

A mutant is the library with one small change, such as `<` in place of `<=`. A test that fails
because of the change *kills* the mutant; a mutant that survives shows code whose result no test
checks. Four commands work on one folder (`--folder`):

- `draw` draws mutants at random and writes `sample.json`. It describes a mutant by its function
  and by the changed statement, not by its line, so the same mutants can be made again after code
  was reformatted or moved.
- `cover PATH ...` runs tests and writes into `coverage.json.gz` which of them execute which
  lines, and how long each test takes. Each call adds to the file, or updates it.
- `run` makes each mutant in a copy of the working tree and runs tests, until one fails. First it
  runs for each mutant at most 150 of the tests that cover its statement, the nearest and quickest
  first. Then it puts all survivors into one copy and runs all tests that cover any of them; those
  that fail are run again with each survivor alone. `results.json` has the results; an interrupted
  run continues where it stopped.
- `report` writes `report.md`: the share of killed mutants with its 95 % interval (Wilson), and the
  survivors. `verdicts.json`, which a reader of the survivors may write, states why each survives:
  `{"12": ["performance only", "the cache is only smaller"]}`.

The operators are those of Cosmic Ray (https://cosmic-ray.readthedocs.io) that take no arguments;
its `VariableReplacer` and `VariableInserter` need names, and make random changes. All other mutants
have the same chance. Not counted as mutants are: changes of annotations, type aliases and
`TYPE_CHECKING` blocks; code that does not compile, or not without a warning, or compiles to the
same syntax tree; and the removal of the decorators in `WITHOUT_EFFECT`, which change nothing or
only speed.

Coverage does not see processes that tests start. Tests of `jobs` and `history` start many, so all
tests in the folders of these packages count as covering them. A line that is executed when its
module is imported is covered by all tests that execute any function of the module, or import it. A
test that takes longer than 60 s and ten times the time it took in `cover` has failed.

The project does not depend on the tools. Install them into a folder of their own, and start with
that folder on the path:

    pip install --no-deps --target /tmp/mutation cosmic-ray==8.7.0 coverage pytest-cov
    export PYTHONPATH=$PWD:/tmp/mutation
    python -m benchmarks.mutants draw --number 300
    python -m benchmarks.mutants cover tests/core tests/app nlwfa_core
    python -m benchmarks.mutants run
    python -m benchmarks.mutants report

`run` needs a system that can fork.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import importlib
import json
import os
import random
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from . import ROOT
from .__main__ import THREAD_VARIABLES

LIBRARY = "nlwfa_core"
PACKAGES = ("learning", "metrics", "models", "hankel", "strings", "history", "jobs")
SEED = 20261125
WITHOUT_ARGUMENTS_ONLY = ("VariableReplacer", "VariableInserter")
WITHOUT_EFFECT = ("abstractmethod", "final", "lru_cache", "overload")
# Packages whose tests start processes, which coverage does not see.
IN_PROCESSES = ("history", "jobs")

FIRST_TESTS = 150
FIRST_SECONDS = 8.0  # for all tests of a mutant in the first pass, as timed by `cover`
GRACE = 60.0
TIMES_EXPECTED = 10
FIRST = "survived the first pass"
QUICK = 2.0  # seconds: tests that the second pass runs first
MEMORY = 8 * 2**30  # address space: a mutant may ask for any amount
WORKERS = 2
# Loaded before forking, to save each test the imports. None of them may import the library.
PRELOADED = (
    "alembic.command",
    "joblib",
    "numpy",
    "pydantic",
    "pytest",
    "safetensors.torch",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.stats",
    "sqlalchemy.orm",
    "torch._dynamo",
    "typer.main",
)
# In the output of pytest -v: with and without pytest-xdist.
RESULT = re.compile(
    r"^(?:\[gw\d+\] \[ *\d+%\] (?P<word>[A-Z]+) (?P<id>.+?)"
    r"|(?P<id_alone>\S.*?::.+?) (?P<word_alone>PASSED|FAILED|ERROR|SKIPPED|XFAIL)\b.*) *$"
)
DURATION = re.compile(r"^(?P<seconds>\d+\.\d+)s (?:setup|call|teardown) +(?P<id>.+?) *$")
COVERAGE_SETTINGS = """\
[run]
relative_files = true
disable_warnings = no-data-collected, module-not-imported, module-not-measured, couldnt-parse
include =
"""

Position = tuple[int, int]  # line from 1, column from 0


@dataclass(frozen=True)
class Mutant:
    """A mutant, described by what stays the same when code is reformatted or moved.

    Attributes
    ----------
    module, function : str
        The module, and in it the qualified name of the innermost function or class; "" for the
        module itself.
    operator : str
        The name of Cosmic Ray's operator.
    ordinal, count : int
        Which of the operator's occurrences in the function (classes and functions inside it
        excluded) is changed, and how many there are.
    statement : str
        The changed statement, without the statements inside it, as `ast.unparse` writes it.
    before, after : str
        The smallest expression or statement that contains the change, and what it becomes.
    repeat : int
        Which of the operator's occurrences in the function with equal `statement`, `before` and
        `after` is changed.
    """

    module: str
    function: str
    operator: str
    ordinal: int
    count: int
    statement: str
    before: str
    after: str
    repeat: int = 0

    @property
    def package(self) -> str:
        return self.module.split(".")[1]

    @property
    def change(self) -> tuple[str, str, str]:
        return self.statement, self.before, self.after

    @property
    def title(self) -> str:
        return f"{self.module.removeprefix(LIBRARY + '.')}:{self.function or '(module)'}"


@dataclass(frozen=True)
class Change:
    """A change of a source text: what it is, where it is, and the changed text."""

    statement: str
    before: str
    after: str
    lines: range
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.statement, self.before, self.after


@dataclass(frozen=True)
class Scope:
    """A function, a class or the module, with its first and last line, decorators included."""

    name: str
    first: int
    last: int
    is_function: bool = False


class Source:
    """The text of a module, and the places in it that operators can change."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)

    @cached_property
    def nodes(self) -> list[Any]:
        """All nodes of parso's tree, each before its children, as `Application` visits them."""
        import parso

        return list(_parts(parso.parse(self.text)))

    @cached_property
    def scopes(self) -> list[Scope]:
        """The module, its classes and functions; what is inside another stands after it."""
        return [Scope("", 1, len(self.text.splitlines()) + 1), *_scopes(self.tree, "")]

    @cached_property
    def _excluded(self) -> list[tuple[Position, Position]]:
        lines = self.text.splitlines()

        def position(line: int, byte: int) -> Position:
            return line, len(lines[line - 1].encode()[:byte].decode())

        return [
            (
                position(node.lineno, node.col_offset),
                position(node.end_lineno or 0, node.end_col_offset or 0),
            )
            for node in _without_behaviour(self.tree)
        ]

    def scope(self, line: int) -> Scope:
        return next(scope for scope in reversed(self.scopes) if scope.first <= line <= scope.last)

    def occurrences(self, operator: str) -> list[tuple[int, Scope]]:
        """Return the occurrences outside of annotations: index among all, and innermost scope."""
        action = operators()[operator]()
        positions = [
            position for node in self.nodes for position in action.mutation_positions(node)
        ]
        return [
            (index, self.scope(start[0]))
            for index, (start, _) in enumerate(positions)
            if not any(first <= start < last for first, last in self._excluded)
        ]

    def change(self, operator: str, index: int) -> Change | None:
        """Make a change; None if the result does not compile, or means the same."""
        try:
            # the replacer of exceptions fails at dotted names in a tuple
            text = _changed(self.text, operator, index)
        except AttributeError:
            return None
        try:
            after = ast.parse(text)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # `is` with a literal
                compile(text, "mutant", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None
        pair = _difference(self.tree, after)
        if pair is None:
            return None
        removed = _removed_decorators(*pair)
        if removed and set(removed) & set(WITHOUT_EFFECT):
            return None
        statement = _statement(self.tree, pair[0])
        first = min(
            [statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))]
        )
        body = getattr(statement, "body", None)
        last = max(first, body[0].lineno - 1) if body else statement.end_lineno or first
        return Change(
            _header(statement), _header(pair[0]), _header(pair[1]), range(first, last + 1), text
        )


@cache
def operators() -> dict[str, Callable[[], Any]]:
    """Return Cosmic Ray's operators that take no arguments, by name."""
    from cosmic_ray.operators.provider import OperatorProvider

    provider = OperatorProvider()
    return {name: provider[name] for name in provider if name not in WITHOUT_ARGUMENTS_ONLY}


class Application:
    """Applies an operator to one of its occurrences in a tree of parso."""

    def __init__(self, operator: str, index: int) -> None:
        self.action = operators()[operator]()
        self.remaining = index

    def walk(self, node: Any) -> Any:
        """Return what becomes of a node; None if it is removed."""
        for number, _ in enumerate(self.action.mutation_positions(node)):
            if self.remaining == 0:
                node = self.action.mutate(node, number)
            self.remaining -= 1
        if hasattr(node, "children"):
            walked = [self.walk(child) for child in node.children]
            node.children = [child for child in walked if child is not None]
        return node


def _changed(text: str, operator: str, index: int) -> str:
    import parso

    return str(Application(operator, index).walk(parso.parse(text)).get_code())


def _parts(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _parts(child)


def _scopes(node: ast.AST, prefix: str) -> Iterator[Scope]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}" if prefix else child.name
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            yield Scope(name, first, child.end_lineno or first, not isinstance(child, ast.ClassDef))
        yield from _scopes(child, name)


def _without_behaviour(tree: ast.Module) -> Iterator[Any]:
    """Yield annotations, type aliases and the statements under `if TYPE_CHECKING`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            yield node.returns
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from (node.test, *node.body)
    yield from (
        node.value for node in tree.body if isinstance(node, ast.Assign) and _is_alias(node)
    )


def _is_alias(node: ast.Assign) -> bool:
    """Return whether `Name = A | B[...]` names a type."""
    name = ast.unparse(node.targets[0])
    parts = ast.walk(node.value)
    kinds = (
        ast.BinOp,
        ast.BitOr,
        ast.Name,
        ast.Attribute,
        ast.Subscript,
        ast.Tuple,
        ast.List,
        ast.Constant,
        ast.Load,
    )
    return (
        name[0].isupper() and not name.isupper() and all(isinstance(part, kinds) for part in parts)
    )


def _difference(before: ast.AST, after: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """Return the smallest parts that contain all differences of two trees, annotations apart."""
    if type(before) is not type(after):
        return before, after
    pairs: list[tuple[ast.AST, ast.AST]] = []
    for name in before._fields:
        if name in ("annotation", "returns", "type_comment", "ctx"):
            continue
        old = getattr(before, name, None)
        new = getattr(after, name, None)
        olds = old if isinstance(old, list) else [old]
        news = new if isinstance(new, list) else [new]
        if len(olds) != len(news):
            return before, after
        for one, other in zip(olds, news, strict=True):
            if isinstance(one, ast.AST) and isinstance(other, ast.AST):
                pair = _difference(one, other)
                pairs += [pair] if pair else []
            elif type(one) is not type(other) or one != other:
                return before, after
    if not pairs:
        return None
    units = (ast.expr, ast.stmt, ast.ExceptHandler)
    if len(pairs) > 1 or not all(isinstance(node, units) for node in pairs[0]):
        return before, after
    return pairs[0]


def _removed_decorators(before: ast.AST, after: ast.AST) -> list[str]:
    names = [
        [
            ast.unparse(getattr(decorator, "func", decorator)).split(".")[-1]
            for decorator in getattr(node, "decorator_list", [])
        ]
        for node in (before, after)
    ]
    return [name for name in names[0] if name not in names[1]]


def _statement(tree: ast.Module, part: ast.AST) -> Any:
    """Return the innermost statement or `except` clause that contains a node."""
    innermost: ast.AST = tree
    for node in ast.walk(tree):  # the outer ones first
        if isinstance(node, ast.stmt | ast.ExceptHandler) and any(
            inner is part for inner in ast.walk(node)
        ):
            innermost = node
    return innermost


def _header(node: ast.AST) -> str:
    """Write a node, without the statements inside it and without annotations of a function."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        decorators = " ".join(f"@{ast.unparse(decorator)}" for decorator in node.decorator_list)
        word = "class" if isinstance(node, ast.ClassDef) else "def"
        defaults = "" if isinstance(node, ast.ClassDef) else _defaults(node.args)
        return f"{decorators} {word} {node.name}{defaults}".strip()
    if isinstance(node, ast.ExceptHandler):
        return f"except {ast.unparse(node.type) if node.type else ''}".strip()
    if not isinstance(getattr(node, "body", None), list):
        return ast.unparse(node)
    fields = {name: getattr(node, name) for name in node._fields}
    empty = {name: [] for name in ("orelse", "finalbody", "handlers") if name in fields}
    short: Any = type(node)(**fields | empty | {"body": [ast.Pass()]})
    if isinstance(node, ast.Try):
        return "try:"
    return ast.unparse(ast.fix_missing_locations(ast.copy_location(short, node))).splitlines()[0]


def _defaults(arguments: ast.arguments) -> str:
    values = [value for value in (*arguments.defaults, *arguments.kw_defaults) if value]
    return f"({', '.join(ast.unparse(value) for value in values)})"


# Draw, and find again ----------------------------------------------------------------------------


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(root: Path, packages: Iterable[str]) -> dict[str, Path]:
    """Return the files of packages by module, migrations of the database excluded."""
    paths = [path for package in packages for path in (root / LIBRARY / package).glob("**/*.py")]
    return {
        module_name(path, root): path for path in sorted(paths) if "migrations" not in path.parts
    }


def draw(
    root: Path, packages: Sequence[str], number: int, seed: int
) -> tuple[list[Mutant], dict[str, int]]:
    """Draw mutants, all with the same chance; return them by module, and counts of places."""
    sources = {
        module: Source(path.read_text(encoding="utf-8"))
        for module, path in modules(root, packages).items()
    }
    places = [
        (module, operator, index)
        for module, source in sources.items()
        for operator in operators()
        for index, _ in source.occurrences(operator)
    ]
    random.Random(seed).shuffle(places)
    mutants: list[Mutant] = []
    tried = 0
    for module, operator, index in places:
        tried += 1
        mutant = describe(sources[module], module, operator, index)
        if mutant:
            mutants.append(mutant)
        if len(mutants) == number:
            break
    mutants.sort(
        key=lambda mutant: (mutant.module, mutant.function, mutant.operator, mutant.ordinal)
    )
    return mutants, {"places": len(places), "tried": tried, "mutants": len(mutants)}


def describe(source: Source, module: str, operator: str, index: int) -> Mutant | None:
    """Describe the mutant that an operator makes at an occurrence; None if it makes none."""
    change = source.change(operator, index)
    if change is None:
        return None
    occurrences = source.occurrences(operator)
    function = dict(occurrences)[index].name
    here = [number for number, scope in occurrences if scope.name == function]
    ordinal = here.index(index)
    earlier = [source.change(operator, number) for number in here[:ordinal]]
    repeat = sum(1 for other in earlier if other and other.key == change.key)
    return Mutant(module, function, operator, ordinal, len(here), *change.key, repeat)


@dataclass(frozen=True)
class Finding:
    """Where a mutant is now, and how it was found."""

    module: str
    function: str
    change: Change
    how: str


class Finder:
    """Finds mutants again, in a library that was reformatted, or whose code has moved."""

    def __init__(self, root: Path, moved: Mapping[str, str]) -> None:
        self.moved = moved
        packages = sorted(
            path.name for path in (root / LIBRARY).iterdir() if (path / "__init__.py").is_file()
        )
        self.paths = modules(root, packages) | {
            module_name(path, root): path for path in (root / LIBRARY).glob("*.py")
        }

    @cache  # noqa: B019
    def source(self, module: str) -> Source:
        return Source(self.paths[module].read_text(encoding="utf-8"))

    def find(self, mutant: Mutant) -> Finding | None:
        """Find a mutant in its function (see `find_in`), else its statement elsewhere."""
        module, function = self.new_name(mutant)
        if module in self.paths and (found := find_in(self.source(module), mutant, function)):
            return Finding(module, function, *found)
        name = function.split(".")[-1]
        if not name:
            return None
        elsewhere: list[Finding] = []
        for other, path in self.paths.items():
            if re.search(rf"\b(def|class) {name}\b", path.read_text(encoding="utf-8")):
                names = {scope.name for scope in self.source(other).scopes}
                for scope in sorted(names - ({function} if other == module else set())):
                    if scope.split(".")[-1] != name:
                        continue
                    found = find_in(self.source(other), mutant, scope)
                    if found and found[1] == "statement":
                        elsewhere += [Finding(other, scope, found[0], "elsewhere")]
        return elsewhere[0] if len(elsewhere) == 1 else None

    def new_name(self, mutant: Mutant) -> tuple[str, str]:
        whole = f"{mutant.module}:{mutant.function}"
        module, _, function = self.moved.get(whole, "").partition(":")
        if module:
            return module, function
        return self.moved.get(mutant.module, mutant.module), mutant.function


def find_in(source: Source, mutant: Mutant, function: str) -> tuple[Change, str] | None:
    """Find a mutant in a function: by its statement, else its expression, else its ordinal."""
    here = [index for index, scope in source.occurrences(mutant.operator) if scope.name == function]
    changes = [source.change(mutant.operator, index) for index in here]
    equal = [change for change in changes if change and change.key == mutant.change]
    if len(equal) > mutant.repeat:
        return equal[mutant.repeat], "statement"
    alike = [change for change in changes if change and change.key[1:] == mutant.change[1:]]
    if len(alike) == 1:
        return alike[0], "expression"
    if len(changes) == mutant.count and (change := changes[mutant.ordinal]):
        return change, "ordinal"
    return None


# Cover -------------------------------------------------------------------------------------------


@dataclass
class Coverage:
    """Tests with their times, and for each line of a module the tests that execute it.

    Attributes
    ----------
    seconds : dict of float
        The time that each test that passed took, by its pytest id.
    failed : list of str
        Tests that failed without any mutant: they can kill none.
    lines : dict of dict of list of str
        For each path, for each line the tests.
    """

    seconds: dict[str, float]
    failed: list[str]
    lines: dict[str, dict[int, list[str]]]

    @classmethod
    def load(cls, path: Path) -> Coverage:
        if not path.exists():
            return cls({}, [], {})
        record = json.loads(gzip.decompress(path.read_bytes()))
        tests = record["tests"]
        lines = {
            file: {
                int(line): [tests[number] for number in numbers]
                for line, numbers in of_lines.items()
            }
            for file, of_lines in record["lines"].items()
        }
        return cls(record["seconds"], record["failed"], lines)

    def save(self, path: Path) -> None:
        tests = sorted(
            {
                test
                for of_lines in self.lines.values()
                for tests in of_lines.values()
                for test in tests
            }
        )
        numbers = {test: number for number, test in enumerate(tests)}
        lines = {
            file: {line: [numbers[test] for test in tests] for line, tests in of_lines.items()}
            for file, of_lines in self.lines.items()
        }
        record = {"seconds": self.seconds, "failed": self.failed, "tests": tests, "lines": lines}
        path.write_bytes(gzip.compress(json.dumps(record).encode()))

    def add(self, log: str, data: Path) -> None:
        """Add what a run of pytest printed and what coverage measured."""
        from coverage import CoverageData

        words = results(log)
        self.failed = sorted(
            {*self.failed, *(test for test in words if words[test] in ("FAILED", "ERROR"))}
        )
        times = [found for line in log.splitlines() if (found := DURATION.match(line))]
        for test, word in words.items():
            if word == "PASSED":
                self.seconds[test] = 0.0
        for found in times:
            if found["id"] in self.seconds:
                self.seconds[found["id"]] += float(found["seconds"])
        measured = CoverageData(basename=str(data))
        measured.read()
        for file in measured.measured_files():
            lines = self.lines.setdefault(Path(file).as_posix(), {})
            for line, contexts in measured.contexts_by_lineno(file).items():
                tests = {context.rpartition("|")[0] for context in contexts} & self.seconds.keys()
                lines[line] = sorted({*lines.get(line, ()), *tests})


def results(log: str) -> dict[str, str]:
    """Return the word that pytest printed for each test; a failure outweighs other words."""
    words: dict[str, str] = {}
    for line in log.splitlines():
        found = RESULT.match(line)
        if found:
            test = found["id"] or found["id_alone"]
            if words.get(test) not in ("FAILED", "ERROR"):
                words[test] = found["word"] or found["word_alone"]
    return words


def cover(folder: Path, paths: Sequence[str]) -> None:
    """Run tests with coverage, with one coverage context per test."""
    settings = folder / "coveragerc"
    files = [f"{LIBRARY}/*.py", *(f"{LIBRARY}/{package}/*" for package in PACKAGES)]
    settings.write_text(COVERAGE_SETTINGS + "".join(f"    {file}\n" for file in files))
    data = folder / "coverage.data"
    command = [sys.executable, "-m", "pytest", "-q", "-vv", "-n", str(WORKERS)]
    command += ["-p", "no:randomly", "-p", "no:cacheprovider"]
    command += ["--dist", "worksteal", "--durations=0", "--durations-min=0"]
    command += ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report=", *paths]
    environment = os.environ | {"COVERAGE_FILE": str(data)}
    log = folder / "coverage.log"
    with log.open("w", encoding="utf-8") as output:
        subprocess.run(command, cwd=ROOT, env=environment, stdout=output, check=False)
    coverage = Coverage.load(folder / "coverage.json.gz")
    coverage.add(log.read_text(encoding="utf-8"), data)
    coverage.save(folder / "coverage.json.gz")
    print(f"{len(coverage.seconds):,} tests; failed without mutants: {coverage.failed or 'none'}")


class Covering:
    """States which tests cover a change."""

    def __init__(self, coverage: Coverage, root: Path) -> None:
        self.coverage = coverage
        self.root = root
        self.tests = coverage.seconds.keys() - set(coverage.failed)

    def __call__(self, finding: Finding, path: Path) -> list[str]:
        """Return the tests that cover a change, the nearest and quickest first."""
        file = path.relative_to(self.root).as_posix()
        lines = self.coverage.lines.get(file, {})
        tests = {test for line in finding.change.lines for test in lines.get(line, ())}
        package = finding.module.split(".")[1]
        first = finding.change.lines[0]
        in_function = any(
            scope.is_function and scope.first < first <= scope.last
            for scope in Source(path.read_text(encoding="utf-8")).scopes
        )
        if not in_function or finding.change.statement.startswith(("@", "def ", "class ")):
            tests |= self._of_module(finding.module, file)
        if package in IN_PROCESSES:
            tests |= {test for test in self.tests if test.startswith(f"tests/core/{package}/")}
        return sorted(
            tests & self.tests,
            key=lambda test: (self._distance(test, finding.module), self.coverage.seconds[test]),
        )

    @cache  # noqa: B019
    def _of_module(self, module: str, file: str) -> set[str]:
        """Return the tests that execute any line of a module, or of a module that imports it."""
        files = {file, *self._importers(module)}
        return {
            test
            for name in files
            for tests in self.coverage.lines.get(name, {}).values()
            for test in tests
        }

    def _importers(self, module: str) -> Iterator[str]:
        name = module.split(".")[-1]
        pattern = re.compile(
            rf"^\s*(from [\w.]*\b{name} import|from [\w.]+ import .*\b{name}\b)", re.MULTILINE
        )
        for path in (self.root / LIBRARY).glob("**/*.py"):
            if pattern.search(path.read_text(encoding="utf-8")):
                yield path.relative_to(self.root).as_posix()

    def _distance(self, test: str, module: str) -> int:
        package = module.split(".")[1]
        name = module.split(".")[-1]
        file = test.split("::")[0]
        if file in (f"tests/core/{package}/test_{name}.py", f"{module.replace('.', '/')}.py"):
            return 0
        if file.startswith((f"tests/core/{package}/", f"{LIBRARY}/{package}/")):
            return 1
        return 2 if file.startswith(("tests/core/", f"{LIBRARY}/")) else 3


# Run ---------------------------------------------------------------------------------------------


class Tree:
    """A copy of the working tree in which modules are changed."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = path
        self.originals: dict[Path, tuple[str, os.stat_result]] = {}
        if path.exists():
            shutil.rmtree(path)
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        for name in names.stdout.split("\0"):
            if name and (root / name).is_file():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, path / name)

    def write(self, relative: Path, text: str) -> None:
        path = self.path / relative
        self.originals.setdefault(path, (path.read_text(encoding="utf-8"), path.stat()))
        path.write_text(text, encoding="utf-8")

    def restore(self) -> None:
        """Write the original modules, with their times: Python's compiled files stay valid."""
        for path, (text, status) in self.originals.items():
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.originals.clear()


class Process:
    """pytest in a forked process, with limits on its time and on that of each test."""

    def __init__(
        self, tree: Tree, tests: Sequence[str], seconds: Sequence[float], options: Sequence[str]
    ) -> None:
        self.tests = tests
        self.started = time.monotonic()
        self.limit = 2 * GRACE + TIMES_EXPECTED * sum(seconds)
        self.log = tree.path.with_suffix(".log")
        arguments = tree.path.with_suffix(".tests")
        arguments.write_text("\n".join(tests), encoding="utf-8")
        command = ["-vv", "--tb=line", "-p", "no:randomly", "-p", "no:cacheprovider"]
        command += [f"--timeout={GRACE + TIMES_EXPECTED * max(seconds):.0f}"]
        command += [*options, f"@{arguments}"]
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._become_pytest(tree.path, command)

    def _become_pytest(self, tree: Path, command: list[str]) -> None:
        os.setsid()
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(stream, target)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(tree)
        # As a process that is started in the tree would have it: nothing of ROOT, nor the tools.
        tools = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        outside = [entry for entry in sys.path if entry not in ("", str(ROOT), *tools)]
        os.environ["PYTHONPATH"] = str(tree)
        sys.path[:] = [str(tree), *outside]
        for name in list(sys.modules):
            if name.split(".")[0] in ("benchmarks", LIBRARY, "tests"):
                del sys.modules[name]
        sys.argv[:] = ["pytest", *command]
        status = 3
        try:
            runpy.run_module("pytest", run_name="__main__", alter_sys=True)
        except SystemExit as stop:
            status = int(stop.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def poll(self) -> tuple[str, list[str]] | None:
        """Return None while it runs, then "passed", "killed" or "timeout", and the failed tests."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0 and time.monotonic() - self.started < self.limit:
            return None
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # processes that it started, too
        words = results(self.log.read_text(encoding="utf-8", errors="replace"))
        failed = [test for test in self.tests if words.get(test) in ("FAILED", "ERROR")]
        if pid == 0:
            os.waitpid(self.pid, 0)
            return "timeout", failed + [test for test in self.tests if test not in words]
        if os.waitstatus_to_exitcode(status) == 0:
            return "passed", []
        return "killed", failed or list(self.tests)  # or it ended before any test

    def wait(self) -> None:
        while self.poll() is None:
            time.sleep(0.1)


@dataclass
class Task:
    """A mutant that can be made, with the tests that cover it."""

    number: str
    mutant: Mutant
    finding: Finding
    path: Path  # of its module, from the root
    tests: list[str]


@dataclass
class Job:
    """Tests to run with changed modules, and what to do with the result: it may make new jobs."""

    texts: Mapping[Path, str]
    tests: Sequence[str]
    options: Sequence[str]
    finish: Callable[[str, list[str]], Iterable[Job]]


class Runner:
    """Runs the tests for all mutants of a sample."""

    def __init__(self, folder: Path, root: Path, moved: Mapping[str, str]) -> None:
        self.folder = folder
        self.root = root
        self.finder = Finder(root, moved)
        self.coverage = Coverage.load(folder / "coverage.json.gz")
        self.results: dict[str, dict[str, Any]] = load(folder / "results.json", {})
        self.mutants = [Mutant(**record) for record in load(folder / "sample.json", {})["mutants"]]
        self.trees: list[Tree] = []
        self.checked: set[str] = set()  # tests that killed, and pass without mutants

    def save(self, number: str, **result: Any) -> None:
        self.results[number] = result
        path = self.folder / "results.json"
        path.with_suffix(".new").write_text(json.dumps(self.results, indent=1, ensure_ascii=False))
        path.with_suffix(".new").replace(path)
        print(f"{number}: {result}", flush=True)

    def run(self) -> None:
        tasks = self.tasks()
        for name in THREAD_VARIABLES:  # before numpy and torch read them
            os.environ[name] = "1"
        for name in PRELOADED:
            importlib.import_module(name)
        self.trees = [Tree(self.root, self.folder / "trees" / str(n)) for n in range(WORKERS)]
        usable = self.usable()
        for task in tasks:
            task.tests = [test for test in task.tests if test in usable]
        waiting = [task for task in tasks if task.number not in self.results]
        # those with covering tests that are done at any time are a sample of such mutants
        random.Random(SEED).shuffle(waiting)
        self.schedule(job for task in waiting for job in self.first(task))
        self.check_kills()
        while survivors := [task for task in tasks if self.outcome(task) == FIRST]:
            self.second_pass(survivors)
            self.check_kills()

    def outcome(self, task: Task) -> str:
        return str(self.results[task.number]["outcome"])

    def tasks(self) -> list[Task]:
        covering = Covering(self.coverage, self.root)
        tasks: list[Task] = []
        for number, mutant in enumerate(self.mutants):
            finding = self.finder.find(mutant)
            if finding is None:
                self.save(str(number), outcome="gone")
                continue
            path = self.finder.paths[finding.module]
            tasks.append(
                Task(
                    str(number),
                    mutant,
                    finding,
                    path.relative_to(self.root),
                    covering(finding, path),
                )
            )
        return tasks

    def usable(self) -> set[str]:
        """Return the tests that pytest finds by their ids; this also compiles the trees."""
        tests = self.coverage.seconds.keys() - set(self.coverage.failed)
        files = sorted({test.split("::")[0] for test in tests})
        found: set[str] = set()
        for tree in self.trees:
            existing = [file for file in files if (tree.path / file).exists()]
            process = Process(tree, existing, [GRACE], ["--collect-only", "-qqq"])
            process.wait()
            found = set(process.log.read_text(encoding="utf-8").splitlines())
        print(f"{len(tests & found):,} of {len(tests):,} tests are found", flush=True)
        return tests & found

    def schedule(self, jobs: Iterable[Job]) -> None:
        """Do jobs and those that they make, one in each tree at a time."""
        waiting = deque(jobs)
        running: dict[Path, tuple[Job, Process]] = {}
        while waiting or running:
            for tree in self.trees:
                if tree.path in running and (result := running[tree.path][1].poll()):
                    job = running.pop(tree.path)[0]
                    tree.restore()
                    waiting.extend(job.finish(*result))
                if tree.path not in running and waiting:
                    job = waiting.popleft()
                    for path, text in job.texts.items():
                        tree.write(path, text)
                    seconds = [self.coverage.seconds[test] for test in job.tests]
                    running[tree.path] = (job, Process(tree, job.tests, seconds, job.options))
            time.sleep(0.05)

    def first(self, task: Task) -> Iterator[Job]:
        """Run the nearest tests of a mutant."""

        def finish(outcome: str, failed: list[str]) -> Iterable[Job]:
            outcome = FIRST if outcome == "passed" else outcome
            by = failed[0] if failed else ""
            how = task.finding.how
            self.save(task.number, outcome=outcome, by=by, tests=len(task.tests), how=how)
            return ()

        if task.tests:
            texts = {task.path: task.finding.change.text}
            yield Job(texts, self.nearest(task.tests), ["-x"], finish)
        else:
            finish("passed", [])

    def nearest(self, tests: Sequence[str]) -> list[str]:
        """Return the first of some tests, as many as the first pass runs, but at least three."""
        chosen = list(tests[:3])
        seconds = sum(self.coverage.seconds[test] for test in chosen)
        for test in tests[3:]:
            seconds += self.coverage.seconds[test]
            if len(chosen) == FIRST_TESTS or seconds > FIRST_SECONDS:
                break
            chosen.append(test)
        return chosen

    def check_kills(self) -> None:
        """Run the tests that killed without mutants; what fails then has killed nothing."""
        killers = {result.get("by", "") for result in self.results.values()}
        tests = sorted(killers & self.coverage.seconds.keys() - self.checked)

        def finish(outcome: str, failed: list[str]) -> Iterable[Job]:
            self.coverage.failed += failed
            for number, result in list(self.results.items()):
                if result.get("by") in failed:
                    self.save(number, **result | {"outcome": FIRST, "by": ""})
            print(
                f"{len(failed)} of {len(tests)} tests that killed fail without mutants", flush=True
            )
            return ()

        self.checked |= set(tests)
        if tests:
            self.schedule([Job({}, tests, _side_by_side(tests), finish)])

    def second_pass(self, tasks: Sequence[Task]) -> None:
        """Run all covering tests with all survivors in one tree: the quick tests, then the slow."""
        tests = {test for task in tasks for test in task.tests}
        quick = {test for test in tests if self.coverage.seconds[test] < QUICK}
        for part in (quick, tests - quick):
            self.schedule(self.group([task for task in tasks if self.outcome(task) == FIRST], part))
        for task in tasks:
            if self.outcome(task) == FIRST:
                outcome = "survived" if task.tests else "not covered"
                self.save(task.number, **self.results[task.number] | {"outcome": outcome})

    def group(self, tasks: Sequence[Task], tests: Collection[str]) -> Iterator[Job]:
        """Run tests with several mutants in one tree, then those that fail with each mutant."""
        inserted, remaining, texts = _together(tasks)
        wanted = self.covering(inserted, tests)

        def finish(outcome: str, failed: list[str]) -> Iterable[Job]:
            print(f"{len(failed)} tests fail with {len(inserted)} mutants", flush=True)
            for task in inserted:
                yield from self.single(task, failed)
            yield from self.group(remaining, tests)

        if wanted:
            yield Job(texts, wanted, _side_by_side(wanted), finish)
        elif remaining:
            yield from self.group(remaining, tests)

    def single(self, task: Task, tests: Collection[str]) -> Iterator[Job]:
        """Run tests with one mutant."""
        texts = {task.path: task.finding.change.text}

        def finish(outcome: str, failed: list[str]) -> Iterable[Job]:
            if failed:
                result = {"outcome": outcome, "by": failed[0]}
                self.save(task.number, **self.results[task.number] | result)
            return ()

        wanted = self.covering([task], tests)
        if wanted:
            yield Job(texts, wanted, ["-x"], finish)

    def covering(self, tasks: Iterable[Task], tests: Collection[str]) -> list[str]:
        """Return those of some tests that cover any of the mutants, the quickest first."""
        covering = {test for task in tasks for test in task.tests}
        wanted = covering & set(tests) - set(self.coverage.failed)
        return sorted(wanted, key=self.coverage.seconds.__getitem__)


def _side_by_side(tests: Collection[str]) -> list[str]:
    return ["-n", str(WORKERS), "--dist", "worksteal"] if len(tests) > 100 else []


def _together(tasks: Iterable[Task]) -> tuple[list[Task], list[Task], dict[Path, str]]:
    """Return the mutants that can be made together, those that can not join them, and the texts."""
    inserted: list[Task] = []
    remaining: list[Task] = []
    texts: dict[Path, str] = {}
    for task in tasks:
        change = task.finding.change
        if task.path in texts:
            found = find_in(Source(texts[task.path]), task.mutant, task.finding.function)
            if found is None or found[1] != "statement" or task.mutant.repeat:
                remaining.append(task)
                continue
            change = found[0]
        texts[task.path] = change.text
        inserted.append(task)
    return inserted, remaining, texts


# Report ------------------------------------------------------------------------------------------


def wilson(successes: int, number: int) -> tuple[float, float]:
    """Return the Wilson score interval of a share, with 95 % confidence (Wilson, JASA 22, 1927).

    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    """
    z = 1.959963984540054
    share = successes / number
    middle = share + z * z / (2 * number)
    half = z * (share * (1 - share) / number + z * z / (4 * number * number)) ** 0.5
    scale = 1 + z * z / number
    return (middle - half) / scale, (middle + half) / scale


def report(folder: Path) -> str:
    """Write the report: shares by package, and the survivors."""
    sample = load(folder / "sample.json", {})
    outcomes = load(folder / "results.json", {})
    verdicts = load(folder / "verdicts.json", {})
    rows = [(str(number), Mutant(**record)) for number, record in enumerate(sample["mutants"])]
    done = [
        (number, mutant)
        for number, mutant in rows
        if outcomes.get(number, {}).get("outcome", "gone") != "gone"
    ]
    lines = [
        f"{len(rows)} mutants, drawn with seed {sample['seed']} from {sample['places']:,} places "
        f"(of {sample['tried']} places, {sample['tried'] - len(rows)} gave no mutant).",
        "",
        "| package | mutants | killed | by time | survived | no test | gone | share | interval |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    packages = sorted({mutant.package for _, mutant in rows})
    for title in [*packages, "all"]:
        numbers = [number for number, mutant in done if title in ("all", mutant.package)]
        words = [outcomes[number]["outcome"] for number in numbers]
        gone = sum(1 for _, mutant in rows if title in ("all", mutant.package)) - len(numbers)
        timeouts = words.count("timeout")
        killed = words.count("killed") + timeouts
        uncovered = words.count("not covered")
        low, high = wilson(killed, len(words)) if words else (0.0, 1.0)
        share = f"{killed / len(words):.1%}" if words else ""
        lines.append(
            f"| {title} | {len(words)} | {killed} | {timeouts} | {len(words) - killed} "
            f"| {uncovered} | {gone} | {share} | {low:.1%} – {high:.1%} |"
        )
    counts = Counter(
        verdicts.get(number, ["no verdict"])[0]
        for number, _ in done
        if outcomes[number]["outcome"] not in ("killed", "timeout")
    )
    numbers = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    lines += ["", f"Survivors: {', '.join(numbers)}."]
    lines += [
        "",
        "| survivor | function | before → after | statement | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for number, mutant in done:
        outcome = outcomes[number]["outcome"]
        if outcome in ("killed", "timeout"):
            continue
        note = [
            *verdicts.get(number, []),
            *(["(no test covers it)"] if outcome == "not covered" else []),
        ]
        cells = [
            number,
            mutant.title,
            f"`{mutant.before}` → `{mutant.after}`",
            f"`{mutant.statement[:120]}`",
            ": ".join(note),
        ]
        lines.append(
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        )
    how = {
        word: sum(1 for result in outcomes.values() if result.get("how") == word)
        for word in ("expression", "ordinal", "elsewhere")
    }
    lines += [
        "",
        "Found again other than by the statement: "
        + ", ".join(f"{number} by {word}" for word, number in how.items())
        + ".",
    ]
    gone_titles = [
        f"{number} {mutant.title} `{mutant.before}` → `{mutant.after}`"
        for number, mutant in rows
        if (number, mutant) not in done
    ]
    lines += ["", "Gone:", "", *(f"- {title}" for title in gone_titles)] if gone_titles else []
    return "\n".join(lines) + "\n"


def load(path: Path, default: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutants", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("mutants"),
        help="of sample, coverage, results and report (mutants)",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="draw mutants")
    drawing.add_argument("--seed", type=int, default=SEED)
    drawing.add_argument("--number", type=int, default=300)
    covering = commands.add_parser("cover", help="find which tests cover which lines")
    covering.add_argument("paths", nargs="+", metavar="PATH", help="of tests, as for pytest")
    running = commands.add_parser("run", help="run the tests for each mutant")
    text = "a module, or MODULE:FUNCTION, whose code is elsewhere now; repeat it for each"
    running.add_argument("--moved", action="append", default=[], metavar="OLD=NEW", help=text)
    commands.add_parser("report", help="write the report")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if options.command == "draw":
        mutants, counts = draw(ROOT, PACKAGES, options.number, options.seed)
        record = {"seed": options.seed, **counts, "mutants": [asdict(mutant) for mutant in mutants]}
        (folder / "sample.json").write_text(json.dumps(record, indent=1, ensure_ascii=False))
        print(counts)
    elif options.command == "cover":
        cover(folder, options.paths)
    elif options.command == "run":
        Runner(folder, ROOT, dict(pair.split("=", 1) for pair in options.moved)).run()
    else:
        written = report(folder)
        (folder / "report.md").write_text(written)
        print(written)


if __name__ == "__main__":
    main()
