"""Measure the quality of a model on test strings, and check whether it is sound.

- `pautomac_score`: the Pautomac score of whole strings, and the ways in which programs treat
  outputs that are not positive.
- `next_symbols`: scores of predictions along the strings: word error rate, bits per symbol and
  NDCG@5.
- `ranking`: the most likely next symbols after some prefixes, and the SPiCe competition's score of
  such a ranking.
- `score_table`: `Scores`, and the titles, units and meanings of the scores.
- `testset`: `TestSet`, test strings with their target weights; it also makes a model and a test set
  use the same numbers for the same symbols.
- `evaluate`: `evaluate`, which computes all scores of a model on a test set.
- `intervals`: how much scores would change with other test strings, and whether two models differ
  by more than that.
- `influences`: the same for all pairs of many models at once, without resampling.
- `comparison`: `compare`, which compares two models in one call.
- `diagnostics`: whether a model's mass converges, and whether its weights can be probabilities.
- `tables`: tables of results, written as LaTeX, Markdown, CSV and JSON.
- `criteria`: AIC and BIC from the training strings, with the number of free parameters.
- `seeds`: summaries of scores over several seeds, the choice of the best model, and differences
  between two models.

`experiment` makes the test strings.
"""
