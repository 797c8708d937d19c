"""The lab's displays, without Streamlit: the pages import this package for everything visible that
is not a widget. For the browser's components (`lens`, `walk`, `panels`, `explore`, `autoencoder`,
`story`) it only prepares data: the drawing, and immediate responses to a pointer or a choice, are
in `assets`, in the folder of the same name (`network` for the auto-encoder).

- `palette`: the colours, dashes and markers of models.
- `string_labels`: labels and counts of strings.
- `projection`: principal components of states, and colours of prefixes.
- `result_tables`: numbers as text; the columns and warnings of tables.
- `recipe_differences`, `run_tables`: tables that compare recipes and outcomes, and tables of the
  history's runs.
- `pairs`: two models on the same test strings, with the intervals of their differences.
- `classification`: classifiers of strings side by side.
- `records`: public problems of competitions, recognised by their files, and their published
  figures.
- `lens`: a Hankel matrix, its approximations and its singular values, encoded for the browser's
  components.
- `graph`: which arrows of an automaton are drawn, for Graphviz and as a table.
- `layout`, `walk`: an automaton's graph, placed from left to right, and the walk of a string
  through it.
- `panels`: H, Ĥ and H − Ĥ side by side, with the factors from which the browser computes Ĥ.
- `explore`: linear and nonlinear models of the same strings at every rank, for Explore.
- `autoencoder`: the auto-encoder, with what each unit computes from a row of H.
- `story`: spectral learning on a sample in five scenes, from its strings to a prediction.
- `figures`: Plotly figures and ECharts options.
- `formulas`: LaTeX with numbers: what a recipe does, spectral learning step by step, a weight by
  hand.
- `addresses`: links that other people can open, with the machine's address and as a QR code.
- `machine`: memory and disk, for the Status page.

Downloads are in `export`, teaching is in `teaching`, and widgets and caches are in `pages`.
Learning and scoring are in the packages that this one imports.
"""
