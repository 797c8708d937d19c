"""Simulate people in the lab, who change a number, look at the page, go to another page, and
sometimes train a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from nlwfa_core.experiment.recipe import FIELDS, Recipe, with_fields
from pages.shared import navigation
from pages.shared.sidebar import FIRST
from tests.quick import QUICK

from .client import Seen, Session

LINK = QUICK | {"epochs_factorisation": 60, "epochs_transitions": 30}
RANKS = range(2, 9)
STRINGS = range(300, 380, 20)
PAGES = tuple(name for name in navigation.PAGES if name != navigation.FIRST)
PICTURE = "explore.picture"
TABLES = 3  # groups of a class that share their strings
# Actions and their shares; people who do not train leave out the last.
SHARES = {"rank": 0.55, "num_strings": 0.1, "page": 0.3, "train": 0.05}
ACTIONS_A_VISIT = 60  # after so many actions, the page is reloaded
TRAINING_PATIENCE = 180.0


@dataclass
class Log:
    """Records the actions of people, and how long the answers took.

    Attributes
    ----------
    seconds : dict
        "slider", "page", "first page", "train" -> how long each answer took.
    asked : dict
        Key -> recipe of every requested run.
    """

    seconds: dict[str, list[float]] = field(
        default_factory=lambda: {"slider": [], "page": [], "first page": [], "train": []}
    )
    asked: dict[str, Recipe] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)

    @property
    def num_actions(self) -> int:
        return sum(map(len, self.seconds.values()))

    def p95(self, kind: str = "slider") -> float:
        """Return the 95th percentile of the seconds of one kind of action; nan if there was
        none.
        """
        return float(np.quantile(self.seconds[kind], 0.95)) if self.seconds[kind] else float("nan")

    def p50(self, kind: str = "slider") -> float:
        return float(np.median(self.seconds[kind])) if self.seconds[kind] else float("nan")


class Person:
    """Simulates a person with one browser tab.

    Parameters
    ----------
    address : str
    number : int
        Number of the person; people at the same table have the same strings.
    seed : int
    log : Log
    think : float
        Mean seconds between two actions.
    trains : bool
    """

    def __init__(
        self, address: str, number: int, seed: int, log: Log, think: float, trains: bool = True
    ) -> None:
        self._address = address
        self._log = log
        self._think = think
        self._rng = np.random.default_rng([seed, number])
        self._link = LINK | {
            "data_seed": 1 + number % TABLES,
            "learning_seed": 1 + 1000 * seed + number,
        }
        self._shares = (
            SHARES if trains else {name: share for name, share in SHARES.items() if name != "train"}
        )
        self._page = ""

    async def lives(self, goes_on: Callable[[], bool]) -> None:
        """Act until stopped.

        An error is recorded as a fault, and the person opens the page again.
        """
        while goes_on():
            try:
                async with Session(self._address, self._log.seen, self._link) as session:
                    self._page = ""
                    self._log.seconds["first page"].append(await session.visit())
                    for _ in range(ACTIONS_A_VISIT):
                        await self._thinks()
                        if not goes_on():
                            return
                        await self._acts(session)
            # the session reports it, unless it never connected
            except (OSError, TimeoutError) as error:
                self._log.seen.faults.append(f"a session ended: {error or type(error).__name__}")
                await asyncio.sleep(1)

    async def _thinks(self) -> None:
        await asyncio.sleep(self._think * self._rng.uniform(0.5, 1.5))

    async def _acts(self, session: Session) -> None:
        name = str(
            self._rng.choice(
                list(self._shares),
                p=np.array([*self._shares.values()]) / sum(self._shares.values()),
            )
        )
        if name == "page":
            await self._goes(
                session, str(self._rng.choice([page for page in PAGES if page != self._page]))
            )
        elif name == "train":
            await self.trains(session)
        elif name == "rank" and PICTURE in session.page.components:
            self._log.seconds["slider"].append(await self._drags(session))
        elif name not in session.page.numbers:  # a page without this control
            await self._goes(session, "data")
        else:
            values = [
                value
                for value in {"rank": RANKS, "num_strings": STRINGS}[name]
                if value != session.number(name)
            ]
            self._log.seconds["slider"].append(
                await session.set_number(name, int(self._rng.choice(values)))
            )

    async def _drags(self, session: Session) -> float:
        """Drag the cut of Explore's picture to another rank."""
        ranks = [rank for rank in RANKS if str(rank) != session.query.get("rank")]
        chosen = {"learner": FIRST.learning.learner, "objective": LINK["objective"]}
        chosen |= {"linear": "SP", "linearRank": None, "scene": ""}
        chosen |= {"rank": int(self._rng.choice(ranks))}
        return await session.tell(PICTURE, "chosen", chosen)

    async def _goes(self, session: Session, page: str) -> None:
        self._log.seconds["page"].append(await session.visit(page))
        self._page = page

    async def trains(self, session: Session) -> None:
        """Go to the Train page, train the sidebar's recipe, and watch until it is done."""
        if self._page != "train":
            await self._goes(session, "train")
        if "train.start" not in session.page.buttons:
            return  # this recipe has been trained
        chosen = {name: text for name, text in session.query.items() if name in FIELDS}
        recipe = with_fields(FIRST, chosen)
        self._log.seconds["train"].append(await session.press("train.start"))
        self._log.asked[recipe.key()] = recipe
        with suppress(TimeoutError):
            async with asyncio.timeout(TRAINING_PATIENCE):
                while session.watches:
                    await asyncio.sleep(0.1)


async def live(
    address: str,
    number: int,
    seed: int,
    log: Log,
    think: float,
    seconds: float,
    trains: bool = True,
) -> None:
    """Let `number` people use the lab at once for `seconds`.

    They come one after the other during the first tenth of this time.
    """
    ends = monotonic() + seconds

    async def come(which: int) -> None:
        await asyncio.sleep(which / max(1, number) * min(10.0, seconds / 10))
        await Person(address, which, seed, log, think, trains).lives(lambda: monotonic() < ends)

    await asyncio.gather(*(come(which) for which in range(number)))
