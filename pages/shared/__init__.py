"""Provide what at least two pages use. A module that only one page uses belongs in `pages/views`.

In reading order: `server` (this server's folders and memory), `visitor` (who is looking), `widgets` (messages, tables, escaped
text), `navigation` (the table of pages), `url_parameters` (those without a widget), `cache` (cached values of recipes),
`runs` (start, stop and look up runs), `sidebar` (widgets that make the one recipe, undo), `training` (a run in progress),
`pins`
(the runs A and B), `lessons` (the lesson above a page), `share_link` (the link to this screen, with its lesson),
`render_lock` (pages drawn one after another).
"""
