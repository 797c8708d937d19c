"""Remember which browsers have joined a class, because the server serves them before those that
nobody knows.

A browser's cookie costs nothing to make, so a limit for each browser does not stop somebody who
makes thousands. But nobody can fake having joined earlier: members of a class come before
strangers, and among members those who joined earlier come first. A browser that asks for very many
pages is ranked behind others of its kind. All of this is in memory only, and is found again from
the class when a browser comes back.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from threading import Lock
from time import monotonic
from typing import Any

MEMBER = 0
STRANGER = 1
MAX_BROWSERS = 20_000  # if there are more, those not seen for the longest time are forgotten
# a browser that asks for more pages in this time is a busy one
BUSY_SECONDS = 10.0
BUSY_PAGES = 20
ACTIVE_SECONDS = 60.0
# at most this many class sessions can be opened from one address in this time
OPENINGS = 10
OPENING_SECONDS = 60.0

# MEMBER or STRANGER; whether it is busy; when it joined: the smaller one is served first
Rank = tuple[int, bool, float]


class Standing:
    """Knows since when browsers have been members, and how many pages each has asked for.

    Any thread may call the methods.
    """

    def __init__(self) -> None:
        self._guard = Lock()  # guards all of these
        # browser -> member's pseudonym in a class -> since when
        self._since: OrderedDict[str, dict[str, float]] = OrderedDict()
        # a member's pseudonym in a class -> the browser
        self._browsers: OrderedDict[str, str] = OrderedDict()
        self._pages: OrderedDict[str, deque[float]] = OrderedDict()
        self._last_member = -ACTIVE_SECONDS  # when a member last asked for a page
        # address -> when a class session was opened from it
        self._openings: OrderedDict[str, deque[float]] = OrderedDict()

    def note_member(self, browser: str, member: str, since: float) -> None:
        """Record that a browser belongs to a member or a teacher of a class, or to somebody who has
        signed in, since a moment.

        Parameters
        ----------
        member : str
            The pseudonym in the class, or another name by which `forget_members` finds the browser.
        since : float
            Seconds since 1970.
        """
        if browser:
            with self._guard:
                since_by_member = self._since.setdefault(browser, {})
                since_by_member[member] = min(since, since_by_member.get(member, since))
                self._browsers[member] = browser
                _keep_newest(self._since, browser)
                _keep_newest(self._browsers, member)

    def forget_members(self, members: Iterable[str]) -> None:
        """Forget members who have left a class or were removed from it.

        A browser that is in no other class is a stranger then.
        """
        with self._guard:
            for member in members:
                browser = self._browsers.pop(member, "")
                since_by_member = self._since.get(browser, {})
                since_by_member.pop(member, None)
                if not since_by_member:
                    self._since.pop(browser, None)

    def is_member(self, browser: str) -> bool:
        with self._guard:
            return browser in self._since

    def rank(self, browser: str) -> Rank:
        """Return a browser's rank: the smallest one is served first."""
        now = monotonic()
        with self._guard:
            since = min(self._since.get(browser, {}).values(), default=None)
            pages = self._pages.get(browser, ())
            is_busy = len(pages) > BUSY_PAGES and pages[-BUSY_PAGES - 1] > now - BUSY_SECONDS
        return (STRANGER, is_busy, 0.0) if since is None else (MEMBER, is_busy, since)

    def note_page(self, browser: str) -> Rank:
        """Count a page that a browser has asked for, and return the browser's rank."""
        with self._guard:
            self._pages.setdefault(browser, deque(maxlen=BUSY_PAGES + 1)).append(monotonic())
            _keep_newest(self._pages, browser)
            if browser in self._since:
                self._last_member = monotonic()
                self._since.move_to_end(browser)
        return self.rank(browser)

    def may_open(self, address: str) -> bool:
        """Count a class session that is to be opened from an address; returns whether it may be
        opened.
        """
        now = monotonic()
        with self._guard:
            openings = self._openings.setdefault(address, deque())
            _keep_newest(self._openings, address)
            while openings and openings[0] < now - OPENING_SECONDS:
                openings.popleft()
            if len(openings) >= OPENINGS:
                return False
            openings.append(now)
            return True

    @property
    def serves_members(self) -> bool:
        """Return whether a member has asked for a page within the last minute."""
        return monotonic() - self._last_member < ACTIVE_SECONDS


def _keep_newest(entries: OrderedDict[str, Any], name: str) -> None:
    entries.move_to_end(name)
    while len(entries) > MAX_BROWSERS:
        entries.popitem(last=False)


standing = Standing()
