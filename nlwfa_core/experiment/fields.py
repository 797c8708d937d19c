"""A recipe's fields under flat names, which controls, command-line options and lessons use, and as the short text of a link.

A field name that occurs in several parts of a recipe, such as `seed`, has a different flat name for each part. `bounded` has none,
because it follows from other fields.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from .. import limits
from ..errors import RecipeError
from ..hankel.names import STATISTICS, TRANSFORMS
from ..learning.names import (
    EM_LEARNERS,
    EM_STARTS,
    FEW_STATES,
    HANKEL_LEARNERS,
    LEARNERS,
    NETWORK_LEARNERS,
    PSEUDO_COUNT_LEARNERS,
    REFINEMENTS,
    STARTS,
    STARTS_OF_FEW_STATES,
    STEP_OPTIMIZERS,
    WINDOW,
    needs_boundary,
)
from .recipe import ADAMAX_ONLY, DataRecipe, HankelRecipe, LearningRecipe, Recipe, Record, RefinementRecipe

# Flat name -> (part, name in that part), for names that differ.
RENAMED = {
    "data_seed": ("data", "seed"),
    "learning_seed": ("learning", "seed"),
    "refine": ("refinement", "objective"),
    "optimizer_refinement": ("refinement", "optimizer"),
    "tolerance_refinement": ("refinement", "tolerance"),
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
# Flat name -> (part, name in that part), for all fields.
FIELDS = {
    name: (part, name)
    for part, record in PARTS.items()
    for name in record.model_fields
    if name != "bounded" and (part, name) not in RENAMED.values()
} | RENAMED
FLAT_NAMES = {own: name for name, own in FIELDS.items()}

# Flat name -> one line of help.
HELP = {
    "source": "Where the strings come from.",
    "num_strings": "How many strings to draw, or to learn from at most.",
    "num_validation": "How many strings to hold back for choices, such as a rank or an epoch; with 0, training gets these, too.",
    "num_test": "How many strings to hold back for scores.",
    "data_seed": "Equal seeds draw and split equal strings.",
    "split_probability": "Probability of S → SS.",
    "wrap_probability": "Probability of S → [S]; S → [] has the rest.",
    "grammar": "Which of Tomita's languages.",
    "num_states": "States of the random automaton.",
    "num_symbols": "Symbols of its alphabet.",
    "upload": "Training strings: the SHA-256 of a file.",
    "upload_test": "Test strings: the SHA-256 of a file.",
    "upload_solution": "Probabilities of the test strings: the SHA-256 of a PAutomaC solution.",
    "upload_model": "The true model: the SHA-256 of a PAutomaC model.",
    "upload_prefixes": "Beginnings of strings, to be scored as SPiCe does: the SHA-256 of a file.",
    "upload_targets": "What followed each of these prefixes: the SHA-256 of a SPiCe target file.",
    "upload_format": "How to read the uploaded strings.",
    "num_prefixes": "The most frequent prefixes are the rows of the Hankel matrix.",
    "num_suffixes": "The most frequent suffixes are its columns.",
    "statistic": f"What the Hankel matrix counts: {', '.join(STATISTICS)}.",
    "transform": f"What is done to its entries: {', '.join(TRANSFORMS)}.",
    "learner": f"How to learn: {', '.join(LEARNERS)}.",
    "rank": "Number of states.",
    "hidden": "Hidden layers of the factorisation, in multiples of the rank.",
    "width_transitions": "Hidden units of the transitions, in multiples of the rank; 0: no hidden layer.",
    "epochs_factorisation": "Epochs of step 1 at most; the weights of the best one are kept.",
    "epochs_transitions": "Epochs of step 2 at most; the weights of the best one are kept.",
    "rate_factorisation": "Learning rate of step 1 (Adamax).",
    "rate_transitions": "Learning rate of step 2 (Adamax).",
    "schedule": "How the learning rates of steps 1 and 2 develop (Adamax).",
    "optimizer": f"How steps 1 and 2 are trained: {'; '.join(f'{name}: {text}' for name, text in STEP_OPTIMIZERS.items())}.",
    "start": f"Where steps 1 and 2 start: {'; '.join(f'{name}: {text}' for name, text in STARTS.items())}.",
    "starts": "Starts of steps 1 and 2, or of EM (PFA); validation strings, or else the rows of H or the likelihood, choose one. "
    f"0: {STARTS_OF_FEW_STATES} for networks up to rank {FEW_STATES} unless Adamax trains, else 1.",
    "tolerance": f"L-BFGS stops when {WINDOW} epochs lowered the loss by less than this share.",
    "learning_seed": "Equal seeds give equal models.",
    "em_start": f"Where EM of a PFA starts: {'; '.join(f'{name}: {text}' for name, text in EM_STARTS.items())}.",
    "pseudo_count": "PFA and PDFA: a number added to the (expected) count of each symbol, and of the end, in each state.",
    "refine": f"A third step that trains all parameters together: {', '.join(REFINEMENTS)}.",
    "optimizer_refinement": "How step 3 is trained on the rows of H: adamax or lbfgs.",
    "tolerance_refinement": f"L-BFGS stops when {WINDOW} epochs lowered the loss of step 3 by less than this share.",
    "epochs_refinement": "Epochs of step 3 at most; the weights of the best one are kept.",
    "rate_refinement": "Learning rate of step 3 (Adamax, or by likelihood).",
    "batch": "Strings in a step of the refinement by likelihood.",
    "weight_decay": "Weight decay (AdamW) of the refinement by likelihood.",
    "dropout": "Share of the states' entries left out in a step of the refinement by likelihood.",
    "restarts": "Random starts of the refinement by likelihood, beside the model of the two steps.",
    "refinement_seed": "Equal seeds refine equal models alike.",
}

# Flat name -> name of the limit on its value.
LIMITED = {
    **dict.fromkeys(("num_strings", "num_validation", "num_test"), "generated_strings"),
    **dict.fromkeys(("num_prefixes", "num_suffixes"), "basis"),
    "rank": "rank",
    **dict.fromkeys(("epochs_factorisation", "epochs_transitions", "epochs_refinement"), "epochs"),
}

# A number, or first-last, or first-last:step.
RANGE = re.compile(r"([0-9]{1,18})(?:\s*-\s*([0-9]{1,18})(?:\s*:\s*([0-9]{1,18}))?)?")
MAX_LINK = 2_000  # characters
MAX_TEXT = 20_000  # bytes of JSON in a link: a short text must not unpack to a long one


def flat(recipe: Recipe) -> dict[str, Any]:
    """List a recipe's fields: flat name -> value. The hidden layers are text, such as "2,1,2".

    >>> flat(Recipe())["data_seed"], flat(Recipe())["hidden"]
    (0, '2,1,2')
    """
    values = {name: getattr(getattr(recipe, part), own) for name, (part, own) in FIELDS.items()}
    return values | {"hidden": ",".join(map(str, values["hidden"]))}


def with_fields(recipe: Recipe, fields: Mapping[str, Any]) -> Recipe:
    """Copy a recipe with other values for some fields, which are given by their flat names. Text is converted to the field's type.

    >>> with_fields(Recipe(), {"rank": "3", "learner": "both.non"}).learning.rank
    3

    Raises
    ------
    RecipeError
        If there is no such field, or the value is not allowed.
    """
    if unknown := [name for name in fields if name not in FIELDS]:
        raise RecipeError(f"{unknown[0]!r} is not a field of a recipe; the fields are {', '.join(sorted(FIELDS))}")
    by_part: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, value in fields.items():
        part, own = FIELDS[name]
        by_part[part][own] = whole_numbers(name, value) if name == "hidden" and isinstance(value, str) else value
    learning = recipe.learning.changed(**by_part["learning"])
    hankel = {**dict(recipe.hankel), **by_part["hankel"]}
    if learning.kind.needs_hankel:
        hankel["bounded"] = needs_boundary(learning.learner, hankel["statistic"], hankel["transform"])
    return recipe.changed(
        data=recipe.data.changed(**by_part["data"]),
        hankel=HankelRecipe(**hankel),
        learning=learning,
        refinement=recipe.refinement.changed(**by_part["refinement"]),
    )


# What a field needs to have an effect: the flat name of another field, and the values of which that one must have one.
Condition = tuple[str, tuple[str, ...]]
HANKEL_FIELDS = ("num_prefixes", "num_suffixes", "statistic", "transform", "refine")
NETWORK_FIELDS = (
    "hidden",
    "width_transitions",
    "epochs_factorisation",
    "epochs_transitions",
    "optimizer",
    "start",
    "tolerance",
    *ADAMAX_ONLY,
)
LIKELIHOOD_FIELDS = ("batch", "weight_decay", "dropout", "restarts")


def unmet_conditions(recipe: Recipe) -> dict[str, Condition]:
    """Find the fields that have no effect in a recipe, and what would have to change for each of them to have one.

    This depends on the learner and the refinement. Fields of the data are left out.

    Returns
    -------
    dict
        Flat name -> (another field, the values of that field with which this one has an effect).

    >>> unmet_conditions(Recipe())["dropout"], unmet_conditions(Recipe())["hidden"]
    (('refine', ('likelihood',)), ('learner', ('fac.non', 'tran.non', 'both.non')))
    """
    kind, unmet = recipe.learning.kind, dict[str, Condition]()
    objective = recipe.refinement.objective if kind.needs_hankel else "none"

    def need(fields: Iterable[str], name: str, *values: str) -> None:
        unmet.update({field: (name, values) for field in fields if field not in unmet})

    if not kind.needs_hankel:
        refinement = [FLAT_NAMES["refinement", own] for own in RefinementRecipe.model_fields]
        need((*HANKEL_FIELDS, *refinement), "learner", *HANKEL_LEARNERS)
    if not kind.em_options:
        need(["em_start"], "learner", *EM_LEARNERS)
    if not kind.pseudo_counts:
        need(["pseudo_count"], "learner", *PSEUDO_COUNT_LEARNERS)
    if not (kind.networks or kind.em_options):
        need(["starts"], "learner", *NETWORK_LEARNERS, *EM_LEARNERS)
    if not kind.networks:
        need(NETWORK_FIELDS, "learner", *NETWORK_LEARNERS)
    elif recipe.learning.optimizer == "adamax":
        need(["tolerance"], "optimizer", "lbfgs", "lm")
    else:
        need(ADAMAX_ONLY, "optimizer", "adamax")
        if not kind.nonlinear_factorisation:  # a linear step is solved exactly; refinement trains all layers, of any widths
            need(["epochs_factorisation", "start", *(["hidden"] if objective == "none" else [])], "optimizer", "adamax")
        if not kind.nonlinear_transitions:
            need(["width_transitions", "epochs_transitions"], "optimizer", "adamax")
    if not kind.is_random:
        need(["learning_seed"], "learner", *(name for name, learner in LEARNERS.items() if learner.is_random))
    if objective != "likelihood":
        need(LIKELIHOOD_FIELDS, "refine", "likelihood")
    elif not kind.networks and recipe.hankel.transform == "none":  # a WFA, whose states are not dropped
        need(["dropout"], "learner", *NETWORK_LEARNERS)
    if objective != "hankel":
        need(["optimizer_refinement", "tolerance_refinement"], "refine", "hankel")
    elif recipe.refinement.optimizer == "adamax":
        need(["tolerance_refinement"], "optimizer_refinement", "lbfgs")
    else:
        need(["rate_refinement"], "optimizer_refinement", "adamax")
    if objective == "none":
        need(["epochs_refinement", "rate_refinement", "refinement_seed"], "refine", "hankel", "likelihood")
    return unmet


def ignored_fields(recipe: Recipe) -> set[str]:
    """List the flat names of the fields that have no effect with the recipe's learner and refinement, leaving out the data.

    >>> sorted(ignored_fields(Recipe(learning=LearningRecipe(learner="GRU"))) - ignored_fields(Recipe()))
    ['num_prefixes', 'num_suffixes', 'refine', 'statistic', 'transform']
    """
    return set(unmet_conditions(recipe))


def clamped(fields: Mapping[str, Any]) -> dict[str, int]:
    """Find the fields that are above this installation's limits: flat name -> the largest value allowed."""
    return {name: most for name, limit in LIMITED.items() if fields[name] > (most := limits.IN_FORCE[limit])}


def over_limit(recipe: Recipe) -> dict[str, int]:
    """Find the fields that are above this installation's limits and have an effect: flat name -> the largest value allowed."""
    ignored = ignored_fields(recipe)
    if recipe.learning.kind.networks:  # both numbers of epochs are checked before training, even if a linear step needs none
        ignored -= {"epochs_factorisation", "epochs_transitions"}
    return clamped(flat(recipe) | dict.fromkeys(ignored, 0))


def check_allowed(recipe: Recipe) -> None:
    """Raise RecipeError if a field that has an effect is above its limit."""
    for name, most in over_limit(recipe).items():
        limits.check_at_most(name, flat(recipe)[name], most)


def differences(before: Recipe, after: Recipe) -> dict[str, tuple[Any, Any]]:
    """Compare two recipes: flat name -> (value before, value after), for each field that differs."""
    old, new = flat(before), flat(after)
    return {name: (old[name], new[name]) for name in old if old[name] != new[name]}


def recipe_code(recipe: Recipe) -> str:
    """Write a recipe as short text for the address of a page. It holds only the fields that are not at their defaults, compressed.

    >>> recipe_of(recipe_code(Recipe())) == Recipe()
    True
    """
    text = json.dumps(recipe.model_dump(mode="json", exclude_defaults=True), separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def recipe_of(code: str) -> Recipe:
    """Read the text of `recipe_code`. Raises RecipeError for any other text."""
    if len(code) > MAX_LINK:
        raise RecipeError(
            f"The recipe in this link is too long: it has {len(code):,} characters, and at most {MAX_LINK:,} are allowed."
        )
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
        text = zlib.decompressobj().decompress(packed, MAX_TEXT + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise RecipeError("This link does not contain a valid recipe: it was cut short or altered.") from None
    if len(text) > MAX_TEXT:
        raise RecipeError(f"The recipe in this link is larger than {MAX_TEXT:,} bytes.")
    return Recipe.from_json(text.decode(errors="replace"))


def whole_numbers(name: str, text: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas, such as "2,1,2". For other text, raises a RecipeError that names the field."""
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise RecipeError(f"{name} must be whole numbers separated by commas, such as 2,1,2; got {text[:60]!r}") from None


def number_ranges(name: str, text: str, most: int) -> tuple[int, ...]:
    """Read whole numbers and ranges, separated by commas. A range includes both ends, and may have a step after a colon.

    >>> number_ranges("ranks", "1,2-5,10-20:5", most=1000)
    (1, 2, 3, 4, 5, 10, 15, 20)

    Parameters
    ----------
    name : str
        The field's name, for error messages.
    most : int
        The largest number allowed.

    Returns
    -------
    tuple of int
        In the order of the text, each number once.

    Raises
    ------
    RecipeError
        If the text has another form, a range ends before it begins, or a number is too large.
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = RANGE.fullmatch(part.strip())
        if match is None:
            raise RecipeError(
                f"{name} must be whole numbers and ranges separated by commas, such as 1,2,5 or 2-20; got {text[:60]!r}"
            )
        first, last, step = (int(number) for number in (match[1], match[2] or match[1], match[3] or 1))
        limits.check_at_most(name, last, most)
        if last < first or step < 1:
            raise RecipeError(f"a range in {name} must go up, such as 2-20 or 5-50:5; got {part.strip()[:60]!r}")
        numbers += range(first, last + 1, step)
    return tuple(dict.fromkeys(numbers))
