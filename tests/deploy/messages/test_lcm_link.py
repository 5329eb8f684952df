"""The LCM link without a network, or flooded: no loop ends or stalls."""

from __future__ import annotations

from deploy.messages.lcm_link import LARGEST_BATCH, STATE_CHANNEL, blank
from tests.deploy.world import Wire, WireLink, World


class Unreachable:
    """LCM on a host without a route."""

    def publish(self, channel: str, data: bytes) -> None:
        """Fail as the library does."""
        raise OSError(101, "Network is unreachable")


def test_unsent_messages_are_counted_without_an_error() -> None:
    """The receiver's watchdog damps; the log still gets the bytes."""
    link = WireLink(Wire(World()))
    link._lcm = Unreachable()
    for number in range(1, 4):
        assert len(link.publish(STATE_CHANNEL, blank(STATE_CHANNEL))) == len(
            blank(STATE_CHANNEL).encode()
        )
        assert link.unsent == number


class Flooded:
    """LCM with a queue that fills faster than it is read."""

    handled = 0

    def handle_timeout(self, wait: int) -> int:
        """Return True: there is always one more message."""
        self.handled += 1
        return 1


def test_a_flood_does_not_hold_up_a_tick() -> None:
    """A poll ends for any number of waiting messages; the rest is left for the next poll."""
    link, flood = WireLink(Wire(World())), Flooded()
    link._lcm = flood
    assert [link.receive(), link.receive(0.1)] == [LARGEST_BATCH, LARGEST_BATCH]
    assert flood.handled == 2 * LARGEST_BATCH
