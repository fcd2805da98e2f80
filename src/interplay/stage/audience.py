"""Who watches, and which one of them holds control: the first who came, then whoever takes it; when they leave, the next."""

from __future__ import annotations


class Audience:
    """Browsers by their number, in the order in which they came."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._seated: list[int] = []
        self.holder: int | None = None
        """Number of the browser that holds control."""

    def __len__(self) -> int:
        """Return how many watch."""
        return len(self._seated)

    def __iter__(self):
        """Iterate over their numbers."""
        return iter(tuple(self._seated))

    def join(self, client: int) -> None:
        """Let a browser in; the first one gets control."""
        if client not in self._seated:
            self._seated.append(client)
        if self.holder is None:
            self.holder = client

    def leave(self, client: int) -> None:
        """Let a browser go; if it held control, the one that has been here longest gets it."""
        if client in self._seated:
            self._seated.remove(client)
        if self.holder == client:
            self.holder = self._seated[0] if self._seated else None

    def take(self, client: int) -> bool:
        """Give control to a browser that asks for it, and return whether it has it now."""
        if client in self._seated:
            self.holder = client
        return self.holder == client

    def holds(self, client: int | None) -> bool:
        """Return whether a browser holds control."""
        return client is not None and client == self.holder
