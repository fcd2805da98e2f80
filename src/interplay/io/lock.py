"""A folder of results belongs to one run at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interplay.errors import InputError, cannot_write


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Make a folder, and keep others from writing results into it; whoever holds it already is waited for by nobody.

    The lock is on the folder itself: it leaves no file, and ends with the process, however that ends.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing to {str(folder)!r}: wait for its end, or choose another folder"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)
