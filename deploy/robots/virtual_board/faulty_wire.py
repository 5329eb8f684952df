"""Simulation of a bad cable: payloads are randomly dropped, delayed, duplicated or changed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(kw_only=True)
class WireFaults:
    """Faults of one direction of the cable."""

    drop: float = 0.0
    """Probability that a payload is lost."""
    duplicate: float = 0.0
    """Probability that a payload arrives twice."""
    corrupt: float = 0.0
    """Probability that one to four bytes of a payload are changed, with the same length."""
    delay: int = 0
    """Delay of each payload, as the number of later payloads sent before it arrives."""


class FaultyWire:
    """One direction of the cable."""

    def __init__(self, faults: WireFaults, seed: int = 0) -> None:
        """Start with an empty cable."""
        self.faults = faults
        self._random = np.random.default_rng(seed)
        self._under_way: deque[bytes] = deque()

    def pass_on(self, payload: bytes) -> list[bytes]:
        """Send a payload; return the payloads that arrive at the other end, in order."""
        faults = self.faults
        random = self._random
        if random.random() >= faults.drop:
            if random.random() < faults.corrupt:
                payload = self._corrupted(payload)
            self._under_way.append(payload)
            if random.random() < faults.duplicate:
                self._under_way.append(payload)
        out = []
        while len(self._under_way) > faults.delay:
            out.append(self._under_way.popleft())
        return out

    def _corrupted(self, payload: bytes) -> bytes:
        changed = bytearray(payload)
        for place in self._random.integers(len(changed), size=self._random.integers(1, 5)):
            changed[place] ^= int(self._random.integers(1, 256))
        return bytes(changed)
