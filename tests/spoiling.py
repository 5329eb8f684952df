"""Ways to spoil bytes and JSON values, for all fuzzers."""

from __future__ import annotations

import json
import random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, -(2**63), 10**400, 0.0, -0.0, 0.5, -1.5, 1e-300, 1e300,
    float("nan"),
    float("inf"), "", "x", "\0", "a" * 300, [], [[]], [0] * 12, {}, {"low": []}, {"": None},
)  # fmt: skip
"""Unexpected JSON values."""


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Spoil bytes in one of several ways."""
    kind = rng.randrange(6)
    place = rng.randrange(len(data))
    if kind == 0:
        return rng.randbytes(rng.randrange(2 * len(data)))
    if kind == 1:
        return rng.randbytes(len(data))
    if kind == 2:
        return data[:place]
    if kind == 3:
        return data + rng.randbytes(1 + place % 9)
    if kind == 4:
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    return data[:8] + rng.randbytes(len(data) - 8)  # a valid beginning, then random bytes


def odd(content: Any, rng: random.Random) -> Any:  # any JSON value
    """Return a JSON value with a missing, additional, wrongly typed or changed part."""
    if not content or not isinstance(content, dict | list) or rng.random() < 0.2:
        if type(content) in (int, float) and rng.random() < 0.5:
            return content * rng.choice((-1, 0, 1e-3, 0.9, 1.1, 1e3))
        return rng.choice(ODD)
    places = list(content) if isinstance(content, dict) else list(range(len(content)))
    place, changed = rng.choice(places), content.copy()
    kind = rng.random()
    if kind < 0.1:
        del changed[place]
    elif kind < 0.2 and isinstance(changed, dict):
        changed[rng.choice(("", "extra", "format", "schema"))] = rng.choice(ODD)
    elif kind < 0.2:
        changed.append(rng.choice(ODD))
    else:
        changed[place] = odd(content[place], rng)
    return changed


def mutated_json(text: str, rng: random.Random) -> bytes:
    """Spoil a JSON file: its values or its bytes, equally often."""
    if rng.random() < 0.5:
        return mutated(text.encode(), rng)
    return json.dumps(odd(json.loads(text), rng)).encode()
