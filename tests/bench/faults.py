"""From fault to damping, for every row of the fault matrix, in simulated time: the same on every machine."""

from __future__ import annotations

import sys

from tests.deploy.fault_rows import ROWS, counts, named
from tests.deploy.world import Rig

from .harness import Pairs, benchmark


@benchmark(unit="s", at_most=1.0)
def fault_to_damping() -> Pairs:
    """Simulated time from each fault to damping against the longest that is allowed; prints a table."""
    pairs = []
    sys.stdout.write("| fault | outcome | named | damped after | allowed |\n|---|---|---|---|---|\n")
    for name, row in ROWS.items():
        rig = Rig(row.inject).run()
        causes = ", ".join(sorted(cause.name for cause in named(rig)))
        if row.survives:
            dropped = f", {counts(rig, row.counted)} {row.counted}" if row.counted else ""
            cells = [name, f"walks on{dropped}", "", "", ""]
        else:
            # A robot process that is gone is damped by its hardware; what counts is when the controller lets go.
            took = rig.damp_told_after if name == "robot process killed" else rig.damped_after
            assert took is not None, f"{name}: never damped"
            pairs.append((took, row.within))
            cells = [name, "damped", causes, f"{1000 * took:.0f} ms", f"{1000 * row.within:.0f} ms"]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()
    return pairs
