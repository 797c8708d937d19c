"""What each page draws: one module a page, with the page's name. The files in `pages` say what is drawn in which order.

A view uses the core and `pages.shared`, never another view.
"""
