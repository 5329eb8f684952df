"""Time from fault to damping, for every row of the fault matrices, in simulated time.

The numbers are the same on every machine.
"""

from __future__ import annotations

import sys

from tests.deploy.board_fault_rows import BOARD_ROWS
from tests.deploy.board_world import BoardRig
from tests.deploy.fault_rows import ROWS, counts, named
from tests.deploy.world import Rig

from .harness import Pairs, benchmark


@benchmark(unit="s", at_most=1.0)
def fault_to_damping() -> Pairs:
    """Simulated time from each fault to damping against the longest that is allowed.

    Prints a table.
    """
    pairs = []
    _write("fault", "outcome", "named", "damped after", "allowed")
    _write(*5 * ["---"])
    for name, row in ROWS.items():
        rig = Rig(row.inject).run()
        causes = ", ".join(sorted(cause.name for cause in named(rig)))
        if row.survives:
            dropped = f", {counts(rig, row.counted)} {row.counted}" if row.counted else ""
            _write(name, f"walks on{dropped}", "", "", "")
            continue
        # The hardware damps the joints of a dead robot process. The time counts until the
        # controller stops its commands.
        took = rig.damp_told_after if name == "robot process killed" else rig.damped_after
        assert took is not None, f"{name}: never damped"
        pairs.append((took, row.within))
        _write(name, "damped", causes, f"{1000 * took:.0f} ms", f"{1000 * row.within:.0f} ms")
    return pairs


@benchmark(unit="s", at_most=1.0)
def board_fault_to_damping() -> Pairs:
    """Simulated time from each fault until no driver behind the virtual board holds a position.

    Prints a table.
    """
    pairs = []
    _write("fault", "motors", "named", "after", "allowed", "re-armed, it")
    _write(*6 * ["---"])
    for name, row in BOARD_ROWS.items():
        rig = BoardRig(row.inject).run()
        if row.survives:
            assert not rig.causes, f"{name}: ended with {rig.causes}"
            _write(name, "walk on", "", "", "", "")
            continue
        causes = ", ".join(sorted(cause.name for cause in rig.causes))
        took = rig.damped_after
        assert took is not None, f"{name}: never damped"
        pairs.append((took, row.within))
        again = "" if rig.killed else "moves" if rig.moves_again else "stays"
        outcome = "off" if rig.switched_off else "damped"
        _write(name, outcome, causes, f"{1000 * took:.0f} ms", f"{1000 * row.within:.0f} ms", again)
    return pairs


def _write(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()
