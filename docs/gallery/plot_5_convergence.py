"""
Has training finished?
======================

Results from a network that was stopped too early say little about networks. The report of a fit has
the loss after each epoch.
"""

from nlwfa_core import DataRecipe, fit, load_data, plot

data = load_data(DataRecipe(num_strings=1_000, num_test=100))
size = {"num_prefixes": 30, "num_suffixes": 30}
epochs = {"epochs_factorisation": 60, "epochs_transitions": 60}
report = fit(data.train, "both.non", rank=3, **size, **epochs).report
plot.losses(report)
print(report.training)
