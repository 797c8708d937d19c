"""
Why rank matters
================

The singular values show how many states a model needs. States beyond the rank of the matrix learn
noise.
"""

from nlwfa_core import DataRecipe, estimate_hankel, evaluate, fit, load_data, plot, select_basis

data = load_data(DataRecipe(num_strings=2_000, num_test=500))
hankel = estimate_hankel(data.train, select_basis(data.train, 100, 100))
plot.singular_values(hankel, rank=5)

# %%
# The word error rate on test strings, for each rank:

wer = {
    rank: evaluate(fit(hankel, "SP", rank=rank).model, data.test).wer
    for rank in (1, 2, 3, 5, 10, 20)
}
plot.curves({"SP": wer}, y_label="word error rate", log_x=True)
