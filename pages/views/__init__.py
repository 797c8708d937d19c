"""What each page draws: one module per page, with the page's name. The files in `pages` set the order.

A view uses the core and `pages.shared`, never another view.
"""
