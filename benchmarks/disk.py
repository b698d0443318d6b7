"""A simulated disk after a power cut: synced data is there, unsynced data may be there in part and in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.operations import Operation

SECTOR = 512  # number of bytes that a disk writes atomically

KINDS = ("all", "synced", "torn", "reordered")

Change = tuple[str, str, int]
"""A change of names in a folder: the name removed (or empty), the name added (or empty), and the object it refers to."""


@dataclass(slots=True)
class _File:
    now: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    pending: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        self.synced, self.pending = bytes(self.now), []

    def torn(self, draw: Random) -> bytes:
        content = bytearray(self.synced)
        chosen = [operation for operation in self.pending if draw.random() < 0.5]
        for operation in chosen[:-1]:
            _apply(operation, content)
        for operation in chosen[-1:]:
            _apply(operation, content, draw.randrange(0, len(operation.data) + SECTOR, SECTOR))
        return bytes(content)


@dataclass(slots=True)
class _Folder:
    now: dict[str, int] = field(default_factory=dict)
    synced: dict[str, int] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)

    def change(self, gone: str, come: str, what: int) -> None:
        self.pending.append((gone, come, what))
        _rename(self.now, gone, come, what)

    def sync(self) -> None:
        self.synced, self.pending = dict(self.now), []

    def reordered(self, draw: Random) -> dict[str, int]:
        names = dict(self.synced)
        for gone, come, what in self.pending:
            if draw.random() < 0.5:
                _rename(names, gone, come, what)
        return names


def _rename(names: dict[str, int], gone: str, come: str, what: int) -> None:
    names.pop(gone, None)
    if come:
        names[come] = what


def _apply(operation: Operation, content: bytearray, most: int | None = None) -> None:
    """Apply a write or a truncation; of a write, at most `most` bytes."""
    if operation.kind == "t":
        content.extend(bytes(max(0, operation.number - len(content))))
        del content[operation.number :]
        return
    data, at = operation.data[:most], operation.number
    content.extend(bytes(max(0, at - len(content))))
    content[at : at + len(data)] = data


class Disk:
    def __init__(self, folder: Path) -> None:
        """Everything in the folder counts as synced."""
        self._root = str(folder)
        self._things: list[_File | _Folder] = [_Folder()]
        self._open: dict[int, int] = {}
        self._from = ""
        for path in sorted(folder.rglob("*")):
            self._link(str(path), self._new(_Folder() if path.is_dir() else _File(bytearray(path.read_bytes()))))
        for thing in self._things:
            thing.sync()

    def do(self, operation: Operation) -> None:
        kind = operation.kind
        if kind == "o":
            self._open[operation.file] = self._opened(operation.path, empty=operation.number == 1)
        elif kind in "wt":
            file = self._things[self._open[operation.file]]
            assert isinstance(file, _File)
            file.pending.append(operation)
            _apply(operation, file.now)
        elif kind == "s":
            self._things[self._open[operation.file]].sync()
        elif kind == "c":
            del self._open[operation.file]
        elif kind == "f":
            self._from = operation.path
        elif kind == "r":
            self._rename(self._from, operation.path)
        elif kind == "m":
            self._link(operation.path, self._new(_Folder()))
        else:
            folder, name = self._parent(operation.path)
            folder.change(name, "", 0)

    def states(self, draw: Random) -> dict[str, dict[str, bytes | None]]:
        """One state of each kind: contents by path, None for a folder."""
        return {kind: dict(self._state(kind, draw, 0, "")) for kind in KINDS}

    def _state(self, kind: str, draw: Random, number: int, path: str) -> Iterator[tuple[str, bytes | None]]:
        thing = self._things[number]
        if isinstance(thing, _File):
            if kind == "torn":
                yield path, thing.torn(draw)
            else:
                lost = kind == "synced" or (kind == "reordered" and draw.random() < 0.5)
                yield path, thing.synced if lost else bytes(thing.now)
            return
        if path:
            yield path, None
        names = thing.synced if kind == "synced" else thing.now
        if kind == "reordered":
            names = thing.reordered(draw)
        for name, what in sorted(names.items()):
            yield from self._state(kind, draw, what, f"{path}/{name}" if path else name)

    def _new(self, thing: _File | _Folder) -> int:
        self._things.append(thing)
        return len(self._things) - 1

    def _parent(self, path: str) -> tuple[_Folder, str]:
        *parents, name = path.removeprefix(self._root).strip("/").split("/")
        folder = self._things[0]
        for parent in parents:
            assert isinstance(folder, _Folder)
            folder = self._things[folder.now[parent]]
        assert isinstance(folder, _Folder)
        return folder, name

    def _link(self, path: str, what: int) -> None:
        folder, name = self._parent(path)
        folder.change("", name, what)

    def _opened(self, path: str, *, empty: bool) -> int:
        if path == self._root:
            return 0
        folder, name = self._parent(path)
        if name not in folder.now:
            self._link(path, self._new(_File()))
        elif empty:
            file = self._things[folder.now[name]]
            assert isinstance(file, _File)
            file.pending.append(Operation("t", 0, 0, b""))
            file.now.clear()
        return folder.now[name]

    def _rename(self, old: str, new: str) -> None:
        (source, was), (target, name) = self._parent(old), self._parent(new)
        what = source.now[was]
        if source is target:
            source.change(was, name, what)
        else:
            target.change("", name, what)
            source.change(was, "", 0)
