"""The errors this project raises: each says what was found, where, what was expected, what to do."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class SoloError(Exception):
    """Anything the user can mend; commands print it as one line, without a traceback."""

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes by the message: subclasses make theirs from other arguments."""
        return _with_message, (type(self), str(self))


def _with_message(kind: type[SoloError], message: str) -> SoloError:
    return kind.__new__(kind, message)


class UnknownNameError(SoloError):
    """A name that is not in a closed list."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        """Name the nearest match and list every name that would have worked."""
        known = sorted(known)
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")


class MissingPackageError(SoloError):
    """An optional package that this machine does not have."""

    def __init__(self, package: str, needed_for: str, remedy: str) -> None:
        """Say what cannot be done without the package, and how to get it."""
        super().__init__(
            f"{needed_for} needs the package {package!r}, which cannot be imported. {remedy}"
        )


@contextmanager
def one_line(program: str, when_stopped: str = "") -> Iterator[None]:
    """End a command with one line instead of a traceback: code 1 for what the user can mend, 130 for Ctrl-C."""
    try:
        yield
    except SoloError as error:
        sys.stderr.write(f"{program}: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"{program}: stopped. {str(stop) or when_stopped}".rstrip() + "\n")
        sys.exit(130)
