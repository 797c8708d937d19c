"""Recipes as short text for an address: what differs from the defaults, compressed."""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from ..errors import RecipeError
from .recipe import Recipe

MAX_LINK = 2_000  # characters
MAX_TEXT = 20_000  # bytes of JSON behind it: a small text must not unpack to a large one


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
