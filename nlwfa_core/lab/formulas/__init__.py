"""Formulas with the numbers in them: what a recipe does, spectral learning step by step, a weight by hand."""
