"""Errors of this project.

Each message names the value, its place, the expectation and the remedy.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

ALL_CHECKS = "all checks of this computer: solo-doctor"
"""Hint at the end of errors about the computer."""


class SoloError(Exception):
    """Error that the user can resolve. Commands print it as one line, without a traceback."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the message, since subclasses build theirs from other arguments."""
        return _with_message, (type(self), str(self))


def _with_message(kind: type[SoloError], message: str) -> SoloError:
    return kind.__new__(kind, message)


class UnknownNameError(SoloError):
    """A name that is not in a fixed list."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        """Suggest the nearest match and list all known names."""
        known = sorted(known)
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")


class MissingPackageError(SoloError):
    """An optional package that is not installed."""

    def __init__(self, package: str, needed_for: str, remedy: str) -> None:
        """Name the purpose of the package and the way to install it."""
        super().__init__(
            f"{needed_for} needs the package {package!r}, which cannot be imported. {remedy} "
            f"({ALL_CHECKS})"
        )


@contextmanager
def one_line(program: str, when_stopped: str = "") -> Iterator[None]:
    """Print errors as one line instead of a traceback.

    Exit code 1 for SoloError, 130 for Ctrl-C.
    """
    try:
        yield
    except SoloError as error:
        sys.stderr.write(f"{program}: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"{program}: stopped. {str(stop) or when_stopped}".rstrip() + "\n")
        sys.exit(130)
