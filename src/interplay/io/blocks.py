"""The file under a recording: append-only blocks, each checked and compressed, readable up to the last whole one.

File = magic, then blocks of (length, CRC-32, zlib-compressed payload). A payload is a JSON part and named arrays. Columns of 64
bits are stored as third differences over time (of their bit patterns, if they are floats), column by column, bytes of one
significance together: exact, and small for smooth motion.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from interplay.errors import InputError

MAGIC = b"INTERPLAY2\n"

_HEAD = struct.Struct("<QI")
_ORDER, _DIFFERENCED = 3, ("<f8", "<i8")

Block = tuple[dict[str, Any], dict[str, np.ndarray]]


def encode(info: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return a block as bytes."""
    payload = pack(info, arrays)
    return _HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def whole(path: Path) -> tuple[list[tuple[int, int]], bool]:
    """Return where the sound blocks of a file lie (offset, size), and whether they are all of it; a broken tail is left out."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"no recording at {str(path)!r}: {error.strerror or error}") from None
    if not raw.startswith(MAGIC):
        raise InputError(f"{str(path)!r} is not a recording")
    found, at = [], len(MAGIC)
    while at < len(raw):
        if at + _HEAD.size > len(raw):
            return found, False
        size, crc = _HEAD.unpack_from(raw, at)
        begin = at + _HEAD.size
        if begin + size > len(raw) or zlib.crc32(raw[begin : begin + size]) != crc:
            return found, False
        found.append((begin, size))
        at = begin + size
    return found, True


def load(path: Path, places: list[tuple[int, int]]) -> Iterator[Block]:
    """Yield the blocks at some places of a file, one after another."""
    with open(path, "rb") as file:
        for begin, size in places:
            file.seek(begin)
            yield unpack(file.read(size))


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


def unpack(payload: bytes) -> Block:
    """Return what ``pack`` packed."""
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
