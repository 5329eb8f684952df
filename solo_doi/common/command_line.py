"""Command lines: sub-commands, flags over a YAML file over defaults, help and version."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import inspect
import io
import itertools
import os
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, NoReturn

from . import settings
from .errors import SoloError, UnknownNameError
from .settings import Config
from .steps import PLAIN_FLAG, make_plain
from .version import __version__

Words = Sequence[str]
Lookup = Callable[[str, str], str]
"""Return the value of a flag by name, or else the second argument."""

FILE_HELP = "Settings may also come from a YAML file: `--config FILE`. Flags override the file."
PLAIN_HELP = "`--plain` writes lines without colours and bars, for logs."
COMPLETION_FLAGS = ("--tyro-print-completion", "--tyro-write-completion")
BOOLEANS = {"True": True, "False": False}


@dataclass(frozen=True)
class Command(Generic[Config]):
    """A command: its settings and the function that gets them."""

    kind: type[Config]
    """Dataclass of the settings."""
    function: Callable[[Config], object]
    """Runs the command. An integer that it returns is the exit code."""
    start: Callable[[Lookup], Config] | None = None
    """Chooses the defaults. It can look up flags that were given."""
    kind_of: Callable[[Lookup], type[Config]] | None = None
    """Chooses a subclass of `kind`, if the settings depend on a flag."""


@dataclass(frozen=True)
class Verb:
    """A sub-command, imported when it is used."""

    name: str
    """First word after the program's name."""
    summary: str
    """One sentence for the list in `--help`."""
    load: Callable[[], Command[Any]]


@dataclass(frozen=True)
class Program:
    """An installed command with its sub-commands."""

    name: str
    load: Callable[[], Command[Any]]
    """Imports the command that runs without a sub-command."""
    verbs: tuple[Verb, ...] = ()
    takes_paths: bool = False
    """The command without a sub-command may begin with a path."""
    needs_arguments: bool = False
    """Without arguments, print the help text and exit with 1."""

    def run(self) -> NoReturn:
        """Run what the arguments of this process ask for, and exit."""
        words = sys.argv[1:]
        if {"-h", "--help"} & {*words}:  # numpy starts no threads, which takes 0.05 s
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if PLAIN_FLAG in words:
            make_plain()
            words = [word for word in words if word != PLAIN_FLAG]
        first = words[0] if words else ""
        if first == "--version":
            print_version(self.name)
            sys.exit(0)
        if first in COMPLETION_FLAGS:
            self.print_completion(words)
        for verb in self.verbs:
            if verb.name == first:
                sys.exit(run(verb.load(), f"{self.name} {first}", words[1:]))
        self._check_verb(first)
        if self.needs_arguments and not words:
            with contextlib.suppress(SystemExit):
                run(self.load(), self.name, ["--help"], self.verbs)
            sys.exit(1)
        sys.exit(run(self.load(), self.name, words, self.verbs))

    def print_completion(self, words: Words) -> None:
        """Print or write the completion script of a shell, sub-commands included."""
        import tyro

        own = self.load()
        kinds: Any = own.kind
        for verb in self.verbs:
            name = tyro.conf.subcommand(verb.name, description=verb.summary)
            kinds = kinds | Annotated[verb.load().kind, name]
        settings_of_own = (tyro.conf.CascadeSubcommandArgs,)
        tyro.cli(kinds, prog=self.name, args=list(words), config=settings_of_own)

    def _check_verb(self, first: str) -> None:
        if not self.verbs or not first or first.startswith("-"):
            return
        names = [verb.name for verb in self.verbs]
        misspelt = difflib.get_close_matches(first, names, n=1)
        if not self.takes_paths or (misspelt and not Path(first).exists()):
            raise UnknownNameError("sub-command", first, names)


def print_version(program: str) -> None:
    """Print the program's name and the version of the package."""
    sys.stdout.write(f"{program} {__version__}\n")


def run(command: Command[Any], program: str, words: Words, verbs: Sequence[Verb] = ()) -> int:
    """Parse a command and call its function; return the exit code."""
    if "--version" in words[:1]:
        print_version(program)
        return 0
    parsed = parse(command.kind, program, words, command.start, verbs, command.kind_of)
    result = call(command.function, parsed)
    return result if isinstance(result, int) else 0


def call(function: Callable[[Config], object], command: Config) -> object:
    """Call the function of a command. Tests replace this to see parsed settings."""
    return function(command)


def parse(
    kind: type[Config],
    program: str,
    words: Words | None = None,
    start: Callable[[Lookup], Config] | None = None,
    verbs: Sequence[Verb] = (),
    kind_of: Callable[[Lookup], type[Config]] | None = None,
) -> Config:
    """Build a configuration from flags, on top of the file named by `--config` if there is one.

    Args:
        kind: Dataclass of the settings; its docstring is the help text.
        program: Name of the command.
        words: Arguments; those of this process by default.
        start: Chooses the defaults. It can look up flags that were given.
        verbs: Sub-commands to list in the help text.
        kind_of: Chooses a subclass of `kind`; it can look up flags, too.
    """
    import tyro  # here, so that other users of this module need no command-line library

    given = list(sys.argv[1:] if words is None else words)
    given = plain_flags(kind, split_config(given))
    content: Mapping[str, Any] = {}
    where = "command line"
    if "--config" in given:
        place = given.index("--config")
        if place + 1 == len(given):
            raise settings.ConfigError("--config needs the path of a YAML file.")
        where = given[place + 1]
        content = settings.load(Path(where))
        del given[place : place + 2]

    def lookup(name: str, otherwise: str) -> str:
        found = str(content.get(name, otherwise))
        for word, following in itertools.pairwise([*given, ""]):
            if word == f"--{name}" or word.startswith(f"--{name}="):
                found = word.partition("=")[2] or following  # the last one counts
        return found

    if kind_of is not None:
        kind = kind_of(lookup)
    default: Config | None = None
    if start is not None:
        default = start(lookup)
    elif not _required(kind):
        default = kind()
    if default is not None:
        default = settings.from_dict(kind, content, where, default)
    elif content:
        raise settings.ConfigError(f"{program} takes no --config.")
    description = _description(kind, program, verbs, with_file=default is not None)
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), _unwrapped(given), _reader_may_leave():
            return tyro.cli(
                kind, prog=program, description=description, args=given, default=default
            )  # type: ignore[return-value]  # without a default, too
    except SystemExit as stop:
        if stop.code and errors.getvalue():
            sys.stderr.write(f"{program}: {usage_error(errors.getvalue(), program)}\n")
        raise


@contextlib.contextmanager
def _reader_may_leave() -> Iterator[None]:
    """Exit without an error if the reader closes the pipe, as in `--help | head`."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


@contextlib.contextmanager
def _unwrapped(words: Words) -> Iterator[None]:
    """Give tyro a wide terminal, so that errors wrap no path; help keeps the real width."""
    width = os.environ.get("COLUMNS")
    if not {"-h", "--help"} & set(words):
        os.environ["COLUMNS"] = "10000"
    try:
        yield
    finally:
        os.environ.pop("COLUMNS", None)
        if width is not None:
            os.environ["COLUMNS"] = width


def usage_error(box: str, program: str) -> str:
    """Write the error box of tyro as one line, with the names of flags that may be meant."""
    message: list[str] = []
    meant: list[str] = []
    in_message = True
    for line in box.splitlines()[1:]:  # the first line is the title
        text = line.strip("│|╭╮╰╯+ ")
        if text and set(text) <= set("─-"):
            in_message = in_message and not message  # a rule ends the message
        elif in_message:
            message.append(text)
        elif text.startswith("--"):
            meant.append(text.split()[0].rstrip(","))
    meant = [flag for flag in dict.fromkeys(meant) if f" {flag}:" not in box]
    sentence = " ".join(" ".join(message).split()).rstrip(".")
    hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
    return f"{sentence}.{hint} See {program} --help."


def split_config(words: Words) -> list[str]:
    """Write `--config=FILE` as two words."""
    split: list[str] = []
    for word in words:
        if word.startswith("--config="):
            split += word.split("=", 1)
        else:
            split.append(word)
    return split


def plain_flags(kind: type, words: Words) -> list[str]:
    """Write `--flag True` and `--flag=False` of version 0.1 as `--flag` and `--no-flag`."""
    switches = set(boolean_flags(kind))
    plain: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        if name not in switches:
            plain.append(word)
            continue
        if not equals and position < len(words) and words[position] in BOOLEANS:
            value = words[position]
            position += 1
        if value == "False":
            before, dot, last = name.removeprefix("--").rpartition(".")
            plain.append(f"--{before}{dot}no-{last}")
        elif value in ("True", ""):
            plain.append(name)
        else:
            raise SoloError(f"{name} {value}: expected True or False.")
    return plain


def boolean_flags(kind: type, prefix: str = "--") -> Iterator[str]:
    """Yield the flags of a dataclass that are true or false, nested parts included."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        name = prefix + field.name.replace("_", "-")
        if hints[field.name] is bool:
            yield name
        elif dataclasses.is_dataclass(hints[field.name]):
            yield from boolean_flags(hints[field.name], f"{name}.")


def _required(kind: type) -> bool:
    """Return True if a dataclass has a field without a default."""
    missing = dataclasses.MISSING
    return any(
        field.default is missing and field.default_factory is missing
        for field in dataclasses.fields(kind)
    )


def _description(kind: type, program: str, verbs: Sequence[Verb], *, with_file: bool) -> str:
    paragraphs = [inspect.getdoc(kind) or ""]
    if verbs:
        lines = [f"  {program} {verb.name}: {verb.summary}" for verb in verbs]
        help_line = f"Their settings: `{program} {verbs[0].name} --help`, and so on."
        paragraphs.append("\n".join(["Sub-commands:", "", *lines, "", help_line]))
    if with_file:
        paragraphs.append(FILE_HELP)
    paragraphs.append(PLAIN_HELP)
    return "\n\n".join(paragraphs)
