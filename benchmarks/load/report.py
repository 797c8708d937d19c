"""Define the plan of a load test and its measurements, and write the report about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .people import Log

SLOW = 1.0  # seconds: a p95 above this is too slow
TARGET_RATIO = 3.0
FLAT = 0.1  # share by which memory may grow after the first sixth of the hour


@dataclass(frozen=True)
class Plan:
    """Holds the sizes of a load test.

    Attributes
    ----------
    sessions : int
    minutes, think, idle_seconds, hour_minutes : float
        The minutes of the class; the mean seconds between two actions; the seconds with one person
        alone; the most minutes in which an hour's actions are done.
    seed, most_sessions : int
    warm_seconds : float
        Seconds of the first visitors, which are not measured.
    """

    sessions: int = 30
    minutes: float = 5.0
    think: float = 4.0
    seed: int = 0
    idle_seconds: float = 30.0
    hour_minutes: float = 30.0
    most_sessions: int = 240
    warm_seconds: float = 8.0


@dataclass
class Report:
    """Holds the measurements.

    A sample of memory is (share of the phase that is over, MB of the server, MB of its workers).
    """

    plan: Plan
    idle: Log = field(default_factory=Log)
    crowd: Log = field(default_factory=Log)
    hour: Log = field(default_factory=Log)
    ramp: dict[int, Log] = field(default_factory=dict)
    before: float = 0.0
    memory: list[tuple[float, float, float]] = field(default_factory=list)
    hour_memory: list[tuple[float, float, float]] = field(default_factory=list)
    hour_share: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    server_busy: float = 0.0
    loads: list[float] = field(default_factory=list)

    @property
    def logs(self) -> list[Log]:
        return [self.idle, self.crowd, self.hour, *self.ramp.values()]

    @property
    def faults(self) -> Counter[str]:
        return Counter(fault for log in self.logs for fault in log.seen.faults)

    @property
    def num_asked(self) -> int:
        return len({key for log in self.logs for key in log.asked})

    @property
    def sound(self) -> bool:
        """Return whether there was no fault and no run was lost; times do not matter."""
        return not self.faults and self.states["done"] == self.num_asked

    @property
    def ratio(self) -> float:
        return self.crowd.p95() / self.idle.p95()

    @property
    def growth(self) -> float:
        """Compute the share by which memory grew from the first sixth of the hour's actions that
        were done to the end.
        """
        early = [server for share, server, _ in self.hour_memory if share <= self.hour_share / 6]
        return self.hour_memory[-1][1] / early[-1] - 1

    def lines(self) -> list[str]:
        """Write the report in Markdown."""
        plan = self.plan
        crowd = self.crowd
        ratio = self.ratio
        last = self.memory[-1]
        slow = next((number for number, log in self.ramp.items() if log.p95() > SLOW), None)
        ended = f"{slow}" if slow else f"more than {max(self.ramp, default=plan.sessions)}"
        target = f"≤ {TARGET_RATIO:g} ×{'' if ratio <= TARGET_RATIO else ' (not reached)'}"
        flat = f"≤ {FLAT:.0%}{'' if self.growth <= FLAT else ' (not reached)'}"
        each = (last[1] - self.before) / plan.sessions
        lines = [
            f"{plan.sessions} people used the lab for {plan.minutes:.3g} minutes, with an average "
            f"of {plan.think:g} s between two actions (seed {plan.seed}). The load average was "
            f"{min(self.loads):.1f} … {max(self.loads):.1f}, and the server used "
            f"{self.server_busy:.0%} of a core.",
            "",
            "| what | measured | target |",
            "| --- | --- | --- |",
            f"| slider, p95, {plan.sessions} sessions / one alone | **{ratio:.2f} ×** | {target} |",
            "| faults (exceptions, unforeseen errors, broken connections) | "
            f"**{self.faults.total()}** | 0 |",
            f"| training runs requested / done | **{self.num_asked} / {self.states['done']}** | "
            "all |",
            f"| memory of the server, one session / {plan.sessions} at the end, MB | "
            f"{self.before:.0f} / {last[1]:.0f} | |",
            f"| the same, a session, MB | {each:.1f} | |",
            f"| memory of the workers, MB | {last[2]:.0f} | |",
            "| memory of the server, growth after the first sixth of an hour's actions | "
            f"**{self.growth:+.1%}** | {flat} |",
            f"| sessions at which the slider's p95 passes {SLOW:g} s | **{ended}** | |",
            "",
            "| seconds, p50 / p95 (number) | one alone | "
            + f"{plan.sessions} sessions | an hour's actions, no pause |",
            "| --- | --- | --- | --- |",
        ]
        logs = self.idle, crowd, self.hour
        lines += [
            f"| {kind} | {' | '.join(_told(log, kind) for log in logs)} |" for kind in crowd.seconds
        ]
        lines += [
            "",
            f"Memory of the server, MB, over the {plan.minutes:.3g} minutes: "
            + _curve(self.memory),
            "",
        ]
        lines += [
            f"Memory over the hour's actions ({self.hour.num_actions:,} carried out, "
            f"{self.hour_share:.0%}): " + _curve(self.hour_memory),
            "",
        ]
        if self.ramp:
            lines += [
                "| sessions | slider, p50 / p95 (number) | page, p50 / p95 (number) | faults |",
                "| --- | --- | --- | --- |",
            ]
            lines += [
                f"| {number} | {_told(log, 'slider')} | {_told(log, 'page')} | "
                f"{len(log.seen.faults)} |"
                for number, log in self.ramp.items()
            ]
        lines += [f"- {count} × {text}" for text, count in self.faults.most_common(10)]
        errors = Counter(text for log in self.logs for text in log.seen.errors)
        lines += [f"- said in red, {count} ×: {text}" for text, count in errors.most_common(10)]
        return lines


def _told(log: Log, kind: str) -> str:
    count = len(log.seconds[kind])
    return f"{log.p50(kind):.3f} / {log.p95(kind):.3f} ({count:,})" if count else "–"


def _curve(samples: list[tuple[float, float, float]], points: int = 7) -> str:
    chosen = (
        [samples[round(point * (len(samples) - 1) / (points - 1))] for point in range(points)]
        if samples
        else []
    )
    return ", ".join(f"{server:.0f}" for _, server, _ in chosen)
