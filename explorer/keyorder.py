"""Keys in the order in which they were pressed, each to whom the one before gave the focus.

A slow link delivers several keys at once. Textual hands them all to the widget that has the focus at that
moment, and only then does the first one open a field or a dialog: `/kind` typed quickly would then run the
table's `k`, `i`, `n`, `d`. Here a key waits until the one before has gone its way to the app and back.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

PATIENCE_S: Final = 0.5
"""A key whose trace is lost (its widget was removed) holds the others up for no longer than this."""
LOOK_AGAIN_S: Final = 0.02
"""How often a screen that is being built is looked at."""


class KeysInOrder(App[None]):
    """An app that hands one key over at a time."""

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
        turn, target = self._turn, self.focused or self.screen
        await super().on_event(self._waiting.popleft())
        # A second round for the messages that the key's action has posted, which bubble up like the key.
        self._follow(target, lambda: self._follow(target, lambda: self._arrived(turn)))
        self.set_timer(PATIENCE_S, lambda: self._arrived(turn))

    def _follow(self, node: MessagePump | None, then: Callable[[], object]) -> None:
        """Call `then` once a key handed to this node has passed it and all that it bubbles up to.

        A call stands behind the key in the queue of each node on its way. The last one stands behind what
        the key's action has asked of the app, such as a focus.
        """
        if node is None:
            self.call_later(then)
        elif not node.call_later(self._follow, node._parent, then):
            self._follow(node._parent, then)

    async def _arrived(self, turn: int) -> None:
        if turn != self._turn or self._since is None:
            return
        screen = self.screen
        if not screen.is_mounted:  # Opened by the key; it chooses its focus when it is built.
            self.set_timer(LOOK_AGAIN_S, lambda: self._follow(screen, lambda: self._arrived(turn)))
            return
        self._since = None
        if self._waiting:
            await self._hand_over()
