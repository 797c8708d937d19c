"""Records: frozen, validated values whose fields are declared once.

The declaration of a field (`option`) states its default and bounds, its label and help, the limit
on its value, its choices, and the condition under which it has an effect. Pages, commands, tables
and keys read the declarations (`options_of`).

A field whose condition is not met does not exist in that record: it can't be set, it is not in the
record's JSON or key, and records can't differ in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Self, TypedDict, Unpack, cast, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo

from . import limits
from .errors import FieldError, RecipeError, alternatives, did_you_mean, format_exact

# A part of every key. Raise it when equal records start to give different numbers.
GENERATION = 1
# pydantic's names of bounds -> their wording in messages
BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}

UNBOUNDED = 2**31 - 1  # texts do not mention upper bounds from here on

# Name of an attribute -> values. The condition is met if one of the attributes has one of its
# values. Attributes that are not fields are facts of the class, which nobody can set.
Condition = Mapping[str, Sequence[Any]]


class Bounds(TypedDict, total=False):
    """The bounds of a number: at least, above, at most, below."""

    ge: float
    gt: float
    le: float
    lt: float


@dataclass(frozen=True)
class Option:
    """A field of a record, as users see it."""

    name: str
    title: str  # the field's label on pages and in tables
    help: str  # what it sets, in a line
    kind: Any  # the annotation of the field
    # The field's value in a record that does not set it. If `by` is set, a mapping from values of
    # the field `by` to defaults, of which the first is that for all other values.
    default: Any
    bounds: Mapping[str, float]  # some of "ge", "gt", "le", "lt" -> number
    limit: str  # the name of the limit of this installation (`limits.LIMITS`) on the value, or ""
    # the values of a field that allows only these, each with a description; empty for other fields
    choices: Mapping[str, str]
    when: tuple[Condition, ...]  # the field has an effect if all conditions are met
    by: str  # the field on which the default depends, or ""
    derived: bool  # whether the field follows from other fields, so users don't set it

    def default_in(self, values: Mapping[str, Any]) -> Any:
        """Return the default in a record with these values."""
        return _default_by(self.default, values.get(self.by)) if self.by else self.default

    @property
    def defaults(self) -> tuple[Any, ...]:
        """Return the values of the field in records that do not set it."""
        return tuple(self.default.values()) if self.by else (self.default,)

    @property
    def largest(self) -> int | None:
        """Return the largest value that this installation allows; None if there is no limit."""
        return limits.most(self.limit) if self.limit else None

    @property
    def range(self) -> str:
        """Write a sentence with the bounds of the field's value, if any, and its default.

        >>> class Rest(Record):
        ...     share: float = option(0.5, title="share", help="Of a day.", ge=0, lt=1)
        >>> options_of(Rest)["share"].range
        'From 0 to below 1, by default 0.5.'
        """
        bounds = self.bounds
        parts = []
        if "ge" in bounds:
            parts.append(f"from {bounds['ge']:,}")
        elif "gt" in bounds:
            parts.append(f"above {bounds['gt']:,}")
        if bounds.get("le", UNBOUNDED) < UNBOUNDED:
            parts.append(f"to {bounds['le']:,}")
        if bounds.get("lt", UNBOUNDED) < UNBOUNDED:
            parts.append(f"to below {bounds['lt']:,}")
        default = f"by default {self._default_text()}" if self.default != "" else ""
        text = ", ".join(filter(None, (" ".join(parts), default)))
        return f"{text[:1].upper()}{text[1:]}." if text else ""

    def _default_text(self) -> str:
        if self.by:
            return " or ".join(f"{value:,} ({name})" for name, value in self.default.items())
        if isinstance(self.default, tuple):
            return ",".join(map(str, self.default))
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        return f"{self.default:,}" if isinstance(self.default, int) else str(self.default)


def _default_by(defaults: Mapping[Any, Any], value: Any) -> Any:
    return defaults.get(value, next(iter(defaults.values())))


def option(
    default: Any,
    *,
    title: str,
    help: str,
    limit: str = "",
    choices: Mapping[str, str] | Sequence[str] = (),
    when: Condition | Sequence[Condition] = (),
    by: str = "",
    derived: bool = False,
    **bounds: Unpack[Bounds],
) -> Any:
    """Declare a field of a record. See `Option` for the parameters; the value of a field with a
    limit is at most the limit's `limits.ceiling`.

    >>> class Walk(Record):
    ...     gait: str = option("walk", title="gait", help="How.", choices=("walk", "run"))
    ...     breaks: int = option(0, title="breaks", help="Rests.", ge=0, when={"gait": ("run",)})
    >>> Walk(gait="run", breaks=2), Walk(gait="run", breaks=2).changed(gait="walk")
    (Walk(gait='run', breaks=2), Walk(gait='walk'))
    >>> Walk(breaks=2)
    Traceback (most recent call last):
    nlwfa_core.records.NoEffect: breaks has no effect with gait walk; it needs gait run
    """
    if limit:
        bounds["le"] = limits.ceiling(limit)
    texts = dict(choices) if isinstance(choices, Mapping) else dict.fromkeys(choices, "")
    conditions = [when] if isinstance(when, Mapping) else list(when)
    facts: dict[str, Any] = {
        "limit": limit,
        "choices": texts,
        "when": [{name: list(values) for name, values in each.items()} for each in conditions],
        "by": by,
        "derived": derived,
    }
    text: dict[str, Any] = {"title": title, "description": help, "json_schema_extra": facts}
    if by:
        facts["defaults"] = default
        return Field(
            default_factory=lambda data: _default_by(default, data.get(by)), **text, **bounds
        )
    return Field(default=default, **text, **bounds)


@cache
def options_of(kind: type[Record]) -> Mapping[str, Option]:
    """List the fields of a record that `option` declares: name -> Option."""
    return {
        name: _option_of(name, info)
        for name, info in kind.model_fields.items()
        if isinstance(info.json_schema_extra, dict)
    }


@cache
def _conditions(kind: type[Record]) -> Mapping[str, tuple[Condition, ...]]:
    """List the fields that don't always have an effect: name -> conditions."""
    return {name: entry.when for name, entry in options_of(kind).items() if entry.when}


def _option_of(name: str, info: FieldInfo) -> Option:
    facts = cast(dict[str, Any], info.json_schema_extra)
    return Option(
        name,
        info.title or name,
        info.description or "",
        info.annotation,
        facts.get("defaults", info.default),
        {
            bound: getattr(entry, bound)
            for entry in info.metadata
            for bound in BOUNDS
            if hasattr(entry, bound)
        },
        facts["limit"],
        facts["choices"],
        tuple(facts["when"]),
        facts["by"],
        facts["derived"],
    )


class NoEffect(FieldError):
    """A field was set that has no effect with the values of other fields.

    `setting`: the fields on which this depends, with their values. `needs`: fields with lists of
    values; one of the fields must have a listed value. Empty if no value would help.
    """

    def __init__(
        self, field: str, setting: Mapping[str, Any], needs: Mapping[str, Sequence[Any]]
    ) -> None:
        super().__init__(no_effect_message(field, setting, needs), field)
        self.setting = setting
        self.needs = needs


def no_effect_message(
    field: str,
    setting: Mapping[str, Any],
    needs: Mapping[str, Sequence[Any]],
    between: str = ", ",
) -> str:
    """Write the message of `NoEffect`, with the text `between` between fields.

    >>> no_effect_message("--ridge", {"--learner": "fac.non"}, {"--learner": ["SP"]})
    '--ridge has no effect with --learner fac.non; it needs --learner SP'
    """
    present = between.join(f"{name} {value}" for name, value in setting.items())
    needed = ", or ".join(
        f"{name} {alternatives([str(value) or 'empty' for value in values])}"
        for name, values in needs.items()
    )
    return f"{field} has no effect with {present}" + (f"; it needs {needed}" if needed else "")


class Record(BaseModel):
    """A frozen, validated value. Unknown fields are refused, and a field without effect can't be
    set.

    Fields without effect have their defaults.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False
    )

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise type(self).error_of(error) from None

    @model_validator(mode="before")
    @classmethod
    def _check_numbers(cls, content: Any) -> Any:
        """Refuse true and false where a number is meant, because pydantic would convert them. Write
        −0 as 0: they are equal, so records with them must have the same key.
        """
        if not isinstance(content, dict):
            return content
        for name, value in content.items():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field is not None and field.annotation in (int, float):
                raise FieldError(f"{name} must be a number; got {value}", name)
        return {
            name: value + 0.0 if isinstance(value, float) else value
            for name, value in content.items()
        }

    @model_validator(mode="after")
    def _check(self) -> Self:
        declared = options_of(type(self))
        for name, entry in declared.items():
            if entry.choices and name in self.model_fields_set:
                value = getattr(self, name)
                if value not in entry.choices:
                    allowed = ", ".join(entry.choices)
                    raise FieldError(f"{name} must be one of {allowed}; got {value!r}", name)
        absent = self._absent
        if not absent.isdisjoint(self.model_fields_set):
            name = next(name for name in declared if name in absent & self.model_fields_set)
            raise NoEffect(name, self.setting(name), self.needs(name))
        return self

    @model_serializer(mode="wrap")
    def _serialise(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        absent = self._absent
        return {name: value for name, value in handler(self).items() if name not in absent}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy the record with other values for some fields, which are not checked."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("_absent", "_changes", "_key"):
            copied.__dict__.pop(name, None)
        return copied

    def __repr_args__(self) -> Iterable[tuple[str, Any]]:
        return self.fields().items()

    def has(self, name: str) -> bool:
        """Return whether a field exists, and has an effect in this record."""
        return name in type(self).model_fields and not self._unmet(name)

    def _unmet(self, name: str) -> Condition:
        """Return the first condition of a field that is not met, or an empty one."""
        for condition in _conditions(type(self)).get(name, ()):
            for other, values in condition.items():
                if getattr(self, other) in values:
                    break
            else:
                return condition
        return {}

    @cached_property
    def _absent(self) -> Set[str]:
        """The fields that have no effect in this record."""
        return {name for name in _conditions(type(self)) if self._unmet(name)}

    def needs(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return what would have to change for a field to have an effect: other fields with lists
        of values, as in `NoEffect`. Empty if the field has an effect, or can't have one.

        If those fields have no effect themselves, return what would have to change for them to have
        one.
        """
        needed = {
            other: values
            for other, values in self._unmet(name).items()
            if other in type(self).model_fields
        }
        effective = {other: values for other, values in needed.items() if self.has(other)}
        return self.needs(next(iter(needed))) if needed and not effective else effective

    def setting(self, name: str) -> Mapping[str, Any]:
        """Return the fields because of which a field has no effect, with their values."""
        return {other: getattr(self, other) for other in self.needs(name)}

    def fields(self) -> dict[str, Any]:
        """List the fields that have an effect: name -> value."""
        absent = self._absent
        return {name: getattr(self, name) for name in type(self).model_fields if name not in absent}

    def changes(self) -> dict[str, Any]:
        """List the fields that are not at their defaults: name -> value."""
        return dict(self._changes)

    @cached_property
    def _changes(self) -> Mapping[str, Any]:
        values = self.fields()
        declared = options_of(type(self))
        return {
            name: value
            for name, value in values.items()
            if value
            != (
                declared[name].default_in(values)
                if name in declared
                else type(self).model_fields[name].default
            )
        }

    def changed(self, **fields: Any) -> Self:
        """Copy the record with other values for some fields.

        Other fields keep their values, unless they no longer have an effect, or had a default that
        is now different. Raises RecipeError if the new values are not valid.
        """
        return type(self).adapted(self.changes(), **fields)

    @classmethod
    def adapted(cls, values: Mapping[str, Any], **fields: Any) -> Self:
        """Make a record from `fields` and from the `values` that have an effect with them."""
        kept = {
            name: value
            for name, value in values.items()
            if name in cls.model_fields and name not in fields
        }
        # Without one field, another may have no effect, so this is repeated.
        while kept:
            draft = cls.model_construct(**kept, **fields)
            without_effect = draft._absent & kept.keys()
            if not without_effect:
                break
            for name in without_effect:
                del kept[name]
        return cls(**kept, **fields)

    def check_limits(self) -> None:
        """Raise RecipeError if a field is above its limit."""
        declared = options_of(type(self))
        for name, value in self.fields().items():
            if name in declared and (largest := declared[name].largest) is not None:
                limits.check_at_most(name, value, largest)

    def key(self) -> str:
        """Compute a name of 64 hexadecimal digits from the record's content.

        The key is computed only once.
        """
        return self._key

    @cached_property
    def _key(self) -> str:
        content = [GENERATION, type(self).__name__, self.model_dump(mode="json")]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @classmethod
    def error_of(cls, error: ValidationError) -> RecipeError:
        """Describe what is wrong with the first invalid field: its name, what is allowed, and its
        value.
        """
        first = error.errors()[0]
        kind = first["type"]
        context = first.get("ctx", {})
        path = [str(part) for part in first["loc"]]
        if kind == "value_error":
            return _within(path, context["error"])
        field = ".".join(path) or "the recipe"
        if kind == "extra_forbidden":
            return cls.unknown_field(field)
        return FieldError(f"{field} must {_allowed(first)}; got {repr(first['input'])[:60]}", field)

    @classmethod
    def unknown_field(cls, name: str) -> RecipeError:
        """Make the error for a field that the record does not have."""
        names = cls.model_fields
        advice = did_you_mean(name, names) or f"; the fields are {', '.join(names)}"
        return RecipeError(f"unknown field {name!r}{advice}")

    @classmethod
    def class_of(cls, content: Mapping[str, Any]) -> type[Record]:
        """Return the class of the record that JSON describes: this class or one derived from it."""
        return cls


def _within(path: Sequence[str], error: Exception) -> RecipeError:
    """Turn a validator's error into one of ours. If it names a field of a part, ours also names the
    part.
    """
    message = str(error)
    if isinstance(error, FieldError):
        parts = path[:-1] if path and path[-1] == error.field else path
        prefix = "".join(f"{part}." for part in parts)
        if isinstance(error, NoEffect) and not prefix:
            return error
        return FieldError(f"{prefix}{message}", f"{prefix}{error.field}")
    return RecipeError(message)


def _allowed(error: Mapping[str, Any]) -> str:
    """Describe what a field must be, from one of pydantic's errors."""
    kind = error["type"]
    context = error.get("ctx", {})
    if kind == "json_invalid":
        return f"be valid JSON ({context['error']})"
    if kind == "literal_error":
        return f"be {context['expected']}"
    bounds = [
        f"{words} {format_exact(context[name])}"
        for name, words in BOUNDS.items()
        if name in context
    ]
    if bounds:
        return f"be {bounds[0]}"
    if kind == "tuple_type":
        return "be a list"
    if kind.startswith("int_"):
        return "be a whole number"
    # such as "Input should be a valid number, unable to parse string as a number"
    message: str = error["msg"]
    return message.partition(" should ")[2].partition(", ")[0]


def check_json_types(kind: type[Record], content: Any, owner: str = "") -> None:
    """Raise RecipeError if JSON has another type where a record has a number, or true or
    false, because pydantic would convert "1".

    `owner` is the text before a field's name in the message, such as "base.learning.".
    """
    if not isinstance(content, dict):
        return
    kind = kind.class_of(content)
    for name in kind.model_fields.keys() & content.keys():
        annotation = kind.model_fields[name].annotation
        value = content[name]
        if isinstance(annotation, type) and issubclass(annotation, Record):
            check_json_types(annotation, value, f"{owner}{name}.")
        elif annotation is bool and not isinstance(value, bool):
            raise FieldError(
                f"{owner}{name} must be true or false; got {repr(value)[:60]}", f"{owner}{name}"
            )
        elif _innermost(annotation) <= {int, float} and (
            isinstance(value, list) or get_origin(annotation) is not tuple
        ):
            for entry in value if isinstance(value, list) else [value]:
                if isinstance(entry, str | bool):
                    raise FieldError(
                        f"{owner}{name} must be a number; got {repr(entry)[:60]}", f"{owner}{name}"
                    )


def _innermost(annotation: Any) -> set[Any]:
    """Return the classes that an annotation of a value, or of a tuple's entries, consists of."""
    parts = [part for part in get_args(annotation) if isinstance(part, type) or get_args(part)]
    return set().union(*map(_innermost, parts)) if parts else {annotation}
