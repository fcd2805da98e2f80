"""Bad input: each a clear error of ours that says what is wrong; never a traceback of something else, never accepted."""

import math
import tempfile

import numpy as np
import pytest

import interplay as ip
from interplay.catalogue import scenario
from interplay.errors import settings
from interplay.io.export import export
from interplay.motion.targets import read_targets
from interplay.runs.run import run

NAN, INF = math.nan, math.inf
BAD_NUMBERS = (NAN, INF, -INF, -1.0, 0.0, "tall", None, [1.7], True)


def scene():
    return ip.Scene().add(ip.Humanoid(), "bob").add(ip.Box(), "box", pos=(1, 0))


def sim():
    s = ip.Simulation(scene())
    s.contacts.add("bob/left_sole", ip.GROUND)
    return s


def simulated():
    return ip.Simulation(scene(), world="simulated")


CASES = []


def case(what, call, *words):
    CASES.append(pytest.param(call, words, id=f"{len(CASES):03d}-{what}"))


# models
for bad in BAD_NUMBERS:
    case(f"height-{bad}", lambda bad=bad: ip.Humanoid(height=bad), "height")
    if bad is not None:
        case(f"mass-{bad}", lambda bad=bad: ip.Humanoid(mass=bad), "mass")
    case(f"door-{bad}", lambda bad=bad: ip.Door(width=bad), "width")
    case(f"ball-{bad}", lambda bad=bad: ip.Ball(radius=bad), "radius")
    case(f"boxmass-{bad}", lambda bad=bad: ip.Box(mass=bad), "mass")
    case(f"valve-{bad}", lambda bad=bad: ip.Valve(radius=bad), "radius")
    case(f"sword-{bad}", lambda bad=bad: ip.Sword(length=bad), "length")
    case(f"litter-{bad}", lambda bad=bad: ip.Litter(width=bad), "width")
    case(f"stairs-{bad}", lambda bad=bad: ip.Stairs(rise=bad), "rise")
    case(f"beam-{bad}", lambda bad=bad: ip.Beam(length=bad), "Beam")
for bad in (NAN, INF, -1.0, "x", None):
    case(f"lever-{bad}", lambda bad=bad: ip.Lever(stiffness=bad), "stiffness")
    case(f"head-{bad}", lambda bad=bad: ip.Humanoid(head_scale=bad), "head_scale")
case("sex", lambda: ip.Humanoid(sex="femal"), "did you mean 'female'")
case("joints", lambda: ip.Humanoid(joints=29), "joint set", "30")
case("strength", lambda: ip.Humanoid(strength=-1), "strength")
case("strength-nan", lambda: ip.Humanoid(strength=NAN), "strength")
case("color", lambda: ip.Humanoid(color=(1, 2)), "color")
case("color-range", lambda: ip.Humanoid(color=(1, 2, 3)), "color")
case("barbell-grip", lambda: ip.Barbell(length=1.0, grip_at=0.6), "grip_at")
case("barbell-nan", lambda: ip.Barbell(left=NAN), "left")
for bad in ((1, 1), (1, 1, 0), (1, NAN, 1), "big", None, (1, 1, -1)):
    case(f"boxsize-{bad}", lambda bad=bad: ip.Box(size=bad), "size")
    case(f"table-{bad}", lambda bad=bad: ip.Table(size=bad), "size")
    case(f"platform-{bad}", lambda bad=bad: ip.Platform(bad), "size")
for bad in (0, -3, 2.5, "four", True, 10**6):
    case(f"steps-{bad}", lambda bad=bad: ip.Stairs(steps=bad), "steps")

# scene
case("gravity", lambda: ip.Scene(gravity=NAN), "gravity")
case("empty", lambda: ip.Scene().model, "empty")
case("static", lambda: ip.Scene().add(ip.Wall(), "w").model, "move")
case("no-model", lambda: ip.Scene().add("humanoid", "bob"), "expected a model")
for bad in ("", "a b", "a/b", "ground", "world", 3, None, "bob", "é!"):
    case(f"name-{bad}", lambda bad=bad: scene().add(ip.Ball(), bad), "name")
for bad in ((1,), (1, 2, 3, 4), (NAN, 0), "here", None):
    case(f"pos-{bad}", lambda bad=bad: scene().add(ip.Ball(), "ball", pos=bad), "position")
case("yaw", lambda: scene().add(ip.Ball(), "ball", yaw=NAN), "yaw")
case("quat", lambda: scene().add(ip.Ball(), "ball", quat=(0, 0, 0, 0)), "quat")
case(
    "posture-name", lambda: ip.Scene().add(ip.Humanoid(), "bob", posture={"left_ebow_flexion": 1}), "left_elbow_flexion"
)
case(
    "posture-value",
    lambda: ip.Scene().add(ip.Humanoid(), "bob", posture={"left_elbow_flexion": NAN}),
    "left_elbow_flexion",
)
case("pose-range", lambda: scene().pose("bob", {"left_knee_flexion": 9.0}), "left_knee_flexion")
case("pose-model", lambda: scene().pose("bib", {}), "bob")
case("move-fixed", lambda: scene().add(ip.Door(), "door", pos=(5, 0)).move("door", (0, 0, 0)), "floating")
case("move-nan", lambda: scene().move("box", (0, NAN, 0)), "position")
case("reach-far", lambda: scene().reach("bob/left_palm", (9.0, 0, 1)), "cannot reach")
case("reach-name", lambda: scene().reach("bob/left_plam", (0.3, 0, 1)), "left_palm")
case("reach-target", lambda: scene().reach("bob/left_palm", (NAN, 0, 1)), "target")
case("body", lambda: scene().body("bob/left_hnd"), "left_hand")
case("joint", lambda: scene().joint("bob/knee"), "joint")

case("stiff", lambda: ip.Simulation(ip.Scene().add(ip.Lever(stiffness=1e4), "lever"), 0.1), "lever/hinge")

# simulation, contacts, collisions, pushes
for bad in (0.0, -0.005, NAN, INF, 1.0, "fast"):
    case(f"dt-{bad}", lambda bad=bad: ip.Simulation(scene(), bad), "dt")
case("solver", lambda: ip.Simulation(scene(), solver="piqq"), "piqp")
case("world", lambda: ip.Simulation(scene(), world="real"), "direct")
for bad in (-1, 1.5, "x", True):
    case(f"seed-{bad}", lambda bad=bad: ip.Simulation(scene(), seed=bad), "seed")
case("contact-name", lambda: sim().contacts.add("bob/left_sol", ip.GROUND), "left_sole")
case("contact-twice", lambda: sim().contacts.add("bob/left_sole", ip.GROUND), "already")
case("contact-same", lambda: sim().contacts.add("box/top", "box/bottom"), "same body")
case("contact-apart", lambda: sim().contacts.add("bob/left_palm", ip.GROUND), "patches")
case("contact-kinds", lambda: sim().contacts.add("bob/left_grip", "box/top"), "two patches, two grips")
for key in ("friction", "grip_force", "grip_torque", "force_cost"):
    for bad in (NAN, -1.0, 0.0, "x"):
        case(
            f"{key}-{bad}", lambda key=key, bad=bad: sim().contacts.add("bob/right_sole", ip.GROUND, **{key: bad}), key
        )
case("min-force", lambda: sim().contacts.add("bob/right_sole", ip.GROUND, min_force=NAN), "min_force")
case("fade", lambda: sim().contacts.add("bob/right_sole", ip.GROUND, fade=-1), "fade")
case("remove", lambda: sim().contacts.remove("bob/right_sole"), "contact")
case("remove-name", lambda: sim().contacts.remove("bob/right_soul"), "right_sole")
case("release", lambda: sim().contacts.release("bob/left_sole", fade=NAN), "fade")
case("avoid-name", lambda: sim().collisions.add("bob", "boxx"), "box")
case("avoid-order", lambda: sim().collisions.add("bob", "box", influence=0.1, security=0.2), "security")
case("avoid-nan", lambda: sim().collisions.add("bob", "box", influence=NAN), "influence")
case("push-body", lambda: sim().live.push("bob/hed", (1, 0, 0), 1), "head")
case("push-force", lambda: sim().live.push("bob/head", (NAN, 0, 0), 1), "force")
case("push-time", lambda: sim().live.push("bob/head", (1, 0, 0), -1), "seconds")
case(
    "push-fixed",
    lambda: ip.Simulation(scene().add(ip.Wall(), "w", pos=(9, 0))).live.push("w", (1, 0, 0), 1),
    "cannot move",
)
case("platform-tilt", lambda: ip.MovingPlatform(tilt=(0.1, 2.0)), "tilt")
case("platform-low", lambda: ip.MovingPlatform(height=0.1), "height")
case("friction", lambda: scene().add(ip.Ball(), "b", friction=-1), "friction")
case("friction-who", lambda: simulated().live.set_friction("bib", 0.5), "bob")
case("friction-nan", lambda: simulated().live.set_friction("bob", NAN), "friction")
case("drive-name", lambda: ip.Simulation(scene().add(ip.Door(), "d", pos=(9, 0))).live.drive("d/hing", 0.0), "hinge")
case("drive-who", lambda: sim().live.drive("bob/left_knee_flexion", 0.0), "mechanism")
case("pull-body", lambda: sim().live.pull("bob/hed", (0, 0, 0), (1, 0, 1)), "head")
case("pull-fixed", lambda: sim().live.pull("ground", (0, 0, 0), (1, 0, 1)), "ground")
case("pull-nan", lambda: sim().live.pull("bob/head", (0, 0, 0), (1, 0, NAN)), "goal")
case("pull-local", lambda: sim().live.pull("bob/head", (0, 0), (1, 0, 1)), "local")
case("push-nan-force", lambda: sim().live.push("bob/head", (NAN, 0, 0), 1), "push force")
case("push-huge", lambda: sim().live.push("bob/head", (1e300, 0, 0), 1), "at most")
case("push-both", lambda: sim().live.push("bob/head", (1, 0, 0), 1, at=(0, 0, 1), local=(0, 0, 0)), "got both")
case("adjust-label", lambda: with_objective(lambda: ip.Com("bob")).live.adjust("Com bib xyz", weight=1), "Com bob xyz")
for key in ("weight", "stiffness", "damping"):
    for bad in (NAN, -1.0, "x"):
        case(f"adjust-{key}-{bad}", lambda k=key, b=bad: sim().live.adjust("Com bob xyz", **{k: b}), key)
case("objective-name", lambda: ip.Com("bob", name=" "), "name")
case("control-hand", lambda: ip.Control("pull bob", "scalar", [0.0]), "pull")
case("mass-nan", lambda: sim().live.set_mass("box", NAN), "mass")
case("mass-zero", lambda: sim().live.set_mass("box", 0.0), "mass")
case("run-nan", lambda: sim().run(NAN), "seconds")
case("objective-type", lambda: setattr(sim(), "objectives", ["stand still"]), "objectives")


def export_somewhere(path):
    with tempfile.TemporaryDirectory() as folder:
        run("stand", folder, seconds=0.1)
        export(folder, path)


def with_objective(objective):
    s = sim()
    s.objectives = [objective()]
    return s


# objectives
for bad in (NAN, INF, -1.0, "x"):
    case(f"weight-{bad}", lambda bad=bad: ip.Com("bob", weight=bad), "weight")
    case(f"stiffness-{bad}", lambda bad=bad: ip.Posture("bob", stiffness=bad), "stiffness")
    case(
        f"max-speed-{bad}",
        lambda bad=bad: ip.Point("bob/head", max_speed=bad) if bad != INF else ip.Point("bob/head", max_speed=NAN),
        "max_speed",
    )
case("com-model", lambda: with_objective(lambda: ip.Com("bill")), "bob")
case("com-size", lambda: with_objective(lambda: ip.Com("bob", reference=(0, 1))), "Com")
case("com-axes", lambda: ip.Com("bob", axes="xw"), "axes")
case("com-over-nothing", lambda: ip.ComOver("bob", over=()), "surface")
case("com-over-surface", lambda: with_objective(lambda: ip.ComOver("bob", over="bob/left_sol")), "left_sole")
case("com-over-size", lambda: with_objective(lambda: ip.ComOver("bob", over="bob/left_sole", reference=1.0)), "ComOver")
case("com-nan", lambda: with_objective(lambda: ip.Com("bob", reference=(0, NAN, 1))), "finite")
case("com-fixed", lambda: with_objective(lambda: ip.Com("box", "bobb")), "bob")
case("point-frame", lambda: with_objective(lambda: ip.Point("bob/nose_tip", (0, 0, 1))), "nose")
case("point-fixed", lambda: with_objective(lambda: ip.Point("ground", (0, 0, 1))), "fixed")
case("pose-size", lambda: with_objective(lambda: ip.Pose("box", (0, 0, 1))), "7")
case("quat-zero", lambda: ip.pose_value((0, 0, 0), (0, 0, 0, 0)), "quaternion")
case("joint-free", lambda: with_objective(lambda: ip.JointAngle("box/free", 1.0)), "hinge")
case("joint-name", lambda: with_objective(lambda: ip.JointAngle("bob/left_nee", 1.0)), "joint")
case("joint-value", lambda: ip.JointAngle("bob/left_knee_flexion", "bent"), "numbers")
case("joint-none", lambda: ip.JointAngle("bob/left_knee_flexion", None), "None")
case("posture-joint", lambda: with_objective(lambda: ip.Posture("bob", values={"left_nee": 1.0})), "joint")
case(
    "posture-nan",
    lambda: with_objective(lambda: ip.Posture("bob", values={"left_knee_flexion": NAN})),
    "left_knee_flexion",
)
case("relative", lambda: with_objective(lambda: ip.RelativePose("box/top", "box/bottom")), "against each other")
case(
    "custom-shape",
    lambda: with_objective(lambda: ip.Custom(lambda t: ([0.0], np.zeros((2, 3)), [0.0]), [0.0])),
    "Jacobian",
)
case(
    "custom-dofs",
    lambda: with_objective(lambda: ip.Custom(lambda t: ([0.0], np.ones((1, t.model.nv)), [0.0]), [0.0], "box")),
    "DOFs",
)
case("force-surface", lambda: with_objective(lambda: ip.ContactForce("bob/left_soul")), "left_sole")
case("gaze-axis", lambda: ip.Gaze("bob/head", (1, 0, 1), axis=(0, 1)), "axis")
case("jerk", lambda: ip.MinimumJerk(0, 1, 0, 0), "seconds")

case(
    "com-wall",
    lambda: setattr(ip.Simulation(scene().add(ip.Wall(), "w", pos=(9, 0))), "objectives", [ip.Com("w")]),
    "move",
)
case("gaze-fixed", lambda: with_objective(lambda: ip.Gaze("ground", (1, 0, 1))), "fixed")
case("gaze-zero", lambda: ip.Gaze("bob/head", (1, 0, 1), axis=(0, 0, 0)), "axis")
case("com-scalar-function", lambda: with_objective(lambda: ip.Com("bob", reference=lambda t: 0.5)), "3")
case("com-nan-function", lambda: with_objective(lambda: ip.Com("bob", reference=lambda t: [NAN, 0, 0])), "finite")
case("com-raising-function", lambda: with_objective(lambda: ip.Com("bob", reference=lambda t: 1 / 0)), "sampled")
case(
    "pose-minimum-jerk",
    lambda: with_objective(lambda: ip.Pose("box", ip.MinimumJerk(np.ones(7), np.ones(7), 0, 1))),
    "velocity",
)
case("com-control", lambda: with_objective(lambda: ip.Com("bob", reference=ip.Control("c", "scalar", [0.0]))), "3")
case("meet-turn", lambda: ip.Meet("bob/left_palm", "box/left", sim().terms, 0.0, 1.0, turn_weight=-1), "turn_weight")
case("meet-surface", lambda: ip.Meet("bob/left_plam", "box/left", sim().terms, 0.0, 1.0), "left_palm")
case("mass-world", lambda: sim().live.set_mass("world", 5.0), "fixed")
case("not-a-scene", lambda: ip.Simulation("scene"), "scene")
case(
    "posture-range",
    lambda: ip.Scene().add(ip.Humanoid(), "bob", posture={"left_knee_flexion": 9.0}),
    "left_knee_flexion",
)
case("control-order", lambda: ip.Control("c", "scalar", [0.0], [1.0], [0.0]), "low")
case("control-speed", lambda: ip.Control("c", "scalar", [0.0], max_speed=0), "max_speed")
case("export-where", lambda: export_somewhere("/proc/nothing/x.npz"), "cannot write")

# machine and controls
case("machine-empty", lambda: ip.Machine([]), "phase")
case("machine-twice", lambda: ip.Machine([ip.Phase("a"), ip.Phase("a")]), "differ")
case("machine-next", lambda: ip.Machine([ip.Phase("rise", next="fal"), ip.Phase("fall")]), "fall")
case("control-kind", lambda: ip.Control("c", "pont", [0, 0, 0]), "point")
case("control-size", lambda: ip.Control("c", "point", [0, 0]), "3")
case("control-nan", lambda: ip.Control("c", "scalar", [NAN]), "finite")
case("control-set", lambda: ip.Control("c", "scalar", [0.0]).set([NAN], 0.0), "finite")
case("control-name", lambda: sim().live.set("door", 1.0), "control")

# scenarios, options, exports
case("scenario", lambda: scenario("dor"), "door")
case("parameter", lambda: scenario("door")({"opn": 1}), "open")
for key, value in (
    ("open", "wide"),
    ("open", NAN),
    ("open", "nan"),
    ("open", 99),
    ("mass", -1),
    ("width", None),
    ("knob", [1]),
):
    case(f"door-{key}-{value}", lambda key=key, value=value: scenario("door")({key: value}), key)
for value in ("x", "=1", "a=", "=", ""):
    case(f"set-{value}", lambda value=value: settings("--set", [value]), "KEY=VALUE")
case("run-seconds", lambda: run("stand", "/nonexistent/x", seconds=NAN), "seconds")
case("run-out", lambda: run("stand", "/proc/nothing", seconds=1), "write")
case("export-none", lambda: export("/nonexistent", "x.npz"), "no recording")
case("export-format", lambda: export("/nonexistent", "x.nzp"), ".npz")


@pytest.mark.parametrize(("call", "words"), CASES)
def test_bad_input_gets_a_clear_error(call, words):
    with pytest.raises(ip.InterplayError) as caught:
        call()
    message = str(caught.value)
    assert len(message) > 10
    for word in words:
        assert word in message


TARGETS = [
    "1, dor, 0.5",
    "1, door",
    "x, door, 1",
    "-1, door, 1",
    "nan, door, 1",
    "1, door, nan",
    "1, door, 1, 2",
    "1, door, big",
    "1,,3",
    "inf, door, 1",
    "1, door, inf",
    "just words",
    "1; door; 2",
    "1, door, 1e999",
    ", door, 1",
    "1, DOOR, 1",
    "1, pull bob/hed, 0, 0, 0, 1, 1, 1",
    "1, pull bob/head, 0, 0, 0, 1, 1",
    "1, pull bob/head, 0, 0, nan, 1, 1, 1",
    "1, pull ground, 0, 0, 0, 1, 1, 1",
    "1, pull",
    "1, push bob/head, 0, 0, 0, 1, 1, inf, 0.1",
    "1, push bob/head, 0, 0, 0, 1, 1, 1",
    "1, mass box, 0.5, 2",
    "1, let go, 1",
    "1, adjust Com bob",
    "1, adjust Com bob,,,",
    "1, adjust Com bob, -1",
    "1, adjust Com bob, 1, 2, 3, 4",
    "1, adjust Com bob, heavy",
]


@pytest.mark.parametrize("line", TARGETS)
def test_bad_targets_name_file_and_line(line, tmp_path):
    path = tmp_path / "moves.csv"
    path.write_text(f"time,control,values\n0.5,door,0.2\n{line}\n")
    s = sim()
    s.live.add_control(ip.Control("door", "scalar", [0.0]))
    with pytest.raises(ip.InputError, match=r"moves.csv, line 3"):
        read_targets(path, s)


def test_targets_that_cannot_be_read(tmp_path):
    with pytest.raises(ip.InputError, match="cannot be read"):
        read_targets(tmp_path / "none.csv", sim())
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ip.InputError, match="cannot be read"):
        read_targets(tmp_path / "binary.csv", sim())


def test_there_are_enough_cases():
    assert len(CASES) + len(TARGETS) >= 200
