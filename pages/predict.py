"""Predict page: shows a string's weight under every model while it is typed, the calculation by
hand, and drawn strings.
"""

from pages.shared import cache, pins, sidebar, widgets
from pages.views import predict as view

recipe = sidebar.page_recipe(
    "Predict",
    "$f(x) = \\alpha_0^\\top \\mathbf{A}_{x_1} \\cdots \\mathbf{A}_{x_n} \\alpha_\\infty$, or "
    "$G_\\lambda(G_{x_n}(\\cdots G_{x_1}(\\alpha_0)))$: the weight of a string, and which "
    "symbol should follow each of "
    "its prefixes.",
)
with widgets.errors_as_messages():
    data = cache.data(recipe.data)
    pins.train_shown_runs(recipe, "predict")
    models = view.shown_models(recipe, data)
view.one_string(recipe, data, models)
view.sampler(data, models)
