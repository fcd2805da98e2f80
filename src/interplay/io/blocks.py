"""The file under a recording: append-only blocks, each marked, checked and compressed; what is damaged costs its own block alone.

File = magic, then blocks of (marker, length, CRC-32, zlib-compressed payload). A payload is a JSON part and named arrays. Columns
of 64 bits are stored as third differences over time (of their bit patterns, if they are floats), column by column, bytes of one
significance together: exact, and small for smooth motion. No block needs another one to be read.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.errors import InputError

MAGIC = b"INTERPLAY3\n"

_FAMILY = b"INTERPLAY"
_MARKER = b"\xb1block\r\n"
"""Begins each block; where one is damaged, the next is found by it."""

_HEAD = struct.Struct("<8sQI")
_ORDER, _DIFFERENCED = 3, ("<f8", "<i8")

Block = tuple[dict[str, Any], dict[str, np.ndarray]]


class Survey(NamedTuple):
    """What of a file can be read."""

    places: list[tuple[int, int]]
    """Offset and size of the payload of each sound block."""
    end: int
    """Where the last sound block ends."""
    torn: bool
    """Whether something that cannot be read follows it."""


def encode(info: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return a block as bytes."""
    payload = pack(info, arrays)
    return _HEAD.pack(_MARKER, len(payload), zlib.crc32(payload)) + payload


def survey(path: Path) -> Survey:
    """Find the sound blocks of a file: after damage, from the next marker on."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"no recording at {str(path)!r}: {error.strerror or error}") from None
    places, end, at = [], len(MAGIC), raw.find(_MARKER)
    while 0 <= at <= len(raw) - _HEAD.size:
        _, size, crc = _HEAD.unpack_from(raw, at)
        begin = at + _HEAD.size
        if begin + size <= len(raw) and zlib.crc32(memoryview(raw)[begin : begin + size]) == crc:
            places.append((begin, size))
            at = end = begin + size
            if raw[at : at + len(_MARKER)] == _MARKER:
                continue
        at = raw.find(_MARKER, at + 1)
    if not places and not raw.startswith(MAGIC):
        other = raw.startswith(_FAMILY)
        what = "is a recording of another version of Interplay: record it again" if other else "is not a recording"
        raise InputError(f"{str(path)!r} {what}")
    return Survey(places, end, end < len(raw))


def load(path: Path, places: list[tuple[int, int]], only: Collection[str] | None = None) -> Iterator[Block]:
    """Yield the blocks at some places of a file, one after another; of their arrays ``only`` some, where they are named."""
    with open(path, "rb") as file:
        for begin, size in places:
            file.seek(begin)
            yield unpack(file.read(size), only)


def pack(info: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the compressed payload of a block."""
    text = json.dumps(info).encode()
    parts = [struct.pack("<I", len(text)), text]
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        data = _differences(array) if array.dtype.str in _DIFFERENCED and array.size else array.tobytes()
        head = json.dumps([name, array.dtype.str, array.shape, len(data)]).encode()
        parts += [struct.pack("<I", len(head)), head, data]
    return zlib.compress(b"".join(parts), 6)


def unpack(payload: bytes, only: Collection[str] | None = None) -> Block:
    """Return what ``pack`` packed; of the arrays ``only`` some, where they are named."""
    raw, arrays = zlib.decompress(payload), {}
    (size,) = struct.unpack_from("<I", raw)
    at = 4 + size
    info = json.loads(raw[4:at])
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        name, dtype, shape, length = json.loads(raw[at + 4 : at + 4 + size])
        at += 4 + size
        data = raw[at : at + length]
        at += length
        if only is not None and name not in only:
            continue
        if dtype in _DIFFERENCED and length:
            arrays[name] = _sums(data, shape).view(dtype)
        else:
            arrays[name] = np.frombuffer(data, dtype).reshape(shape).copy()
    return info, arrays


def _differences(array: np.ndarray) -> bytes:
    bits = array.view(np.int64).reshape(len(array), -1)
    for _ in range(_ORDER):
        bits = np.diff(bits, axis=0, prepend=np.zeros((1, bits.shape[1]), np.int64))
    return np.ascontiguousarray(bits.T).view(np.uint8).reshape(-1, 8).T.tobytes()


def _sums(data: bytes, shape: list[int]) -> np.ndarray:
    bits = np.frombuffer(data, np.uint8).reshape(8, -1).T.copy().view(np.int64).reshape(-1, shape[0]).T
    for _ in range(_ORDER):
        bits = np.cumsum(bits, axis=0)
    return np.ascontiguousarray(bits).reshape(shape)
