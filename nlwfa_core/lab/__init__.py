"""What the lab shows, without Streamlit: the pages import this package for everything that is not a widget.

In reading order:

- `palette`: the colours, dashes and markers of models.
- `strings`, `states`: strings and states made ready to show: labels, counts, principal components, colours of prefixes.
- `tables`: numbers as text; the columns and warnings of tables.
- `options`, `history`: tables that compare recipes and outcomes, and tables of the history's runs.
- `pairs`: two models on the same test strings, with the intervals of their differences.
- `lens`: a Hankel matrix, its approximations and its singular values, as the browser's components take them.
- `figures`: Plotly figures and ECharts options.
- `formulas`: LaTeX with numbers: what a recipe does, spectral learning step by step, a weight by hand.
- `svg`, `export`: charts without a library; programs, notebooks, reports and model files to take away.
- `lessons`, `shipped`: lessons from their Markdown files; training of the results that are shipped with the lab.
- `machine`: memory and disk, for the Status page.

Left out: widgets and caches, which are the pages', and computing, which is the library's. Nothing but the reproduction, the command
line and the pages imports this package.
"""
