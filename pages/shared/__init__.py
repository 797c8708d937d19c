"""What two pages need. A module that only one page uses belongs to that page, in `pages/views`.

In reading order: `server` (this server's folders and memory), `visitor` (who is looking), `widgets` (messages, tables, text
made safe), `navigation` (the table of pages), `url_parameters` (those without a widget), `cache` (recipes to cached values),
`runs` (start, stop and look up runs), `sidebar` (widgets to the one recipe, undo), `training` (a run while it goes on), `pins`
(the runs A and B), `lessons` (the lesson above a page), `share_link` (the link to this screen, with its lesson),
`render_lock` (pages drawn one after the other).
"""
