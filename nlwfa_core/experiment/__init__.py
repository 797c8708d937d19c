"""Describe an experiment as one small value, a recipe, and run it.

A recipe states everything that a run depends on: where the strings come from, which Hankel matrix
is estimated from them, how a model is learned, and how it is refined. Equal recipes give equal
results, so the recipe identifies its run in folders, queues and the history.

- `recipe`: the recipe and its parts for data, matrix and learning; its fields under flat names, for
  controls, command-line options and lessons; and its short text in a link.
- `option_page`: the page of all options, `docs/options.md`.
- `presets`: recipes to start from, and the options of training as in the paper.
- `datasets`: makes training, validation and test strings from a recipe.
- `notes`: what users should know about their strings.
- `pipeline`: runs a recipe: strings, Hankel matrix, learning, scores, diagnostics.
- `results`: the result of a run, and its folder on disk.
- `cross_validation`: scores each string with a model that was learned from other strings.
- `classifier`: a model for each label, and Bayes' rule.
- `estimators`: spectral learning, networks, HMMs and classifiers as estimators for scikit-learn.
- `sweeps`: makes many recipes from lists of values for some fields, and summarises their outcomes.
- `sweep_table`: the CSV file of a sweep, with a row for each run.

The history of runs is in `history`, and running them in other processes in `jobs`.
"""
