"""Authentication: codes need the key, keys are readable by their owner only, messages are new."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.messages import authentication as auth
from deploy.messages.authentication import (
    KEY_SIZE,
    MAC_SIZE,
    Authority,
    read_key,
    run_authority,
    write_key,
    write_run_number,
)
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OPERATOR_CHANNEL,
    SIGNED,
    STATE_CHANNEL,
    STATUS_CHANNEL,
    ReplayFilter,
    blank,
)
from solo_doi.common.errors import SoloError
from tests.deploy.world import KEY, WRONG_KEY, Wire, WireLink, World


@pytest.mark.parametrize("channel", sorted(SIGNED))
def test_every_flipped_bit_is_found(channel: str) -> None:
    """The bit may be in the message or in its code."""
    authority = Authority(KEY)
    data = authority.sign(blank(channel).encode())
    assert authority.genuine(data)
    for place in range(8 * len(data)):
        spoilt = bytearray(data)
        spoilt[place // 8] ^= 1 << place % 8
        assert not authority.genuine(bytes(spoilt)), place


@given(
    st.binary(min_size=MAC_SIZE + 1, max_size=300), st.binary(min_size=KEY_SIZE, max_size=KEY_SIZE)
)
def test_another_key_makes_another_code(data: bytes, key: bytes) -> None:
    """Without the key there is no valid code."""
    authority = Authority(KEY)
    assert authority.genuine(authority.sign(data))
    assert key == KEY or not authority.genuine(Authority(key).sign(data))
    assert authority.sign(authority.sign(data)) == authority.sign(data)


def test_a_drawn_key_is_secret_and_new(tmp_path: Path) -> None:
    """Only the owner can read a key, for any umask; an existing key is not overwritten."""
    before = os.umask(0)
    try:
        write_key(tmp_path / "key")
    finally:
        os.umask(before)
    write_key(tmp_path / "other")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "key").read_bytes() != (tmp_path / "other").read_bytes()
    data = read_key(tmp_path / "key").sign(bytes(40))
    assert read_key(tmp_path / "key").genuine(data)
    assert not read_key(tmp_path / "other").genuine(data)
    with pytest.raises(SoloError, match=r"key: exists already\. Remove it to draw another key\."):
        write_key(tmp_path / "key")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """The folder of the key is missing, or is a file."""
    (tmp_path / "file").touch()
    for folder, reason in (("absent", "No such file or directory"), ("file", "Not a directory")):
        with pytest.raises(SoloError) as error:
            write_key(tmp_path / folder / "key")
        assert (
            str(error.value)
            == f"{tmp_path / folder / 'key'}: cannot be written ({reason}). Choose another file."
        )


@pytest.mark.parametrize("rights", [0o640, 0o604, 0o620, 0o601, 0o666])
def test_a_key_that_others_may_touch_is_refused(rights: int, tmp_path: Path) -> None:
    """Others could have read the secret; the message contains the remedy."""
    write_key(tmp_path / "key")
    (tmp_path / "key").chmod(rights)
    with pytest.raises(
        SoloError, match=rf"others may read it \(rights {rights:04o}\)\. Keep it secret: chmod 600"
    ):
        read_key(tmp_path / "key")


def test_messages_from_before_a_restart_of_the_host_are_forged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock restarts at boot, so recorded messages would look fresh again."""
    write_key(tmp_path / "key")
    before, same = read_key(tmp_path / "key"), read_key(tmp_path / "key")
    (tmp_path / "boot_id").write_text("01234567-89ab-cdef-0123-456789abcdef\n")
    monkeypatch.setattr(auth, "BOOT_ID", tmp_path / "boot_id")
    after = read_key(tmp_path / "key")
    kept = before.sign(bytes(100))
    assert same.genuine(kept)
    assert not after.genuine(kept)


def test_a_key_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner knows the key, and can exchange it."""
    write_key(tmp_path / "key")
    owner = (tmp_path / "key").stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(SoloError, match=rf"belongs to user {owner}, .*solo-deploy keygen"):
        read_key(tmp_path / "key")


def test_a_pipe_is_no_key(tmp_path: Path) -> None:
    """Reading it must not wait for a writer."""
    os.mkfifo(tmp_path / "key", 0o600)
    with pytest.raises(SoloError, match="holds 0 bytes"):
        read_key(tmp_path / "key")


def test_every_run_has_its_own_key(tmp_path: Path) -> None:
    """All processes of a run agree; messages of another run with the same key are forged."""
    write_key(tmp_path / "key")
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
        write_run_number(folder)
    first, again, second = (
        run_authority(folder, folder / "none", tmp_path / "key")
        for folder in (folders[0], folders[0], folders[1])
    )
    kept = first.sign(bytes(100))
    assert again.genuine(kept)
    assert not second.genuine(kept)
    assert not read_key(tmp_path / "key").genuine(kept)


def test_the_key_of_a_dry_run_needs_no_number(tmp_path: Path) -> None:
    """It was drawn for one run."""
    write_key(tmp_path / "key")
    kept = run_authority(tmp_path, tmp_path / "key", None).sign(bytes(40))
    assert read_key(tmp_path / "key").genuine(kept)


def test_a_run_without_its_number_is_refused(tmp_path: Path) -> None:
    """The number is missing or cut."""
    write_key(tmp_path / "key")
    with pytest.raises(SoloError, match=r"run-id: cannot be read .*started by solo-deploy"):
        run_authority(tmp_path, tmp_path / "none", tmp_path / "key")
    (tmp_path / "run-id").write_bytes(bytes(5))
    with pytest.raises(SoloError, match="holds 5 bytes, expected 32"):
        run_authority(tmp_path, tmp_path / "none", tmp_path / "key")


@pytest.mark.parametrize("size", [0, 31, 33, 1000])
def test_a_key_of_another_size_is_refused(size: int, tmp_path: Path) -> None:
    """An empty or cut file must not become a key that is easy to guess."""
    path = tmp_path / "key"
    path.write_bytes(bytes(size))
    path.chmod(0o600)
    with pytest.raises(SoloError, match=rf"holds {size} bytes, a key has 32"):
        read_key(path)


def test_a_missing_key_is_reported(tmp_path: Path) -> None:
    """The key is missing or is a folder; the line contains the command that makes a key."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(SoloError, match=r"cannot be read .*solo-deploy keygen"):
            read_key(path)


@pytest.mark.parametrize(
    "channel", [STATE_CHANNEL, COMMAND_CHANNEL, OPERATOR_CHANNEL, STATUS_CHANNEL]
)
def test_a_link_hands_over_genuine_messages_and_counts_the_rest(channel: str) -> None:
    """Random bytes, messages of other channels and foreign codes are counted and dropped."""
    wire = Wire(World())
    sender, stranger, receiver = WireLink(wire), WireLink(wire, WRONG_KEY), WireLink(wire)
    heard: list[Any] = []
    receiver.subscribe(channel, lambda message, data: heard.append((message.sequence, data)))
    message = blank(channel)
    message.sequence = 5
    sent = sender.publish(channel, message)
    assert receiver.receive() == 1
    assert heard == [(5, sent)]
    stranger.publish(channel, message)
    wire.inject(None, channel, message.encode())
    for data in (b"", b"\xff" * len(sent), sent + b"\0", sent[:-1]):
        wire.inject(None, channel, data)
    assert receiver.receive() == 6
    assert channel in SIGNED
    assert (len(heard), receiver.forged, receiver.malformed) == (1, 2, 4)


class Operator:
    """An operator's message at a time [ms]."""

    def __init__(self, time_ms: int, expires_ms: int) -> None:
        """Set the fields of the generated class."""
        self.time_ns, self.expires_ns = time_ms * 1_000_000, expires_ms * 1_000_000


def test_freshness_takes_each_message_once_and_in_order() -> None:
    """Replayed and reordered messages of any sender are refused."""
    fresh, now = ReplayFilter(), 100_000_000
    assert fresh.accept(Operator(90, 200), now)
    assert not fresh.accept(Operator(90, 200), now)  # replayed
    assert not fresh.accept(Operator(89, 200), now)  # reordered
    assert fresh.accept(Operator(91, 200), now)


@pytest.mark.parametrize(
    ("time_ms", "expires_ms"),
    [(90, 100), (90, 99), (101, 200), (0, 200), (-5, 200), (90, 0)],
    ids=[
        "expires now",
        "expired",
        "from the future",
        "of no time",
        "of negative time",
        "expired long ago",
    ],
)
def test_freshness_refuses_other_times(time_ms: int, expires_ms: int) -> None:
    """A message must be sent before now and expire after now.

    A refused one does not block the next.
    """
    fresh, now = ReplayFilter(), 100_000_000
    assert not fresh.accept(Operator(time_ms, expires_ms), now)
    assert fresh.accept(Operator(50, 101), now)
