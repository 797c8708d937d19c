"""Write formulas with their numbers.

- `latex`: numbers, matrices and users' texts in LaTeX.
- `recipe`: what a recipe does, as formulas without numbers.
- `by_hand`: a string's weight, with every matrix and every product.
- `spectral`: spectral learning step by step, ending with a weight by hand.

Nothing here learns or scores: the numbers are those of the models and of `learning.spectral`. How a network's outputs become
weights, in formulas too, is in `models.reading`.
"""
