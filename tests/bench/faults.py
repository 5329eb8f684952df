"""Time from fault to damping, for every row of the fault matrices, in simulated time.

The numbers are the same on every machine.
"""

from __future__ import annotations

import sys

from tests.deploy.board_fault_rows import BOARD_ROWS
from tests.deploy.board_world import BoardRig
from tests.deploy.fault_rows import ROWS, counts, named
from tests.deploy.launch.test_fault_matrix import LYING_DOWN
from tests.deploy.world import Rig

from .harness import Pairs, benchmark


@benchmark(unit="s", at_most=1.0)
def fault_to_damping() -> Pairs:
    """Simulated time from each fault to damping against the longest that is allowed.

    Prints a table.
    """
    pairs = []
    _write("fault", "outcome", "named", "reaction after", "allowed", "belly lands at")
    _write(*6 * ["---"])
    for name, row in ROWS.items():
        rig = Rig(row.inject, watch=LYING_DOWN if row.sits else 0.6)
        rig.run(afterwards=LYING_DOWN if row.sits else 0.1)
        causes = ", ".join(sorted(cause.name for cause in named(rig)))
        if row.survives:
            dropped = f", {counts(rig, row.counted)} {row.counted}" if row.counted else ""
            _write(name, f"walks on{dropped}", "", "", "", "")
            continue
        # The hardware damps the joints of a dead robot process. The time counts until the
        # controller stops its commands.
        took = rig.damp_told_after if name == "robot process killed" else rig.damped_after
        if row.sits:
            took = rig.reacted_after
        assert took is not None, f"{name}: no reaction"
        pairs.append((took, row.within))
        times = f"{1000 * took:.0f} ms", f"{1000 * row.within:.0f} ms"
        outcome = "lies down" if row.sits else "damped"
        _write(name, outcome, causes, *times, _landing(rig, sits=row.sits))
    return pairs


@benchmark(unit="s", at_most=1.0)
def board_fault_to_damping() -> Pairs:
    """Simulated time from each fault until no driver behind the virtual board holds a position.

    Prints a table.
    """
    pairs = []
    _write("fault", "motors", "named", "after", "allowed", "re-armed, it", "belly lands at")
    _write(*7 * ["---"])
    for name, row in BOARD_ROWS.items():
        rig = BoardRig(row.inject, watch=LYING_DOWN if row.sits else 0.6)
        rig.run(afterwards=LYING_DOWN if row.sits else 0.1)
        if row.survives:
            assert not rig.causes, f"{name}: ended with {rig.causes}"
            _write(name, "walk on", "", "", "", "", "")
            continue
        causes = ", ".join(sorted(cause.name for cause in rig.causes))
        took = rig.reacted_after if row.sits else rig.damped_after
        assert took is not None, f"{name}: no reaction"
        pairs.append((took, row.within))
        again = "" if rig.killed else "moves" if rig.moves_again else "stays"
        outcome = "off" if rig.switched_off else "damped"
        times = f"{1000 * took:.0f} ms", f"{1000 * row.within:.0f} ms"
        landing = _landing(rig, sits=row.sits)
        _write(name, "lie down" if row.sits else outcome, causes, *times, again, landing)
    return pairs


def _landing(rig: Rig, *, sits: bool) -> str:
    """Return the speed of a belly that lands after lying down; empty without lying down."""
    return f"{rig.landing_speed:.2f} m/s" if sits else ""


def _write(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()
