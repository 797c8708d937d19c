"""Write runs as files that people can take away.

- `script`: a Python program that repeats it.
- `notebook`: the same as a Jupyter notebook, with formulas, figures and tables.
- `report`: the results as one HTML page.
- `automata`: linear models as text for PAutomaC, OpenFst, Graphviz and other programs.
- `files`: model, strings and figures as files.

Each returns text or bytes, the same for the same run; pages offer them as downloads. Bundles of runs are in `history.bundles`.
"""
