"""What the lab shows, without Streamlit: the pages import this package for everything that is not a
widget.

In reading order:

- `palette`: the colours, dashes and markers of models.
- `strings`, `states`: labels and counts of strings; principal components of states, and colours of
  prefixes.
- `tables`: numbers as text; the columns and warnings of tables.
- `options`, `history`: tables that compare recipes and outcomes, and tables of the history's runs.
- `pairs`: two models on the same test strings, with the intervals of their differences; `records`:
  public problems of competitions, recognised by their files, and their published figures.
- `lens`: a Hankel matrix, its approximations and its singular values, encoded for the browser's
  components.
- `graph`: which arrows of an automaton are drawn, for Graphviz and as a table.
- `layout`, `walk`: an automaton's graph, placed from left to right, and the walk of a string
  through it.
- `panels`: H, Ĥ and H − Ĥ side by side, with the factors from which the browser computes Ĥ.
- `network`: the auto-encoder, with what each unit makes of a row of H.
- `story`: spectral learning on a sample in five scenes, from its strings to a prediction.
- `figures`: Plotly figures and ECharts options.
- `formulas`: LaTeX with numbers: what a recipe does, spectral learning step by step, a weight by
  hand.
- `svg`, `export`: charts without a plotting library; programs, notebooks, reports and model files
  to download.
- `answers`, `questions`: what is expected, how it is read and checked; questions in Markdown, and
  responses to them.
- `tasks`: the bank of tasks, with fresh numbers from a seed.
- `build`: automata that a person draws: tables and mistakes, what they are, challenges, learning
  them back, files.
- `quizzes`: quizzes before and after a lesson, and the normalised gain; `class_board`: what a class
  has answered.
- `markdown`: the form of the Markdown files that lessons, tasks, quizzes and automata to build are.
- `lessons`, `shipped`: a reader of the lessons' Markdown files; training of the results that are
  shipped with the lab.
- `teaching`: the plan for a class, step by step.
- `glossary`: the field's terms, and those that a text uses.
- `addresses`: links that other people can open, with the machine's address and as a QR code.
- `machine`: memory and disk, for the Status page.

Widgets and caches are in `pages`; learning and scoring are in the packages that this one imports.
Only `plot`, the command line and the pages import this package.
"""
