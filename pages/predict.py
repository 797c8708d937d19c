"""Predict: one string under every model in play, while it is typed; the calculation by hand; strings drawn from a model."""

from pages.shared import blocks, in_play, predict_view, runs

recipe = blocks.page_recipe(
    "Predict",
    "$f(x) = \\alpha_0^\\top \\mathbf{A}_{x_1} \\cdots \\mathbf{A}_{x_n} \\alpha_\\infty$, or "
    "$G_\\lambda(G_{x_n}(\\cdots G_{x_1}(\\alpha_0)))$: the weight of a string, and after each of its prefixes what should "
    "come next.",
)
with blocks.errors_shown():
    data = runs.data(recipe.data)
    in_play.train_controls(recipe, "predict")
    models = predict_view.models_in_play(recipe, data)
predict_view.one_string(recipe, data, models)
predict_view.sampler(data, models)
