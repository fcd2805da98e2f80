"""Many measurements at once, each independent of the others: in this process, in some of this machine, or wherever a scheduler sends them.

What is measured depends on the case alone (whatever is random in it is drawn from a seed in it), so that neither the number of workers
nor the order in which they finish changes anything. A worker that dies loses nothing: its case goes to another one. Cases and what is
found travel as pickles; models are built where they are needed, and kept there. Each worker counts with one thread.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from interplay.errors import InputError, InterplayError, whole

Case = TypeVar("Case")
Found = TypeVar("Found")

DEATHS = 3
"""So many workers in a row die of a case before it is given up."""
ANSWERS_WITHIN = "10s"
"""How long a scheduler is waited for."""
EXPECTED = "expected how many processes, or the address of a dask scheduler such as tcp://host:8786"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""What tells numerical libraries how many threads they may use."""


class Pool(Protocol):
    """Measures cases: ``with pool(2) as many: for k, found in many.done(measure, cases): …``; who works for it stays until the end."""

    def done(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        """Yield which case is done, and what was found in it, in any order. ``measure`` is a function of a module."""
        ...


@contextmanager
def pool(workers: int | str) -> Iterator[Pool]:
    """Open a pool: 1 for this process alone, 2 … 64 processes of this machine, or the address of a dask scheduler (``tcp://host:8786``)."""
    if isinstance(workers, str) and "://" in workers:
        with _dask(workers) as client:
            yield _Cluster(client)
        return
    if isinstance(workers, str):
        try:
            workers = int(workers)
        except ValueError:
            raise InputError(f"workers: {EXPECTED}, got {workers!r}") from None
    count = whole("workers", workers, 1, 64)
    if count == 1:
        yield _Here()
        return
    processes = _Processes(count)
    try:
        yield processes
    finally:
        processes.close()


def measured(measure: Callable[[Case], Found], cases: Sequence[Case], workers: int | str) -> Iterator[Found]:
    """Yield what is found in each case, as it is: in any order."""
    with pool(workers) as many:
        for _, found in many.done(measure, cases):
            yield found


class _Here:
    """The process that asks."""

    def done(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        for k, case in enumerate(cases):
            yield k, measure(case)


# -- processes of this machine -----------------------------------------------------------------------------------------


class _Worker:
    """A process, the connection to it, and the case it is at."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _one_thread_each():
            self.process.start()
        theirs.close()
        self.case: int | None = None


class _Processes:
    """Processes that are started when there is something to do."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._workers: list[_Worker] = []

    def done(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        waiting, deaths = deque(range(len(cases))), [0] * len(cases)
        try:
            while waiting or any(worker.case is not None for worker in self._workers):
                self._workers += [_Worker() for _ in range(min(self._count, len(waiting)) - len(self._workers))]
                for worker in self._workers:
                    if worker.case is None and waiting:
                        worker.case = waiting.popleft()
                        _send(worker, (measure, cases[worker.case]))
                busy = {worker.pipe: worker for worker in self._workers if worker.case is not None}
                for pipe in wait(list(busy)):
                    worker = busy[pipe]  # type: ignore[index]
                    k: int = worker.case  # type: ignore[assignment]
                    try:
                        well, found = worker.pipe.recv()
                    except (EOFError, OSError):
                        self._dismiss(worker)
                        deaths[k] += 1
                        if deaths[k] == DEATHS:
                            code = worker.process.exitcode
                            raise InterplayError(
                                f"{DEATHS} workers in a row have died of case {k} (exit code {code})"
                            ) from None
                        waiting.appendleft(k)
                        continue
                    worker.case = None
                    if not well:
                        raise found
                    yield k, found
        except BaseException:
            self.close()  # nobody is waiting any more for what they are at
            raise

    def _dismiss(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.terminate()
        worker.process.join()
        worker.pipe.close()

    def close(self) -> None:
        for worker in list(self._workers):
            self._dismiss(worker)


def _send(worker: _Worker, what: Any) -> None:
    with suppress(BrokenPipeError, ConnectionError):  # it has died; who waits for its answer finds out
        worker.pipe.send(what)


def _work(pipe: Connection) -> None:
    """Measure what comes, until nothing does. Ctrl-C is for who has asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            measure, case = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, measure(case)
        except Exception as error:
            answer = False, _portable(error)
        pipe.send(answer)


def _portable(error: Exception) -> Exception:
    """Return an error that can travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return InterplayError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that begin now count with one thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# -- dask --------------------------------------------------------------------------------------------------------------

_TURN = threading.Lock()
"""Held by who measures: what is kept between cases is no thing for two threads of a worker at once."""


class _Cluster:
    """The workers of a dask scheduler, which gives the cases of one that dies to others."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def done(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        asked = {self._client.submit(_in_turn, measure, case, pure=False): k for k, case in enumerate(cases)}
        try:
            for future in as_completed(list(asked)):
                try:
                    yield asked[future], future.result()
                except KilledWorker as error:
                    raise InterplayError(f"workers have died of case {asked[future]}: {error}") from None
                future.release()
        finally:
            for future in asked:
                future.cancel()


def _in_turn(measure: Callable[[Case], Found], case: Case) -> Found:
    with _TURN:
        return measure(case)


@contextmanager
def _dask(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            f"workers {address!r}: dask is missing; install it with: pip install 'interplay[dask]'"
        ) from None
    try:
        client = Client(address, timeout=ANSWERS_WITHIN)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"workers: {EXPECTED}, got {address!r}, where none answers: {error}") from None
    try:
        yield client
    finally:
        client.close()
