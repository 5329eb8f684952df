"""A bad cable: payloads that are dropped, delayed, doubled or changed on their way, by a seeded draw."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(kw_only=True)
class WireFaults:
    """What happens to a payload; each a probability, except the delay."""

    drop: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0
    """One to four bytes are changed; the length stays."""
    delay: int = 0
    """Payloads that must follow before one arrives."""


class FaultyWire:
    """One direction of the cable."""

    def __init__(self, faults: WireFaults, seed: int = 0) -> None:
        """Begin with an empty cable."""
        self.faults = faults
        self._random = np.random.default_rng(seed)
        self._under_way: deque[bytes] = deque()

    def pass_on(self, payload: bytes) -> list[bytes]:
        """Put a payload in; return what comes out at the other end, in order."""
        faults, random = self.faults, self._random
        if random.random() >= faults.drop:
            if random.random() < faults.corrupt:
                payload = self._corrupted(payload)
            self._under_way.extend([payload] * (2 if random.random() < faults.duplicate else 1))
        out = []
        while len(self._under_way) > faults.delay:
            out.append(self._under_way.popleft())
        return out

    def _corrupted(self, payload: bytes) -> bytes:
        changed = bytearray(payload)
        for place in self._random.integers(len(changed), size=self._random.integers(1, 5)):
            changed[place] ^= int(self._random.integers(1, 256))
        return bytes(changed)
