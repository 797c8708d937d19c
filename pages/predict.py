"""Predict page: shows a string's weight under every model while it is typed, the calculation by
hand, and drawn strings.
"""

from pages.shared import pins
from pages.shared.context import page_context
from pages.views import predict as view

context = page_context(
    "Predict",
    "$f(x) = \\alpha_0^\\top \\mathbf{A}_{x_1} \\cdots \\mathbf{A}_{x_n} \\alpha_\\infty$, or "
    "$G_\\lambda(G_{x_n}(\\cdots G_{x_1}(\\alpha_0)))$: the weight of a string, and the "
    "symbol predicted after each of its prefixes.",
)
data = context.data
pins.train_shown_runs(context.recipe, "predict")
models = view.shown_models(context)
view.one_string(context.recipe, data, models)
view.sampler(data, models)
