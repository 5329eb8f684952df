"""Endurance of the robot behind a virtual master board.

The runs last ten minutes, in simulated time and on the wall clock.
"""

from __future__ import annotations

import json
import sys

from deploy.operators.operators import Script
from tests.deploy.board_world import BoardRig
from tests.deploy.world import ListRecorder

from .board_wall import in_network
from .harness import Pairs, benchmark

MINUTE = 60_000
"""Ticks in a minute."""


class Forgetful(ListRecorder):
    """Keeps incidents but no messages, so that any growth in memory comes from the loop."""

    def put(self, channel: str, data: bytes) -> None:
        """Discard the message."""


class SoakRig(BoardRig):
    """Walks without a time limit and prints its state every minute."""

    limit = 1000.0

    def tick(self, now: float) -> None:
        """Advance by one millisecond."""
        super().tick(now)
        ticks = self.loop.report.ticks
        if ticks and ticks % MINUTE == 0:
            sys.stderr.write(
                f"{ticks // MINUTE} min: {self.controller.state.name}, skill "
                f"{self.controller.skill}\n"
            )


@benchmark(unit="MB", at_most=1.05)
def board_soak() -> Pairs:
    """Memory after ten simulated minutes of walking behind the board, without a fault.

    The reference is the memory after the first minute.
    """
    rig = SoakRig(operator=Script((0, 1, 2, 3, 4), 120.0), recorder=Forgetful()).run()
    if rig.problems or not rig.ledger.unharmed:
        raise RuntimeError(f"ten minutes behind the board ended with {rig.problems or rig.ledger}")
    memory = rig.loop.report.memory
    return [(memory["last"], memory["first"])] * 5


@benchmark(unit="us")
def board_wall_walks() -> Pairs:
    """p99 of the ticks' lateness behind the board on the wall clock, two minutes of each skill.

    The reference is the lateness of C loops that run beside it.
    """
    program = "import json; from tests.bench.wall import wall; print(json.dumps(wall('virtual')))"
    *table, pairs = in_network(sys.executable, "-c", program).splitlines()
    sys.stdout.write("\n".join(table) + "\n")
    return [(value, reference) for value, reference in json.loads(pairs)]
