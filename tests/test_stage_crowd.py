"""Browsers that do not read, or read slowly, and those of other machines."""

import os
import socket
import threading
import time
from base64 import b64encode

import numpy as np
import pytest
import viser
from websockets.datastructures import Headers

from interplay.view import gate
from stage_tools import wait


@pytest.fixture
def opened(monkeypatch):
    monkeypatch.setattr(gate, "SILENCE", 0.5)
    server = gate.open_server("127.0.0.1", 0)
    yield server
    gate.close_server(server)


def deaf(port, buffer=8192):
    """Connect as a browser does, and read nothing but the answer."""
    client = socket.socket()
    if buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.connect(("127.0.0.1", port))
    lines = [
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {b64encode(os.urandom(16)).decode()}",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
    ]
    client.sendall("\r\n".join([*lines, "", ""]).encode())
    assert client.recv(12) == b"HTTP/1.1 101"
    return client


def test_one_who_does_not_read_has_to_leave(opened):
    client, seated = deaf(opened.get_port()), opened._websock_server._live_connections
    wait(lambda: len(seated) == 1)
    wait(lambda: len(seated) == 0)
    client.close()


def test_a_slow_browser_sees_fewer_frames_not_old_ones():
    """It reads fast, then nothing for a while, then the rest: what it has missed is not kept for it."""
    server, rng = gate.open_server("127.0.0.1", 0), np.random.default_rng(0)
    dots = server.scene.add_point_cloud("/dots", np.zeros((2000, 3), np.float32), (0, 0, 0), precision="float32")
    client = deaf(server.get_port(), None)
    client.settimeout(0.3)
    reading = threading.Thread(target=drain, args=(client,))
    reading.start()
    for k in range(500):
        dots.points = rng.normal(size=(2000, 3)).astype(np.float32)
        if k == 150:
            time.sleep(0.6)  # it has read what there was
            assert not reading.is_alive()
        time.sleep(0.004)
    assert 1e4 < drain(client) < 2e6 < 350 * dots.points.nbytes
    client.close()
    gate.close_server(server)


def drain(client):
    """Read until nothing more comes, and return how many bytes that was."""
    count = 0
    try:
        while piece := client.recv(1 << 18):
            count += len(piece)
    except TimeoutError:
        pass
    return count


@pytest.mark.parametrize(
    ("host", "served", "ours"),
    [
        ("studio:8080", "0.0.0.0", True),
        ("Studio.local:8080", "0.0.0.0", True),
        ("studio.example.org", "192.168.1.5", True),
        ("studio:8080", "127.0.0.1", False),
        ("studio.evil.example:8080", "0.0.0.0", False),
        ("[fe80::1]:8080", "::", True),
    ],
)
def test_this_machine_may_be_called_by_its_names(monkeypatch, host, served, ours):
    monkeypatch.setattr(gate, "own_names", lambda: ("studio", "studio.local", "studio.example.org"))
    assert gate.admitted(Headers([("Host", host), ("Origin", f"http://{host}")]), served) is ours
    assert not gate.admitted(Headers([("Host", host), ("Origin", "http://evil.example")]), served)
