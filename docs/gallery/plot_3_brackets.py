"""
Brackets: where linear models break
===================================

Nested brackets require counting. A linear model with few states gives deep strings the weight 0; a
network does not.
"""

from nlwfa_core import DataRecipe, estimate_hankel, evaluate, fit, load_data, plot, select_basis

data = load_data(DataRecipe(num_strings=2_000, num_test=500))
hankel = estimate_hankel(data.train, select_basis(data.train, 50, 50))
models = {
    "SP": fit(hankel, "SP", rank=3).model,
    "tran.non": fit(hankel, "tran.non", rank=3, epochs_transitions=30).model,
}
for name, model in models.items():
    scores = evaluate(model, data.test)
    print(f"{name:9} log2_pauto {scores.log2_pauto:6.2f}  zero weights {scores.num_zero}")

# %%
# The paths of two strings through the states of the network:

plot.trajectories(models["tran.non"], ["[[[]]]", "[][][]"], prefixes=hankel)
