"""Draw the parts of each page: one module for each page, with the page's name. The files in `pages`
set the order of the parts.

A view imports `nlwfa_core` and `pages.shared`, never another view.
"""
