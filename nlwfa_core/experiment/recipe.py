"""Define the recipe: a whole experiment as one small frozen value of numbers and names, which can
be written as JSON and read back.

It has three parts, for the data, the Hankel matrix and learning. Each step of a run depends only on
its own part and the parts before it, so a change of rank, for example, changes neither the data nor
the Hankel matrix. A learner that needs no Hankel matrix has no part for it.

Controls, command-line options and lessons use the fields under flat names (`FIELDS`), without the
part: a field name that occurs in several parts, such as `seed`, is preceded by the part. A link
contains a recipe as a short text (`recipe_code`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar, cast

from pydantic import (
    Field,
    SerializeAsAny,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from .. import limits
from ..errors import RecipeError, check_one_of, check_types
from ..files import SHA256
from ..hankel.recipe import HankelRecipe
from ..hankel.statistics import LINEAR_ONLY
from ..learning.learners import HANKEL_LEARNERS, LEARNERS, NETWORK_LEARNERS, SP
from ..learning.shared_options import LARGEST_SEED, LearnerOptions, options_from
from ..records import Bounds, NoEffect, Option, Record, option, options_of
from ..sources.names import RANDOM, SOURCES
from ..sources.reading import ColumnName, Reading
from ..strings.plain import MIN_COUNT, UNKNOWN
from ..strings.words import Alphabet, check_unknown, in_order

ContentHash = Annotated[str, StringConstraints(pattern=rf"^({SHA256.pattern})?$")]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
AnyRecord = TypeVar("AnyRecord", bound=Record)
UPLOAD = {"source": ["upload"]}
# The fields of all sources; every other field is for some sources only.
OF_ALL_SOURCES = ("source", "num_strings", "num_validation", "num_test", "seed")


def _upload_option(title: str, help: str) -> Any:
    return option("", title=title, help=help, when=UPLOAD)


def _reading_option(name: str) -> Any:
    """Declare how uploaded strings are read, as a field of `Reading` does."""
    entry = options_of(Reading)[name]
    conditions = [
        {f"upload_{other}": values for other, values in condition.items()}
        for condition in entry.when
    ]
    return option(
        entry.default,
        title=entry.title,
        help=entry.help,
        choices=entry.choices,
        when=[UPLOAD, *conditions],
        limit=entry.limit,
        **cast(Bounds, entry.bounds),
    )


# What a symbol that the model does not know does to a test string.
ZERO = "zero"
SKIP = "skip"
SYMBOL = "symbol"
UNSEEN = {
    ZERO: "A string with an unseen symbol has the weight 0",
    SKIP: "A test string with an unseen symbol is left out of the scores",
    SYMBOL: "An unseen symbol is read as the symbol for the unknown",
}
MOST_SYMBOLS = 1_000  # characters of a declared alphabet
Symbols = Annotated[str, StringConstraints(max_length=MOST_SYMBOLS)]
Unknown = Annotated[str, StringConstraints(max_length=40)]
# The fields that determine which symbols a model knows.
SYMBOL_FIELDS = ("alphabet", "unseen", "unknown", "min_count")


class DataRecipe(Record):
    """The source of the strings, and how they are split.

    Attributes
    ----------
    source : str
        "dyck", "tomita" (a small regular language), "automaton" (random, probabilistic), "hmm",
        "pfa" and "pdfa" (random automata of a narrower kind), "squared" (the square of a random
        WFA), "verbs" (shipped), "upload".
    num_strings, num_validation, num_test : int
        The numbers of training, validation and test strings. Sources that generate strings draw
        each set independently. The strings of "verbs" and "upload" are split at random: validation
        and test get these numbers, but at most a fifth of the strings each, and training gets the
        rest, but at most num_strings. With num_validation 0, more strings are left for training,
        but nothing can be chosen by validation strings.
    seed : int
        The seed of the random draws and of the split.
    split_probability, wrap_probability : float
        For "dyck": the probabilities of the grammar's rules S → SS and S → [S]. The remaining
        probability is that of S → [].
    grammar : int
        For "tomita": the number of the language, from 1 to 7.
    num_states, num_symbols : int
        For random automata: the numbers of states and symbols.
    upload, upload_test, upload_solution, upload_model : str
        For "upload": the SHA-256 of each uploaded file: training strings and, optionally, test
        strings, a PAutomaC solution, and a PAutomaC model, which is the true model. Empty if there
        is no such file.
    upload_prefixes, upload_targets : str
        For "upload": the SHA-256 of a file of prefixes, and of a file with what followed each of
        them. A recipe has both or neither.
    upload_format, upload_encoding, upload_separator, upload_header : str
    upload_text_column, upload_count_column : str
    upload_case_column, upload_event_column, upload_order_column, upload_label : str
    upload_window : int
        For "upload": how the files of strings are read, as in `Reading`. Windows are split in their
        order, with a window left out between two parts; the seed then has no effect.
    alphabet : str
        For "upload": all symbols of the model, separated by spaces; empty for those of the file.
    unseen : str
        For "upload": what happens to a string with a symbol that the model does not know:
        "zero", "skip" or "symbol".
    unknown : str
        With unseen "symbol": the symbol that stands for all others, with _ in place of white space;
        empty for "<unk>".
    min_count : int
        With unseen "symbol", and no alphabet: how often a symbol has to occur in the training
        strings to be known.

    Raises
    ------
    RecipeError
        If a field is unknown, has a value that is not allowed, or would have no effect.

    Examples
    --------
    >>> from nlwfa_core import DataRecipe
    >>> recipe = DataRecipe(source="tomita", grammar=4, num_strings=500, seed=1)
    >>> recipe.num_strings, recipe.changed(seed=2).seed
    (500, 2)
    """

    source: str = option(
        "dyck", title="source", help="Where the strings come from.", choices=SOURCES
    )
    num_strings: int = option(
        20_000,
        title="training strings",
        help="Number of strings to draw, or the largest number to learn from.",
        limit="generated_strings",
        ge=1,
    )
    num_validation: int = option(
        250,
        title="validation strings",
        help="Number of strings to hold back for choosing, for example, a rank or an epoch, at "
        "most a fifth of a file's strings; with 0, more of them are left for training.",
        limit="generated_strings",
        ge=0,
    )
    num_test: int = option(
        250,
        title="test strings",
        help="Number of strings to hold back for scores, at most a fifth of a file's strings.",
        limit="generated_strings",
        ge=1,
    )
    seed: int = option(
        0,
        title="seed of the strings",
        help="Equal seeds draw and split the same strings.",
        ge=0,
        le=LARGEST_SEED,
    )
    split_probability: float = option(
        0.2,
        title="P(S→SS)",
        help="Probability of S → SS.",
        when={"source": ["dyck"]},
        ge=0,
        le=1,
    )
    wrap_probability: float = option(
        0.4,
        title="P(S→[S])",
        help="Probability of S → [S]; S → [] gets the rest.",
        when={"source": ["dyck"]},
        ge=0,
        le=1,
    )
    grammar: int = option(
        1,
        title="Tomita language",
        help="Number of the language in Tomita's list.",
        when={"source": ["tomita"]},
        ge=1,
        le=7,
    )
    num_states: int = option(
        5,
        title="states of the source",
        help="Number of states of the random automaton.",
        when={"source": RANDOM},
        ge=1,
        le=50,
    )
    num_symbols: int = option(
        4,
        title="symbols of the source",
        help="Number of symbols in its alphabet.",
        when={"source": RANDOM},
        ge=1,
        le=100,
    )
    upload: ContentHash = _upload_option(
        "file of training strings", "Training strings: the SHA-256 of a file."
    )
    upload_test: ContentHash = _upload_option(
        "file of test strings", "Test strings: the SHA-256 of a file."
    )
    upload_solution: ContentHash = _upload_option(
        "file of true probabilities",
        "Probabilities of the test strings: the SHA-256 of a PAutomaC solution.",
    )
    upload_model: ContentHash = _upload_option(
        "file of the true model", "The true model: the SHA-256 of a PAutomaC model."
    )
    upload_prefixes: ContentHash = _upload_option(
        "file of prefixes",
        "Prefixes, to be scored as in SPiCe: the SHA-256 of a file.",
    )
    upload_targets: ContentHash = _upload_option(
        "file of targets",
        "What followed each of these prefixes: the SHA-256 of a SPiCe target file.",
    )
    upload_format: str = _reading_option("format")
    upload_encoding: str = _reading_option("encoding")
    upload_separator: str = _reading_option("separator")
    upload_header: str = _reading_option("header")
    upload_text_column: ColumnName = _reading_option("text_column")
    upload_count_column: ColumnName = _reading_option("count_column")
    upload_case_column: ColumnName = _reading_option("case_column")
    upload_event_column: ColumnName = _reading_option("event_column")
    upload_order_column: ColumnName = _reading_option("order_column")
    upload_label: ColumnName = _reading_option("label")
    upload_window: int = _reading_option("window")
    alphabet: Symbols = option(
        "",
        title="all symbols",
        help="The symbols of the model, separated by spaces; by default those of the strings.",
        when=UPLOAD,
    )
    unseen: str = option(
        ZERO,
        title="unseen symbols",
        help="What happens to a string with a symbol that the model does not know.",
        choices=UNSEEN,
        when=UPLOAD,
    )
    unknown: Unknown = option(
        UNKNOWN,
        title="symbol for the unknown",
        help="The symbol that stands for all symbols the model does not know.",
        when=[UPLOAD, {"unseen": [SYMBOL]}],
    )
    min_count: int = option(
        MIN_COUNT,
        title="occurrences of a known symbol",
        help="Symbols that occur less often than this in the training strings count as unknown.",
        when=[UPLOAD, {"unseen": [SYMBOL]}, {"alphabet": [""]}],
        ge=1,
        le=1_000_000,
    )

    @field_validator("alphabet")
    @classmethod
    def _sort_alphabet(cls, value: str) -> str:
        return " ".join(in_order(set(value.split())))

    @field_validator("unknown")
    @classmethod
    def _check_unknown(cls, value: str) -> str:
        one_word = "_".join(value.split()) or UNKNOWN
        check_unknown(one_word)
        return one_word

    @property
    def declared(self) -> Alphabet | None:
        """Return the declared alphabet, which may have a symbol for the unknown; None if the
        symbols are those of the strings.
        """
        unknown = self.unknown if self.has("unknown") else None
        return Alphabet.of(self.alphabet.split(), unknown) if self.alphabet else None

    def source_options(self) -> dict[str, Any]:
        """List the fields that only some sources have: name -> value."""
        return {name: value for name, value in self.fields().items() if name not in OF_ALL_SOURCES}

    @property
    def uploads(self) -> tuple[str, ...]:
        """SHA-256 of each uploaded file that the recipe reads."""
        return tuple(
            value for name, value in self.source_options().items() if name in UPLOADS and value
        )

    @property
    def error_rate(self) -> str:
        """Return which word error rate is meaningful for these strings: "wer", or "wer_without_end"
        for windows, which end only where they were cut.
        """
        return "wer_without_end" if self.reading.window else "wer"

    @property
    def reading(self) -> Reading:
        """Return how the uploaded files of strings are read."""
        fields = self.fields()
        return Reading(
            **{name: fields[field] for field, name in READING_FIELDS.items() if field in fields}
        )


# A field that says how uploaded strings are read -> its name in `Reading`.
READING_FIELDS = {f"upload_{name}": name for name in options_of(Reading)}


def reading_fields(reading: Reading) -> dict[str, Any]:
    """Return the fields of a data recipe that state how strings are read and that have an effect.

    >>> reading_fields(Reading("fasta"))
    {'upload_format': 'fasta', 'upload_encoding': 'utf-8', 'upload_window': 0}
    """
    return {f"upload_{name}": value for name, value in reading.fields().items()}


# The fields that hold the SHA-256 of a file.
UPLOADS = (
    "upload",
    "upload_test",
    "upload_solution",
    "upload_model",
    "upload_prefixes",
    "upload_targets",
)


class Recipe(Record):
    """A whole experiment.

    Attributes
    ----------
    data : DataRecipe
    hankel : HankelRecipe
        Only for learners that need a Hankel matrix.
    learning : LearnerOptions
        The options of a learner: see `learners.options`.

    >>> from nlwfa_core import options
    >>> recipe = Recipe(learning=options("both.non", rank=3))
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    data: DataRecipe = DataRecipe()
    hankel: HankelRecipe = option(
        HankelRecipe(),
        title="Hankel matrix",
        help="What is counted, and for which prefixes and suffixes.",
        when={"needs_hankel": [True]},
    )
    learning: SerializeAsAny[LearnerOptions] = SP()

    @field_validator("learning", mode="before")
    @classmethod
    def _read_learning(cls, value: Any) -> Any:
        if isinstance(value, LearnerOptions):
            return options_from(LEARNERS, value, {})
        if isinstance(value, Mapping):
            learner = value.get("learner", SP.name())
            check_one_of("learner", learner, LEARNERS)
            return options_from(LEARNERS, learner, {**value, "learner": learner})
        return value

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        hankel = self.hankel
        learning = self.learning
        if not learning.needs_hankel:
            return self
        if hankel.statistic == "suffix" and learning.networks:
            raise ValueError(LINEAR_ONLY)
        if learning.needs_boundary(hankel.statistic, hankel.transform) and not hankel.bounded:
            raise ValueError(
                f"{learning.learner} needs boundary symbols (bounded) with "
                f"{hankel.statistic} statistics"
            )
        if not drops_states(learning, hankel) and "dropout" in learning.changes():
            raise _no_dropout(learning, hankel)
        return self

    @property
    def needs_hankel(self) -> bool:
        """Return whether the learner needs a Hankel matrix."""
        return self.learning.needs_hankel

    def needs(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return what would have to change for a part to exist; see `Record.needs`."""
        return {} if self.has(name) else _hankel_needs(self.learning)

    def setting(self, name: str) -> Mapping[str, Any]:
        """Return the fields that keep a part from existing."""
        return _no_hankel(self.learning)

    def to_json(self) -> str:
        """Return the recipe as JSON text."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Read a recipe from JSON text. Raises RecipeError if the text is not a valid recipe."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise cls.error_of(error) from None

    @check_types
    def with_learner(self, learner: str, rank: int | None = None, **fields: Any) -> Recipe:
        """Copy the recipe with another learner, and with boundary symbols if that learner needs
        them.

        Options that the new learner also has keep their values, unless `rank` or `fields` sets
        others.

        Raises RecipeError if the learner or a field is unknown, or a value is not allowed.
        """
        changed = {**fields, "learner": learner} | ({} if rank is None else {"rank": rank})
        return with_fields(self, changed)

    @property
    def seed(self) -> int:
        """Return the seed that distinguishes runs with equal settings: that of learning or, if
        nothing in it is random, that of the strings.
        """
        values = flat(self)
        seeds: list[int] = [
            values[name] for name in (*LEARNING_SEEDS, "data_seed") if name in values
        ]
        return seeds[0]

    @property
    def title(self) -> str:
        """Return the name of the recipe's run in tables and on pages, such as "SP, k = 10"."""
        return run_title(self.learning.learner, self.learning.rank)


LEARNING_SEEDS = ("learning_seed", "refinement_seed")  # flat names
DROPOUT_NEEDS = {"learner": NETWORK_LEARNERS, "transform": ("sqrt", "row")}


def drops_states(learning: LearnerOptions, hankel: HankelRecipe) -> bool:
    """Return whether a refinement can drop states; it can't drop those of a WFA, which SP learns
    from a matrix without transform or boundary symbols.
    """
    return learning.networks or hankel.transform != "none" or hankel.bounded


def _hankel_needs(learning: LearnerOptions) -> Mapping[str, Sequence[Any]]:
    """Return what would have to change in options for a Hankel matrix to be needed."""
    return {"objective": ["hankel"]} if learning.from_hankel else {"learner": HANKEL_LEARNERS}


def _no_hankel(learning: LearnerOptions) -> Mapping[str, Any]:
    """Return the options because of which no Hankel matrix is needed."""
    names = ("learner", "objective") if learning.from_hankel else ("learner",)
    return {name: getattr(learning, name) for name in names}


def _no_dropout(learning: LearnerOptions, hankel: HankelRecipe) -> NoEffect:
    setting = {"learner": learning.learner, "transform": hankel.transform}
    return NoEffect("dropout", setting, DROPOUT_NEEDS)


def run_title(learner: str, rank: int) -> str:
    """Name a run by its learner and its rank, as pages, tables and programs do.

    >>> run_title("SP", 10)
    'SP, k = 10'
    """
    return f"{learner}, k = {rank}"


PARTS: dict[str, tuple[type[Record], ...]] = {
    "data": (DataRecipe,),
    "hankel": (HankelRecipe,),
    "learning": tuple(LEARNERS.values()),
}


def _by_name() -> dict[str, tuple[str, Option]]:
    """List the fields of all records: flat name -> (part, field)."""
    by_part: dict[str, dict[str, Option]] = {}
    for part, kinds in PARTS.items():
        # in the order of a learner that has the most fields
        declared = sorted(map(options_of, kinds), key=len, reverse=True)
        by_part[part] = {name: entry for each in declared for name, entry in each.items()}
    times = Counter(name for declared in by_part.values() for name in declared)
    return {
        name if times[name] == 1 else f"{part}_{name}": (part, entry)
        for part, declared in by_part.items()
        for name, entry in declared.items()
    }


# Flat name -> what the field declares. All learners that have a field declare the same.
OPTIONS = {name: entry for name, (_, entry) in _by_name().items()}
# Flat name -> (part, name in that part), for all fields that users set.
FIELDS = {
    name: (part, entry.name) for name, (part, entry) in _by_name().items() if not entry.derived
}
_FLAT_NAMES = {(part, entry.name): name for name, (part, entry) in _by_name().items()}

# A number, or first-last, or first-last:step.
RANGE = re.compile(r"([0-9]{1,18})(?:\s*-\s*([0-9]{1,18})(?:\s*:\s*([0-9]{1,18}))?)?")
MAX_LINK = 2_000  # characters
MAX_TEXT = 20_000  # bytes of JSON in a link: a short text must not unpack to a long one


def flat_name(part: str, name: str) -> str:
    """Return the flat name of a field of a part.

    >>> flat_name("learning", "seed"), flat_name("learning", "rank")
    ('learning_seed', 'rank')
    """
    return _FLAT_NAMES[part, name]


def option_values(recipe: Recipe) -> dict[str, Any]:
    """List all fields of a recipe that have an effect, including those that follow from others:
    flat name -> value.
    """
    values = {
        flat_name(part, name): value
        for part, record in recipe.fields().items()
        for name, value in record.fields().items()
    }
    if not drops_states(recipe.learning, recipe.hankel):
        values.pop("dropout", None)
    return values


def flat(recipe: Recipe) -> dict[str, Any]:
    """List the fields of a recipe that users set and that have an effect: flat name -> value. The
    hidden layers are text, such as "2,1,2".

    >>> flat(Recipe())["data_seed"], flat(Recipe().with_learner("both.non"))["hidden"]
    (0, '2,1,2')
    """
    return {
        name: ",".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in option_values(recipe).items()
        if name in FIELDS
    }


def with_fields(
    recipe: Recipe, fields: Mapping[str, Any], values: Mapping[str, Any] | None = None
) -> Recipe:
    """Copy a recipe with other values for some fields, which are given by their flat names. Text is
    converted to the field's type.

    >>> with_fields(Recipe(), {"rank": "3", "learner": "both.non"}).learning.rank
    3

    `recipe`: its other fields keep their values, if they have an effect in the result. `values`:
    values of fields that need not have an effect in the result; if they have none, they are
    ignored.

    Raises RecipeError if a field is unknown or has no effect in the result, or if its value is not
    allowed.
    """
    changed = _by_part(fields)
    kept = {
        part: getattr(recipe, part).changes() | more
        for part, more in _by_part(values or {}).items()
    }
    learner = kept["learning"].pop("learner", recipe.learning.learner)
    learner = changed["learning"].pop("learner", learner)
    check_one_of("learner", learner, LEARNERS)
    kind = LEARNERS[learner]
    learning = kind.adapted(kept["learning"], **changed["learning"])
    data = _adapted(recipe.data, kept["data"], changed["data"])
    if not learning.needs_hankel:
        for name in changed["hankel"]:
            raise NoEffect(name, _no_hankel(learning), _hankel_needs(learning))
        return Recipe(data=data, learning=learning)
    statistic, transform = (
        changed["hankel"].get(name, kept["hankel"].get(name, OPTIONS[name].default))
        for name in ("statistic", "transform")
    )
    boundary = learning.needs_boundary(statistic, transform)
    hankel = _adapted(recipe.hankel, kept["hankel"], changed["hankel"] | {"bounded": boundary})
    if not drops_states(learning, hankel):
        if "dropout" in changed["learning"] and learning.has("dropout"):
            raise _no_dropout(learning, hankel)
        if "dropout" in learning.changes():
            learning = learning.changed(dropout=0.0)
    return Recipe(data=data, hankel=hankel, learning=learning)


def _adapted(record: AnyRecord, kept: Mapping[str, Any], changed: Mapping[str, Any]) -> AnyRecord:
    """Return `type(record).adapted(kept, **changed)`, which is often the record itself."""
    there = record.fields()
    if kept == record.changes() and all(
        name in there and type(value) is type(there[name]) and value == there[name]
        for name, value in changed.items()
    ):
        return record
    return type(record).adapted(kept, **changed)


def _by_part(fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Sort fields by the part of a recipe that they belong to."""
    by_part: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, value in fields.items():
        if name not in FIELDS:
            raise RecipeError(
                f"{name!r} is not a field of a recipe; the fields are {', '.join(sorted(FIELDS))}"
            )
        part, field = FIELDS[name]
        by_part[part][field] = value
    return by_part


def needs(recipe: Recipe, name: str) -> Mapping[str, Sequence[Any]]:
    """Return what would have to change in a recipe for a field to have an effect: the flat names of
    other fields, one of which must have one of the values listed for it. Empty if the field has an
    effect.

    >>> needs(Recipe(), "num_prefixes"), needs(Recipe(), "dropout")
    ({}, {'refine': ['likelihood']})
    >>> needs(Recipe(), "hidden")
    {'learner': ('fac.non', 'tran.non', 'both.non')}
    """
    part, field = FIELDS[name]
    if part == "hankel":
        return {} if recipe.learning.needs_hankel else _hankel_needs(recipe.learning)
    needed: Mapping[str, Sequence[Any]] = getattr(recipe, part).needs(field)
    if field == "dropout" and not needed and not drops_states(recipe.learning, recipe.hankel):
        return DROPOUT_NEEDS
    return needed


def over_limit(recipe: Recipe) -> dict[str, int]:
    """Find the fields that are above this installation's limits: flat name -> the largest value
    allowed.
    """
    return {
        name: largest
        for name, value in flat(recipe).items()
        if (largest := OPTIONS[name].largest) is not None and value > largest
    }


def check_allowed(recipe: Recipe) -> None:
    """Raise RecipeError if a field is above its limit."""
    for record in recipe.fields().values():
        record.check_limits()


def differences(before: Recipe, after: Recipe) -> dict[str, tuple[Any, Any]]:
    """Compare two recipes: flat name -> (value before, value after), for each field that differs. A
    value is None if the field has no effect.
    """
    old = flat(before)
    new = flat(after)
    return {
        name: (old.get(name), new.get(name)) for name in FIELDS if old.get(name) != new.get(name)
    }


def recipe_code(recipe: Recipe) -> str:
    """Write a recipe as short text for the address of a page. It holds only the fields that are not
    at their defaults, compressed.

    >>> recipe_of(recipe_code(Recipe())) == Recipe()
    True
    """
    parts = {part: record.changes() for part, record in recipe.fields().items()}
    if recipe.learning.learner != SP.name():
        parts["learning"]["learner"] = recipe.learning.learner
    stated = {part: changes for part, changes in parts.items() if changes}
    text = json.dumps(stated, separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def recipe_of(code: str) -> Recipe:
    """Read the text of `recipe_code`. Raises RecipeError for any other text."""
    if len(code) > MAX_LINK:
        raise RecipeError(
            f"The recipe in this link is too long: it has {len(code):,} characters, and at "
            f"most {MAX_LINK:,} are allowed."
        )
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
        text = zlib.decompressobj().decompress(packed, MAX_TEXT + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise RecipeError(
            "This link does not contain a valid recipe: it was cut short or altered."
        ) from None
    if len(text) > MAX_TEXT:
        raise RecipeError(f"The recipe in this link is larger than {MAX_TEXT:,} bytes.")
    return Recipe.from_json(text.decode(errors="replace"))


def number_ranges(name: str, text: str, most: int) -> tuple[int, ...]:
    """Read whole numbers and ranges, separated by commas. A range includes both ends, and may have
    a step after a colon.

    >>> number_ranges("ranks", "1,2-5,10-20:5", most=1000)
    (1, 2, 3, 4, 5, 10, 15, 20)

    `name`: the field's name, for error messages. `most`: the largest number allowed.

    Returns a tuple of int: in the order of the text, each number once.

    Raises RecipeError if the text has another form, a range ends before it begins, or a number is
    too large.
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = RANGE.fullmatch(part.strip())
        if match is None:
            raise RecipeError(
                f"{name} must be whole numbers and ranges separated by commas, such as 1,2,5 "
                f"or 2-20; got {text[:60]!r}"
            )
        first, last, step = (
            int(number) for number in (match[1], match[2] or match[1], match[3] or 1)
        )
        limits.check_at_most(name, last, most)
        if last < first or step < 1:
            raise RecipeError(
                f"a range in {name} must be ascending, for example 2-20 or 5-50:5; got "
                f"{part.strip()[:60]!r}"
            )
        numbers += range(first, last + 1, step)
    return tuple(dict.fromkeys(numbers))
