"""Ten lines of a user of the library, which `.ci/wheel` runs and type-checks in an empty
environment.
"""

from nlwfa_core import (
    DataRecipe,
    Scores,
    TestSet,
    evaluate,
    fit,
    load_data,
)

data = load_data(DataRecipe(num_strings=500, num_test=500))
model = fit(data.train, "SP", rank=5, num_prefixes=50, num_suffixes=50).model
scores: Scores = evaluate(model, data.test)
again: Scores = evaluate(model, TestSet.empirical(data.test.sample))
wer: float = scores.wer
print(f"{model.num_states} states, word error rate {wer:.2f}")
