"""The door of the stage: viser's server on loopback, with a guard before it.

viser serves whoever connects: it accepts pages of foreign origin, lets any browser open a public tunnel, take attributes of its
GUI elements apart and send files. The guard lets in only pages that this server has served itself, and only the few kinds of
messages that the stage is made for, small, well-formed and finite.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import http
import io
import ipaddress
import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
import msgspec.structs
import viser
import websockets.asyncio.server
import websockets.exceptions
import websockets.sync.client
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Origin, Subprotocol

from interplay.errors import InputError, InterplayError

LARGEST = 65536
"""Bytes of the largest message a browser may send."""
FARTHEST = 1e6
"""Largest number that is listened to."""
PER_SECOND = 2000
"""Messages that are read from one browser in a second; more have to wait."""
SEATS = 24
"""Browsers that are let in at the same time."""
SILENCE = 20.0
"""Seconds after which a browser is asked whether it still reads, and within which it must answer; else it has to leave."""
BACKLOG = 1 << 18
"""Bytes on their way to one browser. What is newer waits here, where a later value replaces it: a slow browser sees fewer frames,
not old ones."""

Triple: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]


class _Spoken(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    """What browsers may say. All else that viser understands (tunnels, uploads, renderings, forms) is not listened to."""


class _Camera(_Spoken, tag="ViewerCameraMessage"):
    wxyz: Quaternion
    position: Triple
    fov: float
    near: float
    far: float
    image_height: int
    image_width: int
    look_at: Triple
    up_direction: Triple


class _Field(_Spoken, tag="GuiUpdateMessage"):
    uuid: str
    updates: dict[str, Any]


class _Drag(_Spoken, tag="TransformControlsUpdateMessage"):
    name: str
    wxyz: Quaternion
    position: Triple
    owner: str = ""


class _DragStart(_Spoken, tag="TransformControlsDragStartMessage"):
    name: str
    owner: str = ""


class _DragEnd(_Spoken, tag="TransformControlsDragEndMessage"):
    name: str
    owner: str = ""


class _Click(_Spoken, tag="ScenePointerMessage"):
    event_type: Literal["click"]
    ray_origin: Triple
    ray_direction: Triple
    screen_pos: tuple[tuple[float, float]]
    modifier: str | None = None


class _Any(msgspec.Struct):
    type: Any = None


_loosely = msgspec.msgpack.Decoder(_Any)
_strictly = msgspec.msgpack.Decoder(_Camera | _Field | _Drag | _DragStart | _DragEnd | _Click)
_known = {kind.__struct_config__.tag for kind in _Spoken.__subclasses__()}

_log = logging.getLogger("interplay.stage")
_patching = threading.Lock()


class FrontError(InterplayError):
    """The server cannot be opened, or would let strangers in."""


class Malformed(Exception):
    """A message that no browser of ours would send."""


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's own, out of reach from others."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def admitted(headers: Headers, host: str) -> bool:
    """Return whether a request may come in, by its ``Host`` and ``Origin``.

    A page of another site has another origin than the host it calls. A site that points its own name at this machine (DNS
    rebinding) shows that name as host; only addresses, localhost, the name we were told to serve and, where others may come in,
    this machine's own names are ours. Nothing is looked up: what a name leads to is for its owner to say.
    """
    try:
        called = headers.get_all("Host")
        origins = headers.get_all("Origin")
        if len(called) != 1 or len(origins) > 1:
            return False
        name = urlsplit(f"//{called[0]}").hostname or ""
        if is_loopback(host):
            ours = is_loopback(name)
        else:
            ours = is_loopback(name) or _is_address(name) or name.lower() in {host.lower(), *own_names()}
        return ours and (not origins or origins[0].lower() in {f"{s}://{called[0].lower()}" for s in ("http", "https")})
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


@functools.cache
def own_names() -> tuple[str, ...]:
    """Return the names by which others may know this machine."""
    name = socket.gethostname().lower()
    return name, f"{name}.local", socket.getfqdn().lower()


def check(raw: Any) -> bool:
    """Return whether a message is one to listen to; raise :class:`Malformed` where no browser of ours could have sent it."""
    if not isinstance(raw, bytes):
        raise Malformed("text")
    try:
        kind = _loosely.decode(raw).type
        if not isinstance(kind, str) or kind not in _known:
            return False
        message = _strictly.decode(raw)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise Malformed(str(error)) from None
    near = _near(msgspec.structs.asdict(message), 3)
    if isinstance(message, _Field) and set(message.updates) != {"value"}:
        return False  # viser would set any attribute
    return near


def _near(value: Any, depth: int) -> bool:
    """Return whether no number is huge: those can be typed, so they are no reason to hang up.

    Numbers that are not finite, long texts and deep nesting are.
    """
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int | float):
        if not math.isfinite(value):
            raise Malformed(f"number {value!r}")
        return abs(value) <= FARTHEST
    if isinstance(value, str):
        if len(value) > 512:
            raise Malformed("long text")
        return True
    if isinstance(value, list | tuple | dict) and depth and len(value) <= 64:
        return all(_near(item, depth - 1) for item in (value.values() if isinstance(value, dict) else value))
    raise Malformed(f"{type(value).__name__} in a message")


def open_server(host: str, port: int) -> viser.ViserServer:
    """Open the guarded server (port 0: a free one) and make sure that the guard stands."""
    try:
        with socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, reuse_port=False
        ):
            pass  # viser would try a thousand other ports, and never return where the host is wrong
    except (OSError, OverflowError, UnicodeError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "it is taken; choose another one, or 0 for any that is free" if taken else error
        raise InputError(f"cannot listen on {host!r} port {port}: {reason}") from None
    with _guarding(host), contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, verbose=False)
    server.get_event_loop().set_exception_handler(lambda _, context: _log.debug("%s", context.get("message")))
    try:
        _probe(host, server.get_port())
    except BaseException:
        close_server(server)
        raise
    return server


def close_server(server: viser.ViserServer) -> None:
    """Close the server, quietly."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


@contextlib.contextmanager
def _guarding(host: str) -> Iterator[None]:
    """Let a server that is made meanwhile be guarded: viser has no hook for it, so its way to open one is wrapped."""
    plain, seated = websockets.asyncio.server.serve, [0]

    def serve(handler: Callable[..., Any], *args: Any, **options: Any) -> Any:
        answer = options.pop("process_request", None)

        def admit(connection: Any, request: Request) -> Response | None:
            if not admitted(request.headers, host):
                return _refusal(http.HTTPStatus.FORBIDDEN, "This stage answers only to its own page.")
            if request.headers.get("Upgrade") is not None and seated[0] >= SEATS:
                return _refusal(http.HTTPStatus.SERVICE_UNAVAILABLE, "All seats are taken.")
            response = answer(connection, request) if answer is not None else None
            if response is not None:
                response.headers["X-Frame-Options"] = "DENY"  # no foreign page around ours that catches clicks
                response.headers["X-Content-Type-Options"] = "nosniff"
            return response

        async def seat(connection: Any) -> None:
            seated[0] += 1
            connection.recv = _listener(connection)
            connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BACKLOG)
            try:
                await handler(connection)
            finally:
                seated[0] -= 1

        ours = {"process_request": admit, "max_size": LARGEST}
        ours |= {"ping_interval": SILENCE, "ping_timeout": SILENCE, "close_timeout": 2.0}
        return plain(seat, *args, **{**options, **ours, "logger": _quiet()})

    with _patching:
        websockets.asyncio.server.serve = serve  # type: ignore[assignment]
        try:
            yield
        finally:
            websockets.asyncio.server.serve = plain  # type: ignore[assignment]


def _quiet() -> logging.Logger:
    """Return a logger that keeps what strangers do to connections out of the user's terminal."""
    logger = logging.getLogger("interplay.stage.connections")
    logger.setLevel(logging.CRITICAL)
    return logger


def _refusal(status: http.HTTPStatus, text: str) -> Response:
    body = f"{text}\n".encode()
    headers = Headers([("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))])
    return Response(status.value, status.phrase, headers, body)


def _listener(connection: Any) -> Callable[..., Any]:
    """Return a ``recv`` that yields only messages to listen to, and hangs up on malformed ones."""
    plain, begin, count = connection.recv, 0.0, 0

    async def recv(*args: Any, **options: Any) -> Any:
        nonlocal begin, count
        while True:
            raw = await plain(*args, **options)
            now = time.monotonic()
            if now - begin > 1.0:
                begin, count = now, 0
            count += 1
            if count > PER_SECOND:
                await asyncio.sleep(max(0.0, begin + 1.0 - now))
            try:
                if check(raw):
                    return raw
            except Malformed as error:
                _log.debug("malformed message: %s", error)
                await connection.close(1008, "malformed message")

    return recv


def _probe(host: str, port: int) -> None:
    """Knock as a foreign page would, and refuse to run if we are let in: so no other version of viser can undo the guard."""
    local = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    url = f"ws://{f'[{local}]' if ':' in local else local}:{port}"
    protocol = [Subprotocol(f"viser-v{viser.__version__}")]
    for headers, origin in (({}, "http://stranger.example"), ({"Host": "stranger.example"}, None)):
        sock = socket.create_connection((local, port), timeout=10)
        try:
            with websockets.sync.client.connect(
                url if not headers else f"ws://{headers['Host']}",
                sock=sock,
                origin=Origin(origin) if origin else None,
                subprotocols=protocol,
                open_timeout=10,
                proxy=None,
            ):
                pass
        except websockets.exceptions.InvalidStatus as refused:
            if refused.response.status_code == http.HTTPStatus.FORBIDDEN:
                continue
            raise FrontError(
                f"the stage's guard answered a foreign page with {refused.response.status_code}, not 403"
            ) from None
        finally:
            sock.close()
        raise FrontError(
            f"viser {viser.__version__} let a foreign page in: the stage's guard does not stand, so it does not open"
        )
