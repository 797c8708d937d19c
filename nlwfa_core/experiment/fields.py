"""A recipe's fields under one flat set of names: those of the lab's controls, of links and of lessons.

Fields that several parts of a recipe call alike have names of their own here. `bounded` is missing: it follows from the others.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

from .. import limits
from ..errors import RecipeError
from ..learning.names import needs_boundary
from .recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe, Record, RefinementRecipe

# Flat name -> (part, the part's own name), where they differ.
RENAMED = {
    "data_seed": ("data", "seed"),
    "learning_seed": ("learning", "seed"),
    "refine": ("refinement", "objective"),
    "epochs_refinement": ("refinement", "epochs"),
    "rate_refinement": ("refinement", "rate"),
    "refinement_seed": ("refinement", "seed"),
}
PARTS: dict[str, type[Record]] = {
    "data": DataRecipe,
    "hankel": HankelRecipe,
    "learning": LearningRecipe,
    "refinement": RefinementRecipe,
}
# Flat name -> (part, the part's own name), for all.
FIELDS = {
    name: (part, name)
    for part, record in PARTS.items()
    for name in record.model_fields
    if name != "bounded" and (part, name) not in RENAMED.values()
} | RENAMED

# Flat name -> the limit that it is under.
LIMITED = {
    **dict.fromkeys(("num_strings", "num_validation", "num_test"), "generated_strings"),
    **dict.fromkeys(("num_prefixes", "num_suffixes"), "basis"),
    "rank": "rank",
    **dict.fromkeys(("epochs_factorisation", "epochs_transitions", "epochs_refinement"), "epochs"),
}

MAX_LINK = 2_000  # characters
MAX_TEXT = 20_000  # bytes of JSON behind it: a small text must not unpack to a large one


def flat(recipe: Recipe) -> dict[str, Any]:
    """Flat name -> value. The hidden layers are text, as "2,1,2".

    >>> flat(Recipe())["data_seed"], flat(Recipe())["hidden"]
    (0, '2,1,2')
    """
    values = {name: getattr(getattr(recipe, part), own) for name, (part, own) in FIELDS.items()}
    return values | {"hidden": ",".join(map(str, values["hidden"]))}


def with_fields(recipe: Recipe, fields: Mapping[str, Any]) -> Recipe:
    """A recipe with other values, given under flat names; text is read as what the field holds.

    >>> with_fields(Recipe(), {"rank": "3", "learner": "both.non"}).learning.rank
    3

    Raises
    ------
    RecipeError
        If there is no such field, or it can't have that value.
    """
    if unknown := [name for name in fields if name not in FIELDS]:
        raise RecipeError(f"{unknown[0]!r} is no field of a recipe; there are {', '.join(sorted(FIELDS))}")
    given: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, value in fields.items():
        part, own = FIELDS[name]
        given[part][own] = _layers(value) if name == "hidden" and isinstance(value, str) else value
    learning = recipe.learning.changed(**given["learning"])
    hankel = {**dict(recipe.hankel), **given["hankel"]}
    if learning.kind.needs_hankel:
        hankel["bounded"] = needs_boundary(learning.learner, hankel["statistic"], hankel["transform"])
    return recipe.changed(
        data=recipe.data.changed(**given["data"]),
        hankel=HankelRecipe(**hankel),
        learning=learning,
        refinement=recipe.refinement.changed(**given["refinement"]),
    )


def lowered(fields: Mapping[str, Any]) -> dict[str, int]:
    """Flat name -> the most that may be asked for here, of those that ask for more."""
    return {name: most for name, limit in LIMITED.items() if fields[name] > (most := limits.IN_FORCE[limit])}


def beyond(recipe: Recipe) -> dict[str, int]:
    """The same of fields that mean something in a recipe."""
    learning, values = recipe.learning, flat(recipe)
    if not learning.kind.networks:
        values |= {"epochs_factorisation": 0, "epochs_transitions": 0}
    if not learning.kind.needs_hankel or recipe.refinement.objective == "none":
        values["epochs_refinement"] = 0
    if not learning.kind.needs_hankel:
        values |= {"num_prefixes": 0, "num_suffixes": 0}
    return lowered(values)


def check_allowed(recipe: Recipe) -> None:
    """Raise RecipeError if a recipe asks for more than is allowed here."""
    for name, most in beyond(recipe).items():
        limits.check_at_most(name, flat(recipe)[name], most)


def differences(before: Recipe, after: Recipe) -> dict[str, tuple[Any, Any]]:
    """Flat name -> the values of two recipes, where they differ."""
    old, new = flat(before), flat(after)
    return {name: (old[name], new[name]) for name in old if old[name] != new[name]}


def recipe_code(recipe: Recipe) -> str:
    """
    >>> recipe_of(recipe_code(Recipe())) == Recipe()
    True
    """
    text = json.dumps(recipe.model_dump(mode="json", exclude_defaults=True), separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def recipe_of(code: str) -> Recipe:
    """The inverse of `recipe_code`. Raises RecipeError for anything else."""
    if len(code) > MAX_LINK:
        raise RecipeError(f"A recipe in a link has at most {MAX_LINK:,} characters; this one has {len(code):,}.")
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
        text = zlib.decompressobj().decompress(packed, MAX_TEXT + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise RecipeError("This link does not hold a recipe: it was cut short or changed on the way.") from None
    if len(text) > MAX_TEXT:
        raise RecipeError(f"The recipe in this link is larger than {MAX_TEXT:,} bytes.")
    return Recipe.from_json(text.decode(errors="replace"))


def _layers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise RecipeError(f"hidden: {text!r} given, whole numbers with commas between needed, as 2,1,2") from None
