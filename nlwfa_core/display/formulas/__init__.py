"""Write formulas with their numbers.

- `latex`: numbers, matrices and users' texts in LaTeX.
- `recipe_formulas`: what a recipe does, as formulas without numbers.
- `by_hand`: a string's weight, with every matrix and every product.
- `spectral_steps`: spectral learning step by step, ending with a weight by hand.

The numbers are taken from the models and from `learning.spectral`; nothing is learned or scored
here. `models.reading` defines how a network's outputs become weights, and writes this as formulas.
"""
