"""Keys in the order in which they were pressed, each to whom the one before gave the focus.

A slow link delivers several keys at once. Textual hands them all to the widget that has the focus at that
moment, and only then does the first one open a field or a dialog: `/kind` typed quickly would then run the
table's `k`, `i`, `n`, `d`. Here a key waits until the one before has gone its way to the app and back.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from textual.app import App

    _App = App[Any]
else:
    _App = object

PATIENCE_S: Final = 0.5
"""A key whose trace is lost (its widget was removed) holds the others up for no longer than this."""
LOOK_AGAIN_S: Final = 0.02
"""How often a screen that is being built is looked at."""


class KeysInOrder(_App):
    """Mixed into an app, before the Textual class."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._waiting: deque[events.Key] = deque()
        self._since: float | None = None
        """When the key on its way was handed over; None: no key is on its way."""
        self._turn = 0
        super().__init__(*args, **kwargs)

    async def on_event(self, event: events.Event) -> None:
        """Textual's, except that a key may wait."""
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        self._waiting.append(event)
        if self._since is None or time.monotonic() - self._since > PATIENCE_S:
            await self._hand_over()

    async def _hand_over(self) -> None:
        self._since, self._turn = time.monotonic(), self._turn + 1
        target = self.focused or self.screen
        await super().on_event(self._waiting.popleft())
        # A call behind the key in each queue that the key passes: when it is back here, so is the key.
        self._follow(self._turn, [*target.ancestors_with_self])

    def _follow(self, turn: int, way: Sequence[MessagePump]) -> None:
        for at, node in enumerate(way):
            if node.call_later(self._follow, turn, way[at + 1 :]):
                return
        # What the key's action has asked of the app (a focus, say) stands in the queue by now.
        self.call_later(self._arrived, turn)

    async def _arrived(self, turn: int) -> None:
        if turn != self._turn:
            return
        screen = self.screen
        if not screen.is_mounted:  # Opened by the key; it chooses its focus when it is built.
            self.set_timer(LOOK_AGAIN_S, lambda: self._follow(turn, [screen, self]))
            return
        self._since = None
        if self._waiting:
            await self._hand_over()
