"""How good a model is on test strings, and whether it is sound.

- `perplexity`: the Pautomac score of whole strings, and public conventions for outputs that are not positive.
- `next_symbols`: word error rate, bits per symbol and NDCG@5, along the strings.
- `ranking`: which symbols are likeliest after given prefixes, and the SPiCe competition's score of such a ranking.
- `scores`: `evaluate`, all scores of a model on a test set, and what each is called.
- `intervals`: how far scores would move with other test strings, and whether two models differ by more than that.
- `diagnostics`: whether a model's mass converges, and whether its weights can be probabilities.
- `seeds`: scores over several seeds in a few numbers, which model is best, and by how much two models differ.

Where test strings come from, and how they are split off, is up to `experiment`.
"""
