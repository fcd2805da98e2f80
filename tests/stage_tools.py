"""What tests of the stage share: an opening and frames of a scenario, a performer that only listens, a browser that only reads."""

import threading
import time
from dataclasses import replace

import msgspec
import numpy as np
import viser
from websockets.sync.client import connect

from interplay.scenarios import scenario
from interplay.stage.messages import ControlView, Frame, Opening, Pace


def opening_of(name, parameters=None, recorded=False):
    chosen = scenario(name)(parameters or {})
    sim = chosen.simulation()
    controls = tuple(ControlView(c.name, c.kind, c.value, c.low, c.high, c.unit, c.help) for c in sim.controls.values())
    models = tuple(dict.fromkeys(n.split("/")[0] for n in body_names(sim.scene.model) if "/" in n))
    phases = tuple(sim.machine.phases)
    opening = Opening(
        name, {}, sim.dt, sim.scene.xml, {}, models, phases, controls, chosen.view().model_dump(), recorded, None
    )
    return opening, sim


def body_names(m):
    return [m.body(b).name for b in range(m.nbody) if m.body_treeid[b] >= 0]


def still(sim, models, **changes):
    """A frame in which nothing touches anything."""
    m = sim.scene.model
    frame = Frame(
        time=0.0,
        phase="first",
        coming=("second", "third"),
        qpos=sim.state.qpos.copy(),
        body_load=np.zeros(m.nbody),
        com=np.zeros((len(models), 3)),
        contacts=(),
        contact_pose=np.zeros((0, 7)),
        contact_size=np.zeros((0, 2)),
        contact_force=np.zeros((0, 3)),
        contact_normal=np.zeros(0),
        grounded=np.zeros(0, bool),
        pairs=(),
        pair_points=np.zeros((0, 2, 3)),
        pair_distance=np.zeros((0, 2)),
        objectives=(),
        relaxed=(),
        controls={name: control.value for name, control in sim.controls.items()},
        pull=None,
        pace=Pace(np.array([1.0]), 1.0),
        playing=True,
        live=True,
        span=(0.0, 1.0),
        speed=1.0,
        ended="",
    )
    return replace(frame, **changes)


class Listening:
    """A link whose performer says what the test puts in, and keeps what it hears."""

    def __init__(self, *said):
        self.said, self.heard = list(said), []

    def receive(self, timeout):
        said, self.said = self.said, []
        if not said:
            time.sleep(timeout)
        return said

    def send(self, command):
        self.heard.append(command)


CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [3.0, 3.0, 2.0],
    "fov": 0.7,
    "near": 0.01,
    "far": 1000.0,
    "image_height": 768,
    "image_width": 1366,
    "look_at": [0.0, 0.0, 1.0],
    "up_direction": [0.0, 0.0, 1.0],
}


class Reader:
    """A browser that does not render: it greets as viser's does, reads, and discards (or keeps the last messages)."""

    def __init__(self, port, **options):
        self.socket = connect(
            f"ws://127.0.0.1:{port}",
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
            compression=None,
            proxy=None,
            **options,
        )
        self.count = self.bytes = 0
        self.last = 0.0
        self.say(CAMERA)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            for message in self.socket:
                self.count += 1
                self.bytes += len(message)
                self.last = time.monotonic()
        except Exception:
            pass

    def say(self, message):
        self.socket.send(message if isinstance(message, bytes) else msgspec.msgpack.encode(message))

    def close(self):
        self.socket.close()


def turns(director, true, seconds=10.0):
    """Let the director work until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        director.turn(0.01)
