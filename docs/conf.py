"""Settings of the documentation site: `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

import nlwfa_core  # noqa: E402
from nlwfa_core import plot  # noqa: E402
from nlwfa_core.experiment import estimators  # noqa: E402
from nlwfa_core.models import algebra  # noqa: E402

project = "NL-WFA Lab"
author = "The NL-WFA Lab authors"
copyright = "The NL-WFA Lab authors"
release = nlwfa_core.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "screens",
    "deployment",
    "auto_gallery/*.py",
    "gallery/GALLERY_HEADER.rst",
]
html_theme = "furo"
html_title = f"NL-WFA Lab {release}"
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "signature"  # numpydoc's sections have those of the parameters that need words
python_maximum_signature_line_length = 100
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
suppress_warnings = ["config.cache", "toc.not_included", "myst.header"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r".*\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "plot_gallery": True,
    "download_all_examples": False,
}


def public_names() -> dict[str, list[str]]:
    """List the names that have a page, by their heading."""
    families = ("HMM", "NonlinearWFA", "SpectralWFA", "StringClassifier")
    figures = (
        "automaton",
        "curves",
        "hankel",
        "losses",
        "new_axes",
        "panels",
        "render",
        "save",
        "singular_values",
        "states",
        "style",
        "trajectories",
        "weights",
    )
    assert all(hasattr(plot, name) for name in figures) and all(
        hasattr(estimators, name) for name in families
    )
    assert hasattr(algebra, "forward") and hasattr(algebra, "backward")
    return {
        "The library": [f"nlwfa_core.{name}" for name in nlwfa_core.__all__],
        "Intervals over seeds": [
            *(
                f"nlwfa_core.metrics.seeds.{name}"
                for name in ("paired_t_interval", "signed_rank_interval")
            ),
        ],
        "Differences between two models": [
            f"nlwfa_core.metrics.intervals.{name}" for name in ("Interval", "paired_differences")
        ],
        "Boundary symbols": ["nlwfa_core.hankel.boundary.bounded_sample"],
        "Forward and backward vectors": [
            "nlwfa_core.models.algebra.forward",
            "nlwfa_core.models.algebra.backward",
        ],
        "Estimators for scikit-learn": [
            f"nlwfa_core.experiment.estimators.{name}" for name in families
        ],
        "Figures for papers": [f"nlwfa_core.plot.{name}" for name in figures],
    }


def write_api() -> None:
    """Write the page from which Sphinx makes one for each public name."""
    about = (
        "Every public name has a page: what goes in and comes out, with shapes; errors; an "
        "example that runs as it is printed; and "
        "the source of what it computes. Where a function takes ``report``, it calls it with "
        "a ``Progress`` after each step. Where "
        "it takes ``cancelled``, it asks that now and then, and raises ``Cancelled`` once "
        "the answer is true. ``**fields`` are "
        "fields of a learner's options, which ``options`` makes."
    )
    parts = ["API", "===", "", about, ""]
    for heading, names in public_names().items():
        parts += [heading, "-" * len(heading), "", ".. autosummary::", "   :toctree: generated", ""]
        parts += [*(f"   {name}" for name in names), ""]
    page = DOCS / "api" / "index.rst"
    page.parent.mkdir(exist_ok=True)
    text = "\n".join(parts)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def name_files_of_the_repository(app: object, docname: str, source: list[str]) -> None:
    """Links to files that the site does not have become names of files."""
    folder = (DOCS / docname).parent

    def named(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        page = target.suffix in (".md", ".rst") and target.is_relative_to(DOCS)
        return link[0] if page or target.suffix in (".png", ".svg") else f"{link[1]} (`{link[2]}`)"

    source[0] = re.sub(r"(?<!!)\[([^\[\]]+)\]\(([^)#:]+)\)", named, source[0])


def check_pages(app: object, error: Exception | None) -> None:
    """Fail the build if a public name has no page."""
    if error is None:
        folder = Path(app.outdir, "api", "generated")  # type: ignore[attr-defined]
        missing = [
            name
            for names in public_names().values()
            for name in names
            if not (folder / f"{name}.html").is_file()
        ]
        if missing:
            raise ValueError(f"these public names have no page: {', '.join(missing)}")


def imports_of(lines: list[str], module: str) -> list[str]:
    """Write the imports that a docstring's examples need, in addition to their own, to run alone.

    Tests run examples with the names of their module. A reader has none of these.

    Parameters
    ----------
    lines : list of str
        The docstring.
    module : str
        Where the object is defined.
    """
    code = ast.parse(
        "".join(
            example.source for example in doctest.DocTestParser().get_examples("\n".join(lines))
        )
    )
    nodes = list(ast.walk(code))
    own = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    imported = [
        alias
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    own |= {(alias.asname or alias.name).split(".")[0] for alias in imported}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    used = {node.id for node in nodes if isinstance(node, ast.Name)} - own - set(dir(builtins))
    return list(_imports(used, vars(sys.modules[module])))


def _imports(names: set[str], known: dict[str, object]) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for name in sorted(names & known.keys()):
        value = known[name]
        if isinstance(value, ModuleType):
            yield f"import {value.__name__}" + ("" if value.__name__ == name else f" as {name}")
        else:
            public = name in nlwfa_core.__all__ and getattr(nlwfa_core, name) is value
            places.setdefault(
                "nlwfa_core" if public else getattr(value, "__module__", ""), []
            ).append(name)
    yield from (f"from {place} import {', '.join(some)}" for place, some in sorted(places.items()))


def add_imports(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Put before a docstring's first example the imports that it needs."""
    first = next(
        (number for number, line in enumerate(lines) if line.lstrip().startswith(">>> ")), None
    )
    module = getattr(getattr(obj, "fget", None) or getattr(obj, "func", obj), "__module__", None)
    if first is not None and module in sys.modules:
        indent = lines[first][: -len(lines[first].lstrip())]
        lines[first:first] = [f"{indent}>>> {line}" for line in imports_of(lines, module)]


def escape_bars(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """In docstrings, |x| is an absolute value or a size, and not a substitution of
    reStructuredText.
    """
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else re.sub(r"(?<!\\)\|", r"\\|", line)
        for line in lines
    ]


def setup(app: object) -> None:
    write_api()
    app.connect("build-finished", check_pages)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", add_imports)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", escape_bars)  # type: ignore[attr-defined]
    app.connect("source-read", name_files_of_the_repository)  # type: ignore[attr-defined]
