"""Rights of viewers, and the rate of stops."""

from __future__ import annotations

import pytest

from deploy.console.page.access import Access, Role, StopRate


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8000", True),
        ("localhost:8000", True),
        ("127.0.0.1:8001", False),
        ("127.0.0.1", False),
        ("evil.example:8000", False),
        ("127.0.0.1:8000.evil.example", False),
        ("", False),
        (None, False),
    ],
)
def test_only_names_of_this_computer_are_known(host: str | None, known: bool) -> None:
    assert Access(8000, drivable=True).known_host(host) is known


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("http://localhost:8000", "localhost:8000", True),
        ("http://localhost:8000", "127.0.0.1:8000", False),
        ("https://127.0.0.1:8000", "127.0.0.1:8000", False),
        ("http://evil.example", "127.0.0.1:8000", False),
        ("http://evil.example:8000", "evil.example:8000", False),
        ("null", "127.0.0.1:8000", False),
        (None, "127.0.0.1:8000", False),
    ],
)
def test_only_the_page_itself_connects(origin: str | None, host: str, own: bool) -> None:
    assert Access(8000, drivable=True).own_origin(origin, host) is own


def test_the_first_viewer_drives_and_may_return() -> None:
    access = Access(8000, drivable=True)
    role, own_pass = access.admit(access.token)
    assert role is Role.DRIVER
    assert access.admit(access.token) == (Role.WATCHER, "")
    assert access.admit("", own_pass) == (Role.DRIVER, own_pass)
    assert access.admit(access.token, "wrong") == (Role.WATCHER, "")


def test_without_the_token_a_viewer_is_a_stranger() -> None:
    access = Access(8000, drivable=True)
    for token in ("", access.token[:-1], f"{access.token}x", "ü"):
        assert access.admit(token, "") == (Role.STRANGER, "")
    assert access.admit(access.token)[0] is Role.DRIVER  # wrong tokens do not use it up


def test_a_page_that_does_not_drive_has_watchers_only() -> None:
    access = Access(8000, drivable=False)
    assert access.admit(access.token) == (Role.WATCHER, "")


def test_tokens_differ() -> None:
    tokens = {Access(8000, drivable=True).token for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32


def test_a_burst_is_followed_by_a_steady_rate() -> None:
    now = 0.0
    limit = StopRate(3, 2.0, lambda: now)
    assert [limit.allow() for _ in range(5)] == [True, True, True, False, False]
    now = 0.5
    assert [limit.allow() for _ in range(2)] == [True, False]
    now = 100.0
    assert [limit.allow() for _ in range(4)] == [True, True, True, False]
    assert limit.refused == 4
