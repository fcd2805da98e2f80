"""What tests of the stage share: frames of a scenario, performers and browsers without each other, a whole stage."""

import pickle
import threading
import time
from dataclasses import replace
from typing import ClassVar

import msgspec
import mujoco
import numpy as np
import viser
from websockets.sync.client import connect

from interplay.catalogue import scenario
from interplay.stage.director import Director
from interplay.stage.link import Link
from interplay.stage.messages import ControlView, Moment, Notice, Open, Opening, Pace
from interplay.stage.performer import Performer, playbill
from interplay.view import gate
from interplay.view.cast import furnish
from plain import machine


def opening_of(name, parameters=None, recorded=False):
    chosen = scenario(name)(parameters or {})
    sim = chosen.simulation()
    controls = tuple(
        ControlView(c.name, c.kind, c.value, c.low, c.high, c.unit, c.help) for c in sim.live.controls.values()
    )
    models = tuple(dict.fromkeys(n.split("/")[0] for n in body_names(sim.scene.model) if "/" in n))
    phases = tuple(machine(sim).phases)
    opening = Opening(name, {}, sim.dt, sim.scene.xml, {}, models, phases, (), controls, chosen.view(), recorded, None)
    return opening, sim


def body_names(m):
    return [m.body(b).name for b in range(m.nbody) if m.body_treeid[b] >= 0]


def still(sim, models, **changes):
    """A frame in which nothing touches anything."""
    m = sim.scene.model
    frame = Moment(
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
        grips=(),
        pairs=(),
        pair_points=np.zeros((0, 2, 3)),
        pair_distance=np.zeros((0, 2)),
        stability=(),
        objectives=(),
        relaxed=(),
        controls={name: control.value for name, control in sim.live.controls.items()},
        wanted={name: control.value for name, control in sim.live.controls.items()},
        pull=None,
        pace=Pace(np.array([1.0]), 1.0),
        playing=True,
        live=True,
        span=(0.0, 1.0),
        speed=1.0,
        ended="",
    )
    return replace(frame, **changes)


class House:
    """A performer turned by a clock that waits for nobody but advances exactly as long as it is asked to."""

    def __init__(self, target="stand", **options):
        self.now, self.said, self.frames = 0.0, [], []
        self.performer = Performer(
            playbill(target, **options),
            self.said.append,
            lambda data: self.frames.append(pickle.loads(data)),
            self.clock,
        )
        self.performer.obey(Open(self.performer._bill.first))

    def clock(self):
        return self.now

    def do(self, *commands):
        for command in commands:
            self.performer.obey(command)
        return self

    def wait(self, seconds):
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now = min(self.now + max(self.performer.turn(), 1e-9), end)
        return self

    @property
    def frame(self):
        return self.frames[-1]

    @property
    def sim(self):
        return self.performer.act.sim

    def notices(self, *levels):
        return [m.text for m in self.said if isinstance(m, Notice) and (not levels or m.level in levels)]


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


def wait(true, seconds=30.0):
    """Wait until something is true that others do."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def turns(director, true, seconds=10.0):
    """Let the director work until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        director.turn(0.01)


class Stage:
    """A running stage, seen from inside."""

    running: ClassVar[set] = set()
    """Those that are not closed yet: a test that fails leaves them, and their threads would keep the process from ending."""

    def __init__(self, name, **options):
        bill = playbill(name, **options)
        self.server = gate.open_server("127.0.0.1", 0)
        furnish(self.server, shadows=False)
        self.link, self._stop = Link(bill), threading.Event()
        self.director = Director(self.server, self.link, tuple(bill.offers))
        self._thread = threading.Thread(target=self.director.run, args=(lambda: not self._stop.is_set(),))
        self._thread.start()
        self.running.add(self)
        self.url = f"http://127.0.0.1:{self.server.get_port()}"

    def close(self):
        self.running.discard(self)
        self._stop.set()
        self._thread.join()
        self.director.close()
        self.link.close()
        gate.close_server(self.server)

    @property
    def frame(self):
        return self.director.frame

    def site(self, name):
        """Where a site is in the frame that is shown."""
        m = self.director._cast.model
        d = mujoco.MjData(m)
        d.qpos[:] = self.frame.qpos
        mujoco.mj_kinematics(m, d)
        return d.site_xpos[m.site(name).id].copy()

    def pixel(self, tab, point):
        """Where a place in the world is seen in a tab, by its own camera."""
        camera = self.server.get_clients()[self.director.audience.holder].camera
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, np.asarray(camera.wxyz, float))
        x, y, z = R.reshape(3, 3).T @ (np.asarray(point) - camera.position)  # right, down, ahead
        assert z > 0
        frame = tab.page.locator("canvas").first.bounding_box()
        half = frame["height"] / 2 / np.tan(camera.fov / 2)
        return frame["x"] + frame["width"] / 2 + half * x / z, frame["y"] + frame["height"] / 2 + half * y / z

    def seen_from(self):
        """Where the holder's camera is, and what it looks at (6)."""
        camera = self.server.get_clients()[self.director.audience.holder].camera
        return np.concatenate([camera.position, camera.look_at])

    def camera_rests(self, tab):
        """Wait until the holder's camera stands still."""
        seen = [self.seen_from()]

        def still():
            tab.page.wait_for_timeout(400)
            seen.append(self.seen_from())
            return np.abs(seen[-1] - seen[-2]).max() < 1e-6

        tab.until(still, "a camera that stands still")

    def drag(self, tab, gizmo, far, size, steps=8, way=(0.0, 0.0, 1.0)):
        """Drag a handle by one of its arrows (by default the upper one) with the mouse; return where it was and where it is."""
        self.camera_rests(tab)
        at, way = np.array(gizmo.position), np.array(way)
        arrow = at + 0.8 * size * way
        a, b = np.array(self.pixel(tab, arrow)), np.array(self.pixel(tab, arrow + far * way))
        point_at(tab, *a)
        tab.page.mouse.down()
        for i in range(1, steps + 1):
            tab.page.mouse.move(*(a + (b - a) * i / steps))
            tab.page.wait_for_timeout(150)
        tab.page.mouse.up()
        tab.until(lambda: abs(way @ (np.array(gizmo.position) - at)) > 0.5 * abs(far), "the handle dragged", 10)
        return at, np.array(gizmo.position)


def point_at(tab, x, y):
    """Move the mouse somewhere, and wait: what is under it is found when a frame is drawn."""
    tab.page.mouse.move(x, y)
    for _ in range(2):
        tab.next_frame()
        tab.page.wait_for_timeout(200)


def seat(stage, open_tab):
    before = set(stage.director.audience)
    tab = open_tab(stage.url)
    tab.until(lambda: set(stage.director.audience) - before and stage.frame is not None, "a seat on the stage")
    return tab


def on_tab(tab, name):
    tab.page.get_by_role("tab", name=name).click()


def press(tab, *buttons):
    for button in buttons:
        tab.page.get_by_text(button, exact=True).click()


def slide(tab, which, key):
    """Press a key on a slider of the panel, counted from above: the first is time, the second speed."""
    tab.page.get_by_role("slider").nth(which).focus()
    tab.page.keyboard.press(key)


def grab(stage, tab, body):
    """Click a body, so that it is held."""
    stage.camera_rests(tab)
    cast = stage.director._cast
    x, y = stage.pixel(tab, cast.data.xpos[cast.model.body(body).id])
    point_at(tab, x, y)
    tab.page.mouse.click(x, y)
    return tab.until(lambda: stage.director.hands._gizmo, "a grip on the body")


def download(tab, button, folder):
    """Press a button that saves, and return where the file is now."""
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name=button).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def leave(stage, *tabs):
    for tab in tabs:
        tab.page.goto("about:blank")
        tab.page.wait_for_timeout(200)
    tabs[0].until(lambda: len(stage.director.audience) == 0, "all browsers gone")
