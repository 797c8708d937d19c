"""Make options of commands from the fields of records: each option has the type, default, bounds
and help of its field.

A command takes the options of a recipe as one parameter, `field_values`: name of the field ->
value. It contains only the options that were entered, so the command can refuse those without
effect. Another parameter, `reading`, determines how files of strings are read.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, get_type_hints

import typer

from ..errors import FieldError, RecipeError
from ..experiment.recipe import FIELDS, OPTIONS, Recipe, flat, needs
from ..records import NoEffect, Option, no_effect_message, options_of
from ..sources.reading import AUTO, Reading
from .terminal import Output

# Python's name of an option -> the flat names of the fields that it sets.
Options = Mapping[str, tuple[str, ...]]
# Options that are shorter than the name of their field, or set several fields.
SHORT = {
    "num_prefixes": "prefixes",
    "num_suffixes": "suffixes",
    "learning_seed": "seed",
    "refinement_seed": "seed",
    "optimizer_refinement": "optimizer",
    "tolerance_refinement": "tolerance",
}


def _options_of(*parts: str) -> Options:
    """Return the options that set the fields of some parts of a recipe, except learner and rank."""
    by_option: dict[str, tuple[str, ...]] = {}
    for field, (part, _) in FIELDS.items():
        if part in parts and field not in ("learner", "rank"):
            name = SHORT.get(field, field)
            by_option[name] = (*by_option.get(name, ()), field)
    return by_option


LEARNING = _options_of("hankel", "learning")

Command = Callable[..., Output]


def takes_fields(
    options: Options, declared: Mapping[str, Option] = OPTIONS
) -> Callable[[Command], Command]:
    """Decorate a command so that it has these options in place of its parameter `field_values`.

    `declared`: the declaration of each field.
    """
    return lambda command: _with_options(command, "field_values", options, declared, dict)


def takes_reading(command: Command) -> Command:
    """Decorate a command so that it has the options of `Reading` in place of its parameter
    `reading`.
    """
    declared = options_of(Reading)
    return _with_options(
        command,
        "reading",
        {name: (name,) for name in declared},
        declared,
        lambda field_values: Reading(**field_values),
    )


def _with_options(
    command: Command,
    parameter: str,
    options: Options,
    declared: Mapping[str, Option],
    make: Callable[[dict[str, Any]], Any],
) -> Command:
    """Give a command options in place of a parameter, which is made from the entered values."""

    @wraps(command)
    def command_with_options(**values: Any) -> Output:
        entered = {name: values.pop(name) for name in options}
        field_values = {
            field: value
            for name, value in entered.items()
            if value is not None
            for field in options[name]
        }
        try:
            return command(**values, **{parameter: make(field_values)})
        except NoEffect as error:
            if error.field not in {field for fields in options.values() for field in fields}:
                raise
            message = no_effect_message(
                _option_of(options, error.field),
                {_option_of(options, name): value for name, value in error.setting.items()},
                {_option_of(options, name): values for name, values in error.needs.items()},
                between=" ",
            )
            if error.setting.get("format") == AUTO and "csv" in error.needs["format"]:
                option = _option_of(options, error.field)
                value = shlex.quote(str(field_values[error.field]))
                message += f"; for a table, write --format csv {option} {value}"
            raise RecipeError(message) from None
        except FieldError as error:
            named = (
                name
                for name, fields in options.items()
                if any(FIELDS.get(field, ("", field))[1] == error.field for field in fields)
            )
            name = next((typed(name) for name in named), "")
            if not name:
                raise
            raise RecipeError(name + str(error).removeprefix(error.field)) from None

    hints = {
        name: hint
        for name, hint in get_type_hints(command, include_extras=True).items()
        if name != parameter
    }
    parameters = [own for name, own in signature(command).parameters.items() if name != parameter]
    made = {name: _annotation(declared[fields[0]]) for name, fields in options.items()}
    command_with_options.__signature__ = Signature(  # type: ignore[attr-defined]
        [own.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[own.name]) for own in parameters]
        + [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=made[name])
            for name in options
        ]
    )
    command_with_options.__annotations__ = hints | made
    return command_with_options


def _annotation(entry: Option) -> Any:
    """Make the annotation by which typer reads a field's option: the value is None if the option is
    not entered; the help states the default.
    """
    kind: Any = entry.kind
    if entry.name in options_of(Reading) and kind is not int:
        kind = str  # its record names what is allowed; a separator may also be typed as it is
    elif entry.choices:
        kind = Literal[tuple(entry.choices)]
    elif not isinstance(kind, type):  # several numbers, such as 2,1,2
        kind = str
    help = f"{entry.help} {entry.range}".strip()
    if kind is str and entry.choices:
        help = f"{entry.help.removesuffix('.')}: {', '.join(entry.choices)}. {entry.range}"
    return Annotated[kind | None, typer.Option(help=help)]


def option_names(options: Options, names: Collection[str]) -> list[str]:
    """List the options that set some fields, as they are typed on the command line.

    >>> option_names(LEARNING, {"num_prefixes", "learning_seed"})
    ['--prefixes', '--seed']
    """
    return [typed(name) for name, fields in options.items() if not set(fields).isdisjoint(names)]


def no_effect(option: str, setting: str, need: str) -> RecipeError:
    """Make the error for an option that was entered but has no effect together with the other
    options.

    >>> print(no_effect("--table", "--json", "--against"))
    --table has no effect with --json; it needs --against
    """
    return RecipeError(f"{option} has no effect with {setting}; it needs {need}")


def check_effects(options: Options, field_values: Mapping[str, Any], recipe: Recipe) -> None:
    """Raise RecipeError if an option was entered that has no effect.

    `options`: the options of the command. `field_values`: name of a field -> value, for the options
    that were entered. `recipe`: the recipe with these values.
    """
    current = flat(recipe)
    for name, fields in options.items():
        if set(fields).isdisjoint(field_values) or not set(fields).isdisjoint(current):
            continue
        needed: dict[str, Any] = {}
        for field in fields:
            for other, values in needs(recipe, field).items():
                needed.setdefault(_option_of(options, other), values)
        by_option = {_option_of(options, other): value for other, value in current.items()}
        setting = {other: by_option[other] for other in ("--learner", *needed)}
        raise RecipeError(no_effect_message(typed(name), setting, needed, between=" "))


def _option_of(options: Options, field: str) -> str:
    return typed(next((name for name, fields in options.items() if field in fields), field))


def typed(name: str) -> str:
    """Write an option as it is typed on the command line: "--" and its name."""
    return f"--{name.replace('_', '-')}"
