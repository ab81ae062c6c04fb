"""The palette's list of actions, made from what can be done on the screen behind it."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from explorer.actions import Acting, Offer, offers
from explorer.screens.base import shell_of


class Actions(Provider):
    """Every action that can be done from the screen behind the palette, disabled ones with the reason."""

    def _offers(self) -> list[Offer]:
        shell = shell_of(self.screen)
        return [o for o in offers(self.screen, shell.keymap) if o.action.id != "app.palette"]

    def _help(self, offer: Offer) -> str:
        if offer.reason:
            return f"Not now: {offer.reason}."
        return offer.action.about

    def _label(self, offer: Offer) -> str:
        shell = shell_of(self.screen)
        shown = " ".join(shell.show_key(key) for key in offer.keys.split(",") if key)
        return f"{offer.action.name}  ({shown})" if shown else offer.action.name

    async def _do(self, node: Acting, method: str) -> None:
        await self.app.run_action(method, node)

    async def discover(self) -> Hits:
        """All of them, as long as nothing is typed."""
        for offer in self._offers():
            yield DiscoveryHit(self._label(offer), self._callback(offer), help=self._help(offer))

    async def search(self, query: str) -> Hits:
        """Those whose name matches what is typed."""
        matcher = self.matcher(query)
        for offer in self._offers():
            label = self._label(offer)
            score = matcher.match(label)
            if score > 0:
                yield Hit(score, matcher.highlight(label), self._callback(offer), help=self._help(offer))

    def _callback(self, offer: Offer) -> IgnoreReturnCallbackType:
        return partial(self._do, offer.node, offer.action.method)
