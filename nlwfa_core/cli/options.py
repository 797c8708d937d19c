"""Make options of commands from the fields of a recipe: each option has the type, default and
bounds of its field.

The help of an option is that of its field in `fields.HELP`. A command takes all these options as
one parameter, `field_values`: name of the field -> value. It contains only the options that were
entered, so that the command can refuse those without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer
from pydantic.fields import FieldInfo

from ..errors import FieldError, RecipeError, alternatives
from ..experiment.presets import converged
from ..experiment.recipe import FIELDS, HELP, PARTS, Condition, Recipe, flat
from .terminal import Output

# Python's name of an option -> the names of the fields that it sets (as in `experiment.recipe`).
Options = Mapping[str, tuple[str, ...]]
MATRIX: Options = {"prefixes": ("num_prefixes",), "suffixes": ("num_suffixes",)}
NETWORKS: Options = {
    name: (name,)
    for name in (
        "hidden",
        "width_transitions",
        "epochs_factorisation",
        "epochs_transitions",
        "rate_factorisation",
        "rate_transitions",
        "schedule",
        "start",
    )
} | {"optimizer": ("optimizer",), "tolerance": ("tolerance",)}
LEARNING: Options = {
    **MATRIX,
    "basis": ("basis",),
    "statistic": ("statistic",),
    "transform": ("transform",),
    "seed": ("learning_seed", "refinement_seed"),
    **NETWORKS,
    "optimizer": ("optimizer", "optimizer_refinement"),
    "tolerance": ("tolerance", "tolerance_refinement"),
    "starts": ("starts",),
    "em_start": ("em_start",),
    "pseudo_count": ("pseudo_count",),
    "refine": ("refine",),
    **{
        name: (name,)
        for name in (
            "epochs_refinement",
            "rate_refinement",
            "batch",
            "weight_decay",
            "dropout",
            "restarts",
        )
    },
}
UNBOUNDED = 2**31  # the help does not mention upper bounds from here on
DEFAULTS = flat(converged())

Command = Callable[..., Output]


def takes_fields(options: Options) -> Callable[[Command], Command]:
    """Decorate a command so that it has these options in place of its parameter `field_values`."""

    def with_options(command: Command) -> Command:
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
                return command(**values, field_values=field_values)
            except FieldError as error:
                named = (
                    name
                    for name, own in options.items()
                    if any(FIELDS[field][1] == error.field for field in own)
                )
                name = next((typed(name) for name in named), error.field)
                raise RecipeError(name + str(error).removeprefix(error.field)) from None

        hints = {
            name: hint
            for name, hint in get_type_hints(command, include_extras=True).items()
            if name != "field_values"
        }
        own = [
            parameter
            for name, parameter in signature(command).parameters.items()
            if name != "field_values"
        ]
        made = {name: _annotation(fields[0]) for name, fields in options.items()}
        command_with_options.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
                for parameter in own
            ]
            + [
                Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=made[name])
                for name in options
            ]
        )
        command_with_options.__annotations__ = hints | made
        return command_with_options

    return with_options


def _annotation(field: str) -> Any:
    """Make the annotation by which typer reads a field's option: None if the option is not entered;
    the help has the default.
    """
    part, name = FIELDS[field]
    info = PARTS[part].model_fields[name]
    kind = str if field == "hidden" else info.annotation
    option = typer.Option(help=f"{HELP[field]} {_range(info, DEFAULTS[field])}")
    return Annotated[kind | None, option]  # type: ignore[operator]


def _range(info: FieldInfo, default: object) -> str:
    """Write a sentence with the bounds of a field's value, if it has any, and its default.

    >>> from nlwfa_core.experiment.recipe import RefinementRecipe
    >>> fields = RefinementRecipe.model_fields
    >>> _range(fields["dropout"], 0.0), _range(fields["rate"], 0.01), _range(fields["restarts"], 0)
    ('From 0 to below 1, by default 0.0.', 'Above 0, by default 0.01.', 'From 0 to 100, by default 0.')
    """  # noqa: E501
    bounds = {
        name: getattr(entry, name)
        for entry in info.metadata
        for name in ("ge", "gt", "le", "lt")
        if hasattr(entry, name)
    }
    parts = (
        [f"from {bounds['ge']:,}"]
        if "ge" in bounds
        else [f"above {bounds['gt']:,}"]
        if "gt" in bounds
        else []
    )
    parts += [f"to {bounds['le']:,}"] if bounds.get("le", UNBOUNDED) < UNBOUNDED else []
    parts += [f"to below {bounds['lt']:,}"] if bounds.get("lt", UNBOUNDED) < UNBOUNDED else []
    text = ", ".join(filter(None, (" ".join(parts), f"by default {default}")))
    return f"{text[0].upper()}{text[1:]}."


def option_names(options: Options, fields: Collection[str]) -> list[str]:
    """List the options that set some fields, as they are typed on the command line.

    >>> option_names(LEARNING, {"num_prefixes", "learning_seed"})
    ['--prefixes', '--seed']
    """
    return [typed(name) for name, own in options.items() if not set(own).isdisjoint(fields)]


def no_effect(option: str, setting: str, need: str) -> RecipeError:
    """Make the error for an option that was entered but has no effect together with the other
    options.

    >>> print(no_effect("--ridge", "--learner fac.non", "--learner SP"))
    --ridge has no effect with --learner fac.non; it needs --learner SP
    """
    return RecipeError(f"{option} has no effect with {setting}; it needs {need}")


def check_effects(
    options: Options,
    field_values: Mapping[str, Any],
    recipe: Recipe,
    unmet: Mapping[str, Condition],
) -> None:
    """Raise RecipeError if an option was entered that has no effect.

    Parameters
    ----------
    options : mapping
        The options of the command.
    field_values : mapping
        Name of a field -> value, for the options that were entered.
    recipe : Recipe
        The recipe with these values.
    unmet : mapping
        Name of a field without effect -> the condition under which it would have one
        (`fields.unmet_conditions`).
    """
    current = flat(recipe)
    for name, own in options.items():
        if field_values.keys() & set(own) and all(field in unmet for field in own):
            conditions = dict.fromkeys(unmet[field] for field in own)
            fields = dict.fromkeys(["learner", *(field for field, _ in conditions)])
            setting = " ".join(f"{_option_of(options, field)} {current[field]}" for field in fields)
            need = ", or ".join(
                f"{_option_of(options, field)} {alternatives(values)}"
                for field, values in conditions
            )
            raise no_effect(typed(name), setting, need)


def _option_of(options: Options, field: str) -> str:
    return typed(next((name for name, own in options.items() if field in own), field))


def typed(name: str) -> str:
    """Write an option as it is typed on the command line: "--" and its name."""
    return f"--{name.replace('_', '-')}"
