"""Provide what at least two pages use. A module that only one page uses belongs in `pages/views`.

In reading order: `server` (this server's folders and memory), `access` (the key of the person at
the server's machine), `standing` (whom the server serves first), `visitor` (who is looking), `web`
(what is in front of Streamlit), `widgets` (messages, tables, escaped text), `navigation` (the table
of pages), `url_parameters` (those without a widget), `assignments` (widgets that code sets),
`contents` (what the lab ships, and the store of uploaded files), `visitor_runs` (start, stop and
look up runs), `sidebar` (widgets that make the one recipe, undo), `context` (what follows from the
recipe), `last_result` (the one that stays until there is another), `training` (a run in progress),
`pins` (the runs A and B), `open_lesson` (the lesson above a page), `share_link` (the link to this
screen, with its lesson), `render_lock` (pages drawn one after another).
"""

import logging

# Streamlit warns of each cached function that is defined before its server runs, as all of the
# lab's are.
_caching = logging.getLogger("streamlit.runtime.caching.cache_data_api")
_caching.addFilter(lambda record: "No runtime found" not in record.getMessage())
