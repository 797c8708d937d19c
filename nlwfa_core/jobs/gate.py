"""A gate between two epochs of a training: open, shut, or open for some epochs more."""

from __future__ import annotations

from threading import Condition


class Gate:
    """Where a training waits between two epochs, while somebody looks at it. What it computes does not change.

    >>> gate = Gate()
    >>> gate.set(2)
    >>> gate.passed(), gate.passed()
    (False, True)
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._left: int | None = None

    def set(self, epochs: int | None) -> None:
        """Shut after so many more epochs (0: after the next report); None: open."""
        with self._changed:
            self._left = epochs
            self._changed.notify_all()

    def passed(self) -> bool:
        """An epoch was reported. Whether the gate is shut now."""
        with self._changed:
            if self._left is not None:
                self._left = max(self._left - 1, 0)
            return self._left == 0

    def wait(self) -> None:
        """Until it opens, if only for some epochs."""
        with self._changed:
            self._changed.wait_for(lambda: self._left != 0)
