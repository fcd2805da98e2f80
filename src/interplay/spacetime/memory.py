"""The C library's memory: kept from one factorisation to the next.

MUMPS allocates its work space (tens of MB) anew in every factorisation. Blocks as large as that come from the system and go back to it, so that
each of their pages is cleared and mapped again: a tenth of all seconds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

TRIM, MMAP = -1, -3
"""Parameters of glibc's mallopt: how much that is free on top of the heap goes back, and how large a block is mapped on its own [bytes]."""
ALL, USUAL = 2**31 - 1, {TRIM: 2**26, MMAP: 2**25}
"""What keeps everything, and what glibc itself comes to, once blocks that large were freed."""


@contextmanager
def memory_kept() -> Iterator[None]:
    """Have freed memory kept until the end; with a C library that cannot be told so, nothing changes."""
    try:
        library = ctypes.CDLL(None)
        tell, trim = library.mallopt, library.malloc_trim
    except (OSError, TypeError, AttributeError):
        yield
        return
    for parameter in USUAL:
        tell(parameter, ALL)
    try:
        yield
    finally:
        for parameter, usual in USUAL.items():
            tell(parameter, usual)
        trim(ctypes.c_size_t(0))
