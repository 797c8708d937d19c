"""
Is it trained to its end?
=========================

A network that was stopped too early says little about networks. The report of a fit holds the loss
after each epoch.
"""

from nlwfa_core import DataRecipe, estimate_hankel, fit, load_data, plot, select_basis

data = load_data(DataRecipe(num_strings=1_000, num_test=100))
hankel = estimate_hankel(data.train, select_basis(data.train, 30, 30))
report = fit(hankel, "both.non", rank=3, epochs_factorisation=60, epochs_transitions=60).report
curves = {}
for log in report.logs:
    epochs, losses = log.thinned()
    curves[log.stage] = dict(zip(epochs, losses, strict=True))
plot.curves(curves, x_label="epoch", y_label="loss", log_y=True)
print(report.training)
