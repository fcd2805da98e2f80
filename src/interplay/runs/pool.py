"""Many measurements, each independent of the others, in some processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from interplay.errors import whole

Case = TypeVar("Case")
Found = TypeVar("Found")


def measured(measure: Callable[[Case], Found], cases: Sequence[Case], workers: int) -> Iterator[Found]:
    """Yield what is found in each case, as it is: in any order."""
    if whole("workers", workers, 1, 64) == 1:
        yield from map(measure, cases)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for found in as_completed([pool.submit(measure, case) for case in cases]):
            yield found.result()
