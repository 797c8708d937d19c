"""
A sweep, with intervals over seeds
==================================

A loop trains models for several ranks and seeds. The band is the 95 % interval of the mean.
`nlwfa sweep` does the same in several processes, and can be resumed.
"""

from nlwfa_core import DataRecipe, HankelRecipe, Recipe, options, plot, run

scores = {"string": {}, "factor": {}}
for statistic, points in scores.items():
    for rank in (1, 2, 4, 8):
        recipes = [
            Recipe(
                data=DataRecipe(num_strings=500, num_test=200, seed=seed),
                hankel=HankelRecipe(num_prefixes=40, num_suffixes=40, statistic=statistic),
                learning=options("SP", rank=rank),
            )
            for seed in range(4)
        ]
        points[rank] = [run(recipe).scores.wer for recipe in recipes]
plot.curves(scores, y_label="word error rate", log_x=True)
