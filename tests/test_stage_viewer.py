"""The browser view without a browser: what is drawn, who holds control, what is checked before a command is sent."""

import math
import urllib.error
import urllib.request
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import mujoco
import numpy as np
import pytest
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus

from interplay.errors import InputError
from interplay.maths.hull import convex_hull
from interplay.maths.rotations import products
from interplay.stage.audience import Audience
from interplay.stage.director import Director, compile_scene
from interplay.stage.following import Following
from interplay.stage.hands import STRONGEST, box_edges, dragged
from interplay.stage.messages import (
    LetGo,
    Loop,
    ObjectiveView,
    Open,
    Pull,
    PullView,
    Push,
    Seek,
    SetControl,
    Stability,
    StabilityView,
)
from interplay.stage.overlays import corners, support_polygons
from interplay.stage.panel import within
from interplay.stage.play import play
from interplay.stage.plots import History
from interplay.view import gate
from interplay.view.camera import Camera, first_shot
from interplay.view.cast import Cast, furnish, parts, seen
from stage_tools import CAMERA, Listening, Reader, opening_of, still, turns


@pytest.fixture(scope="module")
def server():
    opened = gate.open_server("127.0.0.1", 0)
    furnish(opened)
    yield opened
    gate.close_server(opened)


@pytest.fixture(scope="module")
def box():
    return opening_of("box")


@pytest.fixture
def direct(server):
    """Let a director hear what a performer says: ``director, link = direct(opening, frame)``. The server forgets him afterwards."""

    def go(*said):
        link = Listening(*said)
        director = Director(server, link, ("box", "king"))
        director.turn()
        return director, link

    yield go
    server._client_connect_cb.clear()
    server._client_disconnect_cb.clear()


@pytest.fixture
def stage(direct, box):
    """A director on a server with nobody there, the performer listening, the box scenario open."""
    opening, sim = box
    return *direct(opening, still(sim, opening.models)), sim


def seated(director, server, n=1):
    readers = []
    for _ in range(n):
        readers.append(Reader(server.get_port()))
        turns(director, lambda: len(director.audience) == len(readers))
    return readers


# -- drawing -----------------------------------------------------------------------------------------------------------


def test_instances_are_where_mujoco_puts_the_geoms(server, box):
    opening, sim = box
    cast = Cast(server.scene, compile_scene(opening))
    m, d = cast.model, mujoco.MjData(cast.model)
    rng = np.random.default_rng(1)
    q, v = sim.state.qpos.copy(), rng.normal(size=m.nv)
    mujoco.mj_integratePos(m, q, v, 0.3)
    d.qpos[:] = q
    mujoco.mj_kinematics(m, d)
    cast.place(q)
    for company in (cast.moving, cast.fixed):
        poses = company.poses(cast.data)
        at = 0
        for batch in company.batches:
            for part in batch.parts:
                R, quat = d.geom_xmat[part.geom].reshape(3, 3), np.empty(4)
                mujoco.mju_mat2Quat(quat, d.geom_xmat[part.geom])
                np.testing.assert_allclose(poses[at, :3], d.geom_xpos[part.geom] + part.shift * R[:, 2], atol=1e-9)
                assert abs(np.dot(poses[at, 3:], quat)) == pytest.approx(1.0, abs=1e-9)
                at += 1
        assert at == len(poses)
    drawn = {part.geom for company in (cast.moving, cast.fixed) for b in company.batches for part in b.parts}
    assert drawn == set(seen(m).tolist())
    cast.remove()


def test_a_capsule_is_a_tube_with_two_balls():
    m = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom type='capsule' size='.1 .3' group='2'/><geom type='box' size='1 2 3' group='2'/>"
        "<geom type='ellipsoid' size='1 2 3' group='2'/></worldbody></mujoco>"
    )
    assert [(shape, part.shift, part.scale) for shape, part in parts(m, 0)] == [
        ("tube", 0.0, pytest.approx((0.1, 0.1, 0.3))),
        ("ball", pytest.approx(-0.3), pytest.approx((0.1, 0.1, 0.1))),
        ("ball", pytest.approx(0.3), pytest.approx((0.1, 0.1, 0.1))),
    ]
    assert parts(m, 1)[0][1].scale == (1, 2, 3)
    assert parts(m, 2)[0][0] == "ball"


def test_only_what_moves_is_sent_again(server, box):
    opening, sim = box
    cast = Cast(server.scene, compile_scene(opening))
    buffer = server._websock_server._broadcast_buffer
    cast.place(sim.state.qpos)
    before = buffer.message_counter
    cast.place(sim.state.qpos)
    assert buffer.message_counter == before
    moved = sim.state.qpos.copy()
    moved[cast.model.jnt_qposadr[cast.model.joint("box/free").id if "box/free" in _joints(cast.model) else -1]] += 0.01
    cast.place(moved)
    assert 1 <= buffer.message_counter - before <= len(cast.moving.batches)
    cast.remove()


def _joints(m):
    return [m.joint(j).name for j in range(m.njnt)]


def test_quaternion_products():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 5, 4))
    for x, y, z in zip(a, b, products(a, b), strict=True):
        out = np.empty(4)
        mujoco.mju_mulQuat(out, x, y)
        np.testing.assert_allclose(z, out, atol=1e-12)


def test_a_ray_finds_the_body_and_the_point(server, box):
    opening, sim = box
    cast = Cast(server.scene, compile_scene(opening))
    cast.place(sim.state.qpos)
    chest = cast.data.xpos[cast.model.body("alice/chest").id]
    hit = cast.pick(chest + [0, 3.0, 0.05], [0, -2.0, 0])
    assert hit is not None
    assert hit.body.startswith("alice/")
    np.testing.assert_allclose(cast.to_world(hit.body, hit.local), hit.point, atol=1e-9)
    assert 0 < hit.point[1] - chest[1] < 0.3
    assert cast.pick([0, 0, 50.0], [0, 0, 1.0]) is None
    assert cast.pick([math.nan, 0, 0], [0, 0, 1.0]) is None
    assert cast.pick([0, 0, 0], [0, 0, 0.0]) is None
    cast.remove()


def test_the_first_camera_looks_where_the_scenario_says(server, box):
    opening, _ = box
    cast = Cast(server.scene, compile_scene(opening))
    shot = first_shot(Camera(lookat=(1, 2, 3), distance=4.0, azimuth=90, elevation=0), cast.model, cast.data)
    np.testing.assert_allclose(shot.look_at, [1, 2, 3])
    away = 4.0 * np.tan(np.radians(22.5)) / np.tan(shot.fov / 2)  # as large in the picture as in an exported one
    np.testing.assert_allclose(shot.position - shot.look_at, [0, -away, 0], atol=1e-9)
    cast.remove()


# -- overlays ----------------------------------------------------------------------------------------------------------


def test_corners_and_support_polygon(box):
    opening, sim = box
    half = math.sqrt(0.5)
    frame = still(
        sim,
        opening.models,
        contacts=(("alice/left_sole", "world"), ("alice/right_sole", "world"), ("box/left", "alice/left_palm")),
        contact_pose=np.array([[0, 0.1, 0, 1, 0, 0, 0], [0, -0.1, 0, half, 0, 0, half], [0, 0, 1, 1, 0, 0, 0.0]]),
        contact_size=np.array([[0.12, 0.05], [0.12, 0.05], [0.1, 0.1]]),
        grounded=np.array([True, True, False]),
    )
    around = corners(frame)
    np.testing.assert_allclose(around[0, 0], [0.12, 0.15, 0], atol=1e-12)
    np.testing.assert_allclose(around[1, 0], [-0.05, 0.02, 0], atol=1e-12)  # turned by 90° about z
    edges = support_polygons(frame)
    lows, highs = edges.reshape(-1, 3).min(axis=0), edges.reshape(-1, 3).max(axis=0)
    np.testing.assert_allclose(lows[:2], [-0.12, -0.22], atol=1e-6)
    np.testing.assert_allclose(highs[:2], [0.12, 0.15], atol=1e-6)


def test_hull():
    rng = np.random.default_rng(3)
    points = np.vstack([rng.uniform(-1, 1, (40, 2)), [[-2, -2], [2, -2], [2, 2], [-2, 2]]])
    assert {tuple(p) for p in convex_hull(points)} == {(-2, -2), (2, -2), (2, 2), (-2, 2)}
    assert len(convex_hull(points[:1])) == 1


def test_overlays_show_and_hide(stage, server):
    director, link, sim = stage
    reader = seated(director, server)[0]
    frame = still(
        sim,
        director.opening.models,
        contacts=(("alice/left_sole", "world"),),
        contact_pose=np.array([[0, 0, 0, 1, 0, 0, 0.0]]),
        contact_size=np.array([[0.1, 0.05]]),
        contact_force=np.array([[0, 0, 400.0]]),
        contact_normal=np.array([400.0]),
        grounded=np.array([True]),
        pairs=(("a", "b"),),
        pair_points=np.ones((1, 2, 3)),
        pair_distance=np.array([[0.05, 0.01]]),
        stability=(StabilityView(np.eye(3), True), StabilityView(np.ones((4, 3)), False)),
        objectives=(ObjectiveView("reach", 1, 1, 2, 1, 0.1, np.zeros(3), np.ones(3)),),
        pull=PullView("alice/chest", np.zeros(3), np.ones(3), np.array([0, 0, 40.0])),  # the most that a person stands
    )
    for name in director.overlays.all:
        director.switch(name, True)
    link.said.append(frame)
    turns(director, lambda: director.frame is frame)
    nodes = {n for n in server.scene._handle_from_node_name if n.startswith("/over/")}
    expected = [
        "force_ground",
        "patch",
        "com",
        "support",
        "stable",
        "pair",
        "witness",
        "now",
        "goal",
        "error",
        "pull",
        "held",
    ]
    assert {f"/over/{n}" for n in expected} <= nodes
    arrow = server.scene.get_handle_by_name("/over/force_ground")
    np.testing.assert_allclose(arrow.points[0, 1] - arrow.points[0, 0], [0, 0, 0.32], atol=1e-6)
    assert server.scene.get_handle_by_name("/over/newtons").text == "40 N"
    outlines = server.scene.get_handle_by_name("/over/stable")
    assert outlines.points.shape == outlines.colors.shape == (7, 2, 3)
    assert Stability(True) in link.heard
    director.switch("forces", False)
    assert not arrow.visible
    link.said.append(replace(frame, pull=None))
    turns(director, lambda: director.frame.pull is None)
    assert not server.scene.get_handle_by_name("/over/pull").visible
    reader.close()


def test_a_frame_is_few_messages(server, direct):
    opening, sim = opening_of("king")
    director, _ = direct(opening)
    director.audience.join(1)  # somebody watches
    buffer = server._websock_server._broadcast_buffer
    counts = []
    for i in range(5):
        qpos = sim.state.qpos.copy()
        mujoco.mj_integratePos(sim.scene.model, qpos, np.full(sim.scene.model.nv, 0.01 * (i + 1)), 1.0)
        contacts = {
            "contacts": (("front/left_sole", "world"),),
            "contact_pose": np.array([[0.01 * i, 0, 0, 1, 0, 0, 0.0]]),
            "contact_size": np.array([[0.1, 0.05]]),
            "contact_force": np.array([[0, 0, 400.0 + i]]),
            "contact_normal": np.array([400.0 + i]),
            "grounded": np.array([True]),
        }
        before = buffer.message_counter
        com = np.full((len(opening.models), 3), 0.01 * i)
        director.hear([still(sim, opening.models, time=float(i), qpos=qpos, com=com, **contacts)])
        counts.append(buffer.message_counter - before)
    assert len(director._cast.moving._geoms) > 100
    assert max(counts[1:]) <= 50


# -- control -----------------------------------------------------------------------------------------------------------


def test_the_first_holds_control_and_the_next_inherits_it():
    audience = Audience()
    for client in (3, 5, 8):
        audience.join(client)
    assert audience.holder == 3
    assert audience.take(8)
    assert not audience.holds(3)
    audience.leave(8)
    assert audience.holder == 3
    audience.leave(3)
    assert audience.holder == 5
    assert not audience.take(99)
    audience.leave(5)
    assert audience.holder is None
    assert not audience.holds(None)


def test_watchers_cannot_act(stage, server):
    director, _link, _ = stage
    first, second = seated(director, server, 2)
    holder, watcher = list(director.audience)
    acted = []
    director.post(watcher, lambda: acted.append("watcher"))
    director.post(holder, lambda: acted.append("holder"))
    director.post(None, lambda: acted.append("nobody"))
    director.turn()
    assert acted == ["holder"]
    director.take(watcher)
    director.turn()
    assert director.audience.holder == watcher
    second.close()
    turns(director, lambda: director.audience.holder == holder)
    first.close()
    turns(director, lambda: director.audience.holder is None)


def test_a_panel_for_each_and_handles_for_the_holder(stage, server):
    director, _link, _ = stage
    readers = seated(director, server, 2)
    holder, watcher = list(director.audience)
    handles = {n: set(server.get_clients()[n].scene._handle_from_transform_controls_name) for n in (holder, watcher)}
    assert len(handles[holder]) == 1  # the pose of the box
    assert not handles[watcher]
    labels = {
        n: {getattr(h, "label", "") for h in server.get_clients()[n].gui._gui_input_handle_from_uuid.values()}
        for n in (holder, watcher)
    }
    assert {"Scenario", "Time", "Speed", "Contact forces", "Weight"} <= labels[holder]
    assert labels[watcher] == {"Take control", "Camera follows", "Format", "Download what was played", "", "Cancel"}
    for reader in readers:
        reader.close()
    turns(director, lambda: len(director.audience) == 0)


def test_clicking_grabs_pulls_and_lets_go(stage, server):
    director, link, sim = stage
    reader = seated(director, server)[0]

    def says(**changes):
        link.said.append(still(sim, director.opening.models, **changes))
        director.turn()

    chest = director._cast.data.xpos[director._cast.model.body("alice/chest").id]
    ray = (chest + [0, 3.0, 0.05], np.array([0, -1.0, 0]))
    director.hands.click(*ray)
    director.turn()
    asked = link.heard[-1]
    assert isinstance(asked, Pull)
    assert asked.body.startswith("alice/")
    assert not director.hands.holding  # it has been asked for; the performer may refuse
    point = director.hands.hit.point
    pull = PullView(asked.body, point, point + [0, 0, 0.2], np.zeros(3))
    says(pull=pull)
    assert director.hands.holding
    np.testing.assert_allclose(director.hands._gizmo.position, pull.goal)
    says(pull=pull, live=False)
    assert not director.hands.holding  # the past is not touched
    says(pull=pull)
    assert director.hands.holding
    director.push(20.0, None)
    director.turn()
    assert isinstance(link.heard[-1], Push)
    np.testing.assert_allclose(link.heard[-1].impulse, [0, -20, 0])
    director.push(1e9, np.array([0, 0, 1.0]))
    director.turn()
    np.testing.assert_allclose(link.heard[-1].impulse, [0, 0, STRONGEST])
    director.hands.click(*ray)
    director.turn()
    assert isinstance(link.heard[-1], LetGo)
    says()
    assert not director.hands.holding
    says(pull=pull)  # it goes on from a moment in which something was held
    assert director.hands.holding
    heard = len(link.heard)
    link.said.append(director.opening)
    director.turn()
    assert len(link.heard) == heard  # another scenario has nothing to let go of
    assert not director.hands.holding
    reader.close()
    turns(director, lambda: len(director.audience) == 0)


def test_one_who_leaves_lets_go(stage, server):
    director, link, sim = stage
    reader = seated(director, server)[0]
    pull = PullView("alice/chest", np.zeros(3), np.zeros(3), np.zeros(3))
    link.said.append(still(sim, director.opening.models, pull=pull))
    turns(director, lambda: director.hands.holding)
    reader.close()
    turns(director, lambda: len(director.audience) == 0)
    assert link.heard == [LetGo()]


def test_a_handle_comes_back_clamped(stage, server):
    director, link, sim = stage
    reader = seated(director, server)[0]
    (name, handle), *_ = director.hands.controls.items()

    def drag(phase):
        event = SimpleNamespace(phase=phase, target=SimpleNamespace(position=(40.0, 0, 0), wxyz=(2.0, 0, 0, 0)))
        director._put(None, lambda: director.hands._drag(name, dragged(event)))
        director.turn()

    drag("end")
    sent = link.heard[-1]
    assert isinstance(sent, SetControl)
    assert sent.value[0] == pytest.approx(float(handle.view.high[0]))
    np.testing.assert_allclose(handle._gizmo.position[0], handle.view.high[0], atol=1e-6)
    first = sim.live.controls[name].value
    turns(director, lambda: np.allclose(handle._gizmo.position, first[:3]))  # the performer has not taken it
    drag("update")
    wanted = first + [0.1, 0, 0, 0, 0, 0, 0]
    link.said.append(still(sim, director.opening.models, playing=False, wanted={name: wanted}))
    for _ in range(3):
        director.turn()
    np.testing.assert_allclose(handle._gizmo.position, first[:3])  # the user holds it
    drag("end")
    turns(director, lambda: np.allclose(handle._gizmo.position, wanted[:3]))  # though time stands
    reader.close()
    turns(director, lambda: len(director.audience) == 0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "x", None, [1]])
def test_numbers_are_checked(bad):
    assert within(bad, 0.0, 1.0) is None
    assert within(7, 0.0, 1.0) == 1.0
    assert within("0.5", 0.0, 1.0) == 0.5
    position = (bad, 0.0, 0.0) if isinstance(bad, float) else (math.nan, 0, 0)
    event = SimpleNamespace(phase="update", target=SimpleNamespace(position=position, wxyz=(1, 0, 0, 0)))
    assert dragged(event) is None
    event = SimpleNamespace(phase="update", target=SimpleNamespace(position=(1e5, 0, 0), wxyz=(0, 0, 0, 0)))
    assert dragged(event) is None


def test_a_field_is_told_again_what_its_user_chose(stage, server, monkeypatch):
    """A frame that was on its way when she moved the slider comes after that, and the next may be long in coming."""
    monkeypatch.setattr("interplay.stage.panel._QUIET", 0.1)
    director, link, sim = stage
    reader = seated(director, server)[0]
    number = director.audience.holder
    uuid, connection = director._panels[number]._time._impl.uuid, server.get_clients()[number].gui._websock_interface
    told, plain = [], connection.queue_message
    monkeypatch.setattr(connection, "queue_message", lambda message: (told.append(message), plain(message)))
    reader.say({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": 0.5}})
    turns(director, lambda: Seek(0.5) in link.heard)
    link.said.append(still(sim, director.opening.models, time=0.5, playing=False))
    turns(director, lambda: [m.updates for m in told if getattr(m, "uuid", "") == uuid][-1:] == [{"value": 0.5}])
    reader.close()
    turns(director, lambda: len(director.audience) == 0)


def test_only_offered_scenarios_can_be_opened(stage, server):
    director, link, _ = stage
    reader = seated(director, server)[0]
    panel = director._panels[director.audience.holder]
    client = server.get_clients()[director.audience.holder]
    for value in ("../../etc/passwd", "king"):
        message = {"type": "GuiUpdateMessage", "uuid": panel._pick._impl.uuid, "updates": {"value": value}}
        reader.say(message)
        turns(director, lambda value=value: panel._pick.value == value)
    turns(director, lambda: bool(link.heard))
    assert [c for c in link.heard if isinstance(c, Open)] == [Open("king")]
    assert client is not None
    reader.close()
    turns(director, lambda: len(director.audience) == 0)


def test_a_recording_is_not_touched(server, direct, box):
    opening, sim = box
    director, link = direct(replace(opening, recorded=True, duration=1.0), still(sim, opening.models, time=0.9))
    reader = seated(director, server)[0]
    gui = server.get_clients()[director.audience.holder].gui
    labels = {getattr(h, "label", "") for h in gui._gui_input_handle_from_uuid.values()}
    assert {"Time", "Speed", "Loop"} <= labels
    assert not labels & {"Push", "Let go", "Weight", "Save scenario"}
    assert not director.hands.controls
    director.loop(False)
    assert link.heard == [Loop(False)]
    reader.close()
    turns(director, lambda: len(director.audience) == 0)


def test_a_camera_goes_along_and_lets_the_user_turn_it(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("interplay.stage.following.time.monotonic", lambda: clock[0])
    camera = SimpleNamespace(position=np.array([3.0, 0, 1]), look_at=np.zeros(3), update_timestamp=1.0)
    following = Following(np.zeros(3))

    def pass_by(seconds, subject, running=True, answers=True):
        clock[0] += seconds
        before = camera.position
        following.go(camera, np.array(subject, float), running)
        camera.look_at = camera.look_at + (camera.position - before)  # as viser's does
        camera.update_timestamp += answers and (camera.position != before).any()
        return camera.position - before

    np.testing.assert_allclose(pass_by(0.1, [0.1, 0.2, 0.5]), [0.1, 0.2, 0])  # over the ground only
    assert not pass_by(0.05, [0.3, 0.2, 0]).any()  # it has just answered, after 50 ms
    assert pass_by(0.06, [0.3, 0.2, 0]).any()
    camera.position = camera.position + [0, 1.0, 0]  # the user turns it
    for _ in range(5):
        assert not pass_by(0.1, [0.5, 0.2, 0]).any()
    total = sum(pass_by(0.2, [0.5, 0.2, 0]) for _ in range(6))
    np.testing.assert_allclose(camera.look_at[:2], [0.5, 0.2], atol=0.01)
    np.testing.assert_allclose(total, [0.2, 0, 0], atol=0.01)
    assert np.linalg.norm(pass_by(2.0, [9.0, 0.2, 0])) < 2.0  # it catches up, it does not jump
    assert np.linalg.norm(pass_by(0.03, [0.0, 0.2, 0])) > 1.0  # but where a recording begins again
    late = np.array([5.0, 0, 0])  # the browser says where it was before it had heard
    camera.position, camera.look_at = camera.position + late, camera.look_at + late
    pass_by(0.03, [0.01, 0.2, 0])
    pass_by(0.1, [0.02, 0.2, 0])
    np.testing.assert_allclose(camera.look_at[:2], [0.02, 0.2])
    pass_by(0.1, [0.03, 0.2, 0])
    assert 0 < np.linalg.norm(pass_by(2.0, [9.0, 0.2, 0])) < 2.0
    pass_by(5.0, [20.0, 0.2, 0], running=False)
    assert camera.look_at[0] == pytest.approx(20.0)  # another moment is looked at: at once
    camera.look_at = camera.look_at + [0.5, 0, 0]
    assert not pass_by(5.0, [20.0, 0.2, 0], running=False).any()  # time stands: where to look is the user's
    pass_by(5.0, [21.0, 0.2, 0], running=False)
    assert camera.look_at[0] == pytest.approx(21.0)


def test_a_newcomers_camera_arrives_while_time_stands(server, direct, box, monkeypatch):
    monkeypatch.setattr("interplay.stage.following._PATIENCE", 0.1)
    opening, sim = box
    camera = opening.camera.model_copy(update={"follow": "alice/pelvis"})
    director, _ = direct(replace(opening, camera=camera), still(sim, opening.models, playing=False))
    reader = seated(director, server)[0]
    client, shot = (
        server.get_clients()[director.audience.holder],
        first_shot(camera, director._cast.model, director._cast.data),
    )
    for _ in range(3):
        director.turn()
    reader.say(CAMERA | {"position": [1.0, 1, 1]})  # late: where it was before it had heard
    turns(director, lambda: np.allclose(client.camera.position, [1.0, 1, 1]))
    turns(director, lambda: np.allclose([client.camera.position, client.camera.look_at], shot[:2]))
    reader.close()
    turns(director, lambda: len(director.audience) == 0)


def test_a_newcomers_camera_comes_to_the_first_shot_whatever_it_told_before(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("interplay.stage.following.time.monotonic", lambda: clock[0])
    camera = SimpleNamespace(position=np.array([3.0, 3, 3]), look_at=np.zeros(3), update_timestamp=1.0)
    arm, subject = np.array([3.0, -4, 1]), np.array([5.0, 0, 0.7])
    following = Following(np.array([0.0, 0, 0.1]), arm)

    def go(seconds=0.1):
        clock[0] += seconds
        following.go(camera, subject, True)

    def report(position, look_at):
        camera.position, camera.look_at = np.array(position, float), np.array(look_at, float)
        camera.update_timestamp += 1

    go()
    np.testing.assert_allclose([*camera.position, *camera.look_at], [8, -4, 1.8, 5, 0, 0.8])
    report([3, 3, 3], [0, 0, 0])  # late: where it was before it had heard
    go()
    assert camera.look_at[0] == 0.0  # no move from there
    go(1.0)
    assert camera.look_at[0] == 5.0  # it is asked again
    report([8, -4, 1.8], [5, 0, 0.8])
    go()
    subject[0] = 5.1
    go()  # the browser needed some time to answer, and gets as much again
    go(1.0)
    np.testing.assert_allclose(camera.position, [8.1, -4, 1.8])  # from now on it goes along

    following = Following(np.zeros(3), arm)
    for _ in range(20):  # one whose user keeps turning it
        go(1.0)
        report([1, 1, 1], [*subject[:2], 0])
    go(1.0)
    np.testing.assert_allclose(camera.position, [1, 1, 1])


def test_a_curve_that_is_plotted_stays_while_it_exists(box):
    opening, sim = box
    history = History()

    def add(time, **normal):
        names = tuple((name, "ground") for name in normal)
        n = len(names)
        touching = {
            "contacts": names,
            "contact_pose": np.zeros((n, 7)),
            "contact_size": np.zeros((n, 2)),
            "contact_force": np.zeros((n, 3)),
            "contact_normal": np.array(list(normal.values()), float),
            "grounded": np.ones(n, bool),
        }
        history.add(still(sim, opening.models, time=time, **touching))
        return [name.split(" ")[0] for name in history.forces()]

    seven = dict(zip("abcdefg", (7, 6, 5, 4, 3, 2, 1), strict=True))
    assert add(0.0, **seven) == list("abcdef")
    assert add(0.1, **(seven | {"g": 50})) == list("abcdef")
    del seven["b"]
    assert add(0.2, **seven) == list("acdefg")


def test_bounds_are_a_box():
    edges = box_edges(np.zeros(3), np.array([1.0, 2, 3]))
    assert edges.shape == (12, 2, 3)
    assert sorted(np.abs(edges[:, 1] - edges[:, 0]).sum(axis=1).tolist()) == [1.0] * 4 + [2.0] * 4 + [3.0] * 4


def test_history_forgets_what_was_taken_back(box):
    opening, sim = box
    history = History()
    for t in (0.0, 0.1, 0.2, 0.3, 0.15, 9.0):
        history.add(still(sim, opening.models, time=t, contacts=(("a", "b"),), contact_normal=np.array([t])))
        if t == 0.15:
            np.testing.assert_allclose(history.times(), [0, 0.1, 0.15])
            np.testing.assert_allclose(history.forces()["a – b"], [0, 0.1, 0.15])
    np.testing.assert_allclose(history.times(), [9.0])


# -- the door ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "origin", "served", "ours"),
    [
        ("127.0.0.1:8080", None, "127.0.0.1", True),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1", True),
        ("localhost:9000", "http://localhost:9000", "127.0.0.1", True),
        ("[::1]:8080", "http://[::1]:8080", "127.0.0.1", True),
        ("127.0.0.1:8080", "http://evil.example", "127.0.0.1", False),
        ("127.0.0.1:8080", "http://127.0.0.1:9999", "127.0.0.1", False),
        ("127.0.0.1:8080", "null", "127.0.0.1", False),
        ("evil.example:8080", None, "127.0.0.1", False),
        ("evil.example:8080", "http://evil.example:8080", "127.0.0.1", False),
        ("192.168.1.5:8080", None, "127.0.0.1", False),
        ("192.168.1.5:8080", "http://192.168.1.5:8080", "0.0.0.0", True),
        ("evil.example:8080", "http://evil.example:8080", "0.0.0.0", False),
        ("stage.lan:8080", "http://stage.lan:8080", "stage.lan", True),
        ("[bad", None, "127.0.0.1", False),
        ("", None, "127.0.0.1", False),
    ],
)
def test_who_is_admitted(host, origin, served, ours):
    headers = Headers([("Host", host)] + ([("Origin", origin)] if origin else []))
    assert gate.admitted(headers, served) is ours


def test_strangers_are_refused(server):
    port = server.get_port()
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/", headers=headers))
        assert refused.value.code == 403
    with pytest.raises(InvalidStatus) as refused:
        Reader(port, origin="http://evil.example")
    assert refused.value.response.status_code == 403
    Reader(port, origin=f"http://127.0.0.1:{port}").close()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as page:
        assert page.status == 200
        assert page.headers["X-Frame-Options"] == "DENY"
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/..%2f..%2f..%2fetc/passwd")


def test_a_number_that_someone_types_is_no_reason_to_hang_up():
    def typed(value):
        return msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": "weight", "updates": {"value": value}})

    assert gate.check(typed(9_999))
    assert not gate.check(typed(99_999_999))
    with pytest.raises(gate.Malformed, match="nan"):
        gate.check(typed(math.nan))


def test_a_guard_that_does_not_stand_is_noticed(monkeypatch):
    monkeypatch.setattr(gate, "admitted", lambda headers, host: True)
    with pytest.raises(gate.FrontError, match="foreign page"):
        gate.open_server("127.0.0.1", 0)


def test_places_that_cannot_be_served():
    with pytest.raises(InputError, match="cannot listen"):
        gate.open_server("no.such.host.invalid", 0)
    with pytest.raises(InputError, match="cannot listen"):
        gate.open_server("127.0.0.1", 99999)


# -- the command -------------------------------------------------------------------------------------------------------


def test_play_opens_tells_and_closes():
    said, left = [], iter(range(20))
    play("stand", port=0, browser=False, tell=said.append, going=lambda: next(left, None) is not None)
    assert said[0] == "setting up stand …"
    assert said[1].startswith("stand is on stage: http://127.0.0.1:")
    assert len(said) == 2


def test_play_warns_when_others_can_come_in():
    said, left = [], iter(range(2))
    play("stand", host="0.0.0.0", port=0, browser=False, tell=said.append, going=lambda: next(left, None) is not None)
    assert said[1].startswith("warning: anyone who reaches 0.0.0.0")


def test_play_says_what_cannot_be_played(tmp_path):
    with pytest.raises(InputError, match="did you mean 'king'"):
        play("knig", browser=False)
    with pytest.raises(InputError, match="steps"):
        play("king", port=0, browser=False, parameters={"steps": "1000"})
