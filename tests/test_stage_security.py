"""Ten thousand hostile messages against a running stage: it goes on, finite, and serves others."""

import math
import random
import struct
import threading

import msgspec
import numpy as np
import pytest
import viser
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from interplay.stage.director import Director
from interplay.stage.link import Link
from interplay.stage.messages import Moment, Play, Pull, SetControl, Speed
from interplay.stage.performer import playbill
from interplay.view import gate
from interplay.view.cast import furnish
from stage_tools import CAMERA, Reader, wait

MESSAGES, MALFORMED = 10_000, 500  # of which each malformed one ends its connection
_HOSTILE = [1e300, -1e12, 2**63, 0, -1, 1e-320, "", "x" * 400, None, [], {}, True]


class _Tapped:
    """A link that keeps what passes through it."""

    def __init__(self, link):
        self._link, self.frames, self.commands = link, [], []

    def receive(self, timeout):
        said = list(self._link.receive(timeout))
        self.frames += [m for m in said if isinstance(m, Moment)]
        return said

    def send(self, command):
        self.commands.append(command)
        self._link.send(command)


@pytest.fixture(scope="module")
def stage():
    bill = playbill("box")
    server = gate.open_server("127.0.0.1", 0)
    furnish(server)
    link = Link(bill)
    tapped, stop = _Tapped(link), threading.Event()
    director = Director(server, tapped, tuple(bill.offers))
    thread = threading.Thread(target=director.run, args=(lambda: not stop.is_set(),))
    thread.start()
    link.send(Play())
    yield server, director, tapped
    stop.set()
    thread.join()
    link.close()
    gate.close_server(server)


def _nest(depth):
    return b"\x91" * depth + b"\xc0"


def _malformed(rng):
    """A message that no browser would send."""
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 400))
    if kind == 1:
        return _nest(rng.choice([10, 1000, 60_000]))
    if kind == 2:
        return msgspec.msgpack.encode(rng.choice([1, "text", [1, 2], None, 2.5, b"bytes"]))
    if kind == 3:
        return rng.choice(["", "text instead of bytes", '{"type": "GuiUpdateMessage"}'])
    if kind == 4:  # a message that lacks something, or has too much of it
        message = {**CAMERA}
        message.pop(rng.choice(["wxyz", "fov", "look_at"]))
        return msgspec.msgpack.encode(message | {rng.choice(["spam", "__class__", "redundancy_key"]): 1})
    if kind == 5:  # numbers that are none
        bad = rng.choice([math.nan, math.inf, -math.inf])
        return msgspec.msgpack.encode(CAMERA | {rng.choice(["fov", "near", "far"]): bad})
    if kind == 6:
        return msgspec.msgpack.encode(CAMERA | {"position": rng.choice([[0.0] * 3000, "abc", {"x": 1.0}, [[0.0]], 7])})
    return b"\xc1" + struct.pack(">d", math.nan)  # a byte that msgpack never uses


def _hostile(rng, server, client, frame):
    """A message of the right form, with the wrong content, to things that exist or not."""
    handle = server.get_clients()[client]
    uuids = [*handle.gui._gui_input_handle_from_uuid, "no-such-uuid"]
    nodes = [*handle.scene._handle_from_transform_controls_name, "/cast/box", "/nowhere", "/" * 50]
    number = rng.choice([0.0, 1e6, -1e6, 50.0, rng.gauss(0, 1), 1e-300])
    triple, owner = [number, rng.gauss(0, 5), rng.gauss(0, 5)], rng.choice([str(client), "", "0", "other"])
    kind = rng.randrange(9)
    if kind < 3:
        value = rng.choice([*_HOSTILE, number, "king"])
        return {"type": "GuiUpdateMessage", "uuid": rng.choice(uuids), "updates": {"value": value}}
    if kind == 3:  # viser would set any attribute
        name = rng.choice(["update_cb", "_impl", "removed", "uuid", "sync_cb", "order", "value", "__class__"])
        return {"type": "GuiUpdateMessage", "uuid": rng.choice(uuids), "updates": {name: number, "value": number}}
    if kind == 4:
        wxyz = rng.choice([[0.0] * 4, [1.0, 0, 0, 0], [1e6, 1e6, 0, 0], [number] * 4])
        message = {"name": rng.choice(nodes), "wxyz": wxyz, "position": triple, "owner": owner}
        return {"type": "TransformControlsUpdateMessage", **message}
    if kind == 5:
        phase = rng.choice(["TransformControlsDragStartMessage", "TransformControlsDragEndMessage"])
        return {"type": phase, "name": rng.choice(nodes), "owner": owner}
    if kind == 6:
        ray = {"ray_origin": triple, "ray_direction": rng.choice([triple, [0.0] * 3]), "screen_pos": [[number, 0.0]]}
        if rng.random() < 0.5:  # a ray that meets somebody
            there = frame.com[rng.randrange(len(frame.com))] + [rng.gauss(0, 0.02) for _ in range(3)]
            ray |= {"ray_origin": [4.0, 0.0, 1.5], "ray_direction": (there - [4.0, 0.0, 1.5]).tolist()}
        modifier = rng.choice([None, "shift", ""])
        return {"type": "ScenePointerMessage", "event_type": "click", **ray, "modifier": modifier}
    if kind == 7:  # what viser would understand, and nobody should be heard saying
        return rng.choice(
            [
                {"type": "ShareUrlRequest"},
                {"type": "ShareUrlDisconnect"},
                {"type": "RunJavascriptMessage", "source": "alert(1)"},
                {"type": "FileTransferStartUpload", "filename": "/etc/passwd", "size_bytes": 10**9},
                {"type": "RemoveSceneNodeMessage", "name": "/cast/box"},
                {"type": "NoSuchMessage"},
                {"type": ["a", "list"]},
                {},
            ]
        )
    return CAMERA | {"position": triple, "look_at": rng.choice([triple, [0.0] * 3])}


def test_ten_thousand_hostile_messages(stage):
    server, director, tapped = stage
    rng = random.Random(7)
    port = server.get_port()
    watcher = Reader(port)  # holds control at first, and is a good client
    wait(lambda: len(tapped.frames) > 10 and len(director.audience) == 1)
    for _ in range(MALFORMED):
        message = _malformed(rng)
        with connect(
            f"ws://127.0.0.1:{port}",
            subprotocols=[f"viser-v{viser.__version__}"],
            proxy=None,
            compression=None,
            max_size=None,
        ) as socket:
            try:
                socket.send(message)
                for _ in range(200):  # hears what is broadcast until it is hung up on
                    socket.recv(timeout=5)
                pytest.fail(f"listened to {message!r}")
            except ConnectionClosed:
                pass
    intruder = Reader(port)
    wait(lambda: len(director.audience) == 2)
    number = next(n for n in director.audience if n != director.audience.holder)
    director.take(number)  # the worst case: it holds control
    wait(lambda: director.audience.holder == number)
    for _ in range(MESSAGES - MALFORMED):
        try:
            intruder.say(_hostile(rng, server, number, tapped.frames[-1]))
        except (WebSocketException, KeyError):
            pytest.fail("messages of the right form do not end a connection")
    wait(lambda: director._queue.qsize() == 0)
    intruder.close()
    wait(lambda: len(director.audience) == 1)
    assert director.audience.holds(next(iter(director.audience)))
    # It goes on, finite, and the good client is still served.
    count, before = watcher.count, len(tapped.frames)
    director.post(director.audience.holder, lambda: director.send(Play()))
    wait(lambda: len(tapped.frames) > before + 30 and watcher.count > count + 10)
    assert all(np.isfinite(f.qpos).all() and np.isfinite(f.time) for f in tapped.frames)
    assert tapped.frames[-1].time > tapped.frames[before].time
    for command in tapped.commands:
        for value in command:
            numbers = [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, float)]
            assert np.isfinite(numbers).all()
            assert np.abs(numbers).max(initial=0.0) <= gate.FARTHEST
    assert {SetControl, Pull, Speed} <= {type(command) for command in tapped.commands}  # they went all the way
    assert server._share_tunnel is None
    watcher.close()


def test_one_who_does_not_read_does_not_fill_memory(stage):
    server, director, tapped = stage
    port = server.get_port()
    deaf = connect(f"ws://127.0.0.1:{port}", subprotocols=[f"viser-v{viser.__version__}"], proxy=None, max_queue=1)
    deaf.send(msgspec.msgpack.encode(CAMERA))
    wait(lambda: len(director.audience) == 1)
    buffers = [server._websock_server._broadcast_buffer]
    buffers += [c.message_buffer for c in server._websock_server._client_state_from_id.values()]
    director.post(director.audience.holder, lambda: director.send(Play()))
    frames = len(tapped.frames)
    wait(lambda: len(tapped.frames) > frames + 30)  # by now panel, handles and overlays have been made
    before, frames = [len(b.message_from_id) for b in buffers], len(tapped.frames)
    wait(lambda: len(tapped.frames) > frames + 120)
    assert all(len(b.message_from_id) < n + 60 for b, n in zip(buffers, before, strict=True))
    deaf.close()
