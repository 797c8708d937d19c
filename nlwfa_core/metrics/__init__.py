"""How good a model is on test strings, and whether it is sound."""
