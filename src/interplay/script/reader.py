"""Reads YAML as plain data that remembers its lines. No aliases, tags, merge keys or duplicates; limits on size, depth and nodes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from interplay.errors import InputError

LARGEST, DEEPEST, MOST_NODES, LONGEST_NUMBER = 500_000, 24, 20_000, 40
"""Largest file [bytes], deepest nesting, most nodes, longest number [characters]."""

_INT = re.compile(r"[-+]?[0-9]+$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class Problem(NamedTuple):
    """Something wrong in a file, with its line; a warning does not keep it from running."""

    line: int
    message: str
    warning: bool = False
    path: tuple[Any, ...] = ()
    """Keys and indices that lead to it, where they are known."""
    left_out: bool = False
    """Whether what is wrong has been left out, so that the rest can be looked at."""


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems in the order of their lines, each once and on one line, whatever the names in it are made of."""
    plain = (p._replace(message="".join(c if c.isprintable() else " " for c in p.message)) for p in problems)
    return sorted({(p.line, p.message): p for p in plain}.values(), key=lambda p: (p.line, p.message))


class ScriptError(InputError):
    """A scenario file cannot be used: all its problems, each with file and line."""

    def __init__(self, name: str, problems: list[Problem]):
        """Take the file's name and what is wrong."""
        self.name, self.problems = name, in_order(problems)
        super().__init__("\n".join(f"{name}:{p.line}: {p.message}" for p in self.problems))


class Text(str):
    """A string of a file, with the line it stands on."""

    line: int

    def __new__(cls, value: str, line: int) -> Text:
        """Keep the line."""
        out = super().__new__(cls, value)
        out.line = line
        return out


class Document(NamedTuple):
    """What a file says: its data, and the line of each entry of each of its mappings and lists (by identity)."""

    name: str
    text: str
    data: Any
    lines: dict[int, dict[Any, int]]
    problems: list[Problem]
    known: frozenset[Problem] = frozenset()
    """Problems that have been told already, and do not matter any more."""

    def path(self, steps: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return those of some keys and indices that lead on in the data; others (kinds, alternatives) are left out."""
        at, out = self.data, []
        for step in steps:
            if (isinstance(at, dict) and step in at) or (isinstance(at, list) and _inside(step, at)):
                at = at[step]
                out.append(step)
        return tuple(out)

    def line(self, steps: tuple[Any, ...]) -> int:
        """Return the line a path of keys and indices leads to."""
        at, line = self.data, 1
        for step in self.path(steps):
            line, at = self.lines[id(at)][step], at[step]
        return line

    def line_of(self, item: Any) -> int:
        """Return the line of a mapping or list: that of its first entry."""
        return min(self.lines.get(id(item), {}).values(), default=1)


def _inside(step: Any, items: list[Any]) -> bool:
    return isinstance(step, int) and 0 <= step < len(items)


def read(path: Path) -> Document:
    """Read a file."""
    try:
        if not path.is_file():
            raise InputError(f"cannot read {str(path)!r}: no such file")
        if path.stat().st_size > LARGEST:
            raise ScriptError(path.name, [Problem(1, f"larger than {LARGEST // 1000} kB is no scenario file")])
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ScriptError(path.name, [Problem(line, "not a text in UTF-8")]) from None
    return parse(text, path.name)


def parse(text: str, name: str) -> Document:
    """Return the document of a text; what cannot be read at all raises, the rest is listed in ``problems``."""
    if len(text) > LARGEST:
        raise ScriptError(name, [Problem(1, f"larger than {LARGEST // 1000} kB is no scenario file")])
    composer = _Composer()
    try:
        data = composer.document(yaml.parse(text, yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(f"{error.context or ''} {error.problem or ''}".split())
        problem = Problem(mark.line + 1 if mark else 1, f"not readable as YAML: {what}")
        raise ScriptError(name, [*composer.problems, problem]) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise ScriptError(name, [Problem(line, "a character that YAML does not allow")]) from None
    except _TooMuch as error:
        raise ScriptError(name, [*composer.problems, error.args[0]]) from None
    return Document(name, text, data, composer.lines, composer.problems)


class _TooMuch(Exception):
    """Nothing that anyone wrote by hand."""


class _Composer:
    """Makes data from YAML events."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.lines: dict[int, dict[Any, int]] = {}
        self._nodes = 0

    def document(self, events: Iterator[Any]) -> Any:
        """Return the data of the one document."""
        data = None
        for count, event in enumerate(e for e in events if not isinstance(e, _FRAME)):
            if count:
                raise _TooMuch(Problem(event.start_mark.line + 1, "expected one document, got a second one"))
            data = self._node(event, events, 0)
        return data

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Any:
        line = event.start_mark.line + 1
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise _TooMuch(Problem(line, f"more than {MOST_NODES} entries"))
        if depth > DEEPEST:
            raise _TooMuch(Problem(line, f"nested deeper than {DEEPEST} levels"))
        if isinstance(event, yaml.AliasEvent):
            self._say(line, f"aliases (*{event.anchor}) are not allowed: name a set of objectives or a mark instead")
            return None
        if event.anchor is not None:
            self._say(line, f"anchors (&{event.anchor}) are not allowed: name a set of objectives or a mark instead")
        if event.tag is not None:
            self._say(line, f"tags ({event.tag}) are not allowed: a file holds numbers, texts, lists and mappings")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, line)
        return (self._mapping if isinstance(event, yaml.MappingStartEvent) else self._list)(events, depth)

    def _list(self, events: Iterator[Any], depth: int) -> list[Any]:
        out: list[Any] = []
        lines = self.lines[id(out)] = {}
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            lines[len(out)] = event.start_mark.line + 1
            out.append(self._node(event, events, depth + 1))
        return out

    def _mapping(self, events: Iterator[Any], depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        lines = self.lines[id(out)] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = event.start_mark.line + 1
            key = self._node(event, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            if not isinstance(event, yaml.ScalarEvent):
                self._say(line, "expected a name before the colon")
            elif event.value == "<<":
                self._say(line, "merge keys (<<) are not allowed: name a set of objectives instead")
            elif (name := Text(event.value, line)) in out:
                self._say(line, f"{str(name)!r} is given twice, first on line {lines[name]}")
            else:
                del key  # a name is taken as it is written, also where it looks like a number
                out[name], lines[name] = value, line
        return out

    def _scalar(self, event: Any, line: int) -> Any:
        text = event.value
        if event.style is not None:  # quoted, or a block of text
            return Text(text, line)
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if not _FLOAT.match(text):
            return Text(text, line)
        value = math.inf if len(text) > LONGEST_NUMBER else int(text) if _INT.match(text) else float(text)
        if not abs(value) < 1e300:
            self._say(line, f"expected a finite number, got {text[:LONGEST_NUMBER]}")
            return 0.0
        return value

    def _say(self, line: int, message: str) -> None:
        self.problems.append(Problem(line, message, left_out=True))


_FRAME = (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentStartEvent, yaml.DocumentEndEvent)
