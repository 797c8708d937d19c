"""Write runs as files for download.

- `figures`: the figures of a run, drawn by `nlwfa_core.plot`.
- `ranks`: the scores of models of every rank, as a table and as figures.
- `script`: a Python program that repeats the run.
- `notebook`: the same program as a Jupyter notebook, with formulas, figures and tables.
- `report`: the run's results as one HTML page.
- `automaton_formats`: linear models as text for PAutomaC, OpenFst, Graphviz and other programs.
- `tikz`: a linear model as a picture for LaTeX.
- `downloads`: model, strings and figures as files.

Each module returns text or bytes, always the same for the same run. Bundles of several runs are
made in `history.bundles`.
"""
