"""Solid bodies: contact surfaces lie on collision shapes, and collision shapes fit what is seen, of every model in many sizes."""

import numpy as np
import pytest

import interplay as ip
from interplay.models.hand import FINGERS
from interplay.scene.surfaces import surface
from shape_fit import fit, out_of_shapes, shapes_of

HUMANS = {
    "man": ip.Humanoid(),
    "woman": ip.Humanoid(1.65, 58, "female"),
    "small": ip.Humanoid(1.0, joints=31),
    "tall": ip.Humanoid(2.0, 140, joints=34),
    "child": ip.Humanoid.child(1.15),
    "girl": ip.Humanoid(1.35, 30, "female", joints=34),
    "planar": ip.Humanoid(1.8, joints="planar"),
    "big head, short legs": ip.Humanoid(1.5, 45, "female", head_scale=1.6, leg_scale=0.8),
}
THINGS = {
    "box": ip.Box(),
    "flat box": ip.Box((1.2, 0.4, 0.05), 2),
    "ball": ip.Ball(0.3),
    "barbell": ip.Barbell(),
    "long barbell": ip.Barbell(3.0, grip_at=0.6),
    "litter": ip.Litter(),
    "low litter": ip.Litter(2.0, 0.8, 10, 0.2, 0.3),
    "sword": ip.Sword(),
    "dagger": ip.Sword(0.4, 0.3),
    "table": ip.Table(),
    "stool": ip.Table((0.3, 0.3, 0.45), 3),
    "long table": ip.Table((0.9, 2.4, 0.9), 40),
    "door": ip.Door(),
    "wide door": ip.Door(1.4, 2.5, 60, 1.2),
    "valve": ip.Valve(),
    "small valve": ip.Valve(0.08, 2, 0.6),
    "lever": ip.Lever(),
    "long lever": ip.Lever(1.4),
    "slider": ip.Slider(),
    "small slider": ip.Slider(0.05, 1),
    "platform": ip.Platform(),
    "moving platform": ip.MovingPlatform(),
    "drop leaf": ip.DropLeaf(),
    "beam": ip.Beam(),
    "wall": ip.Wall(),
    "stairs": ip.Stairs(5),
}
NEAR = 0.003
"""How far a contact surface may lie off its shape [m]."""


def posed(model):
    """Return a scene with a model whose joints are at 0, or as near as they may be."""
    scene = ip.Scene().add(model, "x").add(ip.Ball(0.01), "pin", pos=(30, 0))  # a scene needs something that moves
    m = scene.model
    for k in range(m.njnt):
        if m.jnt_type[k] == 3 and m.joint(k).name.startswith("x/"):
            low, high = m.jnt_range[k] if m.jnt_limited[k] else (0.0, 0.0)
            scene.pose("x", {m.joint(k).name[2:]: float(np.clip(0.0, low, high))})
    return scene, scene.kinematics()


@pytest.mark.parametrize("name", [*HUMANS, *THINGS])
def test_every_surface_lies_on_its_shape(name):
    """A patch lies on its body's shapes with its middle, or with its corners where it spans feet; a grip all around its axis.

    A hand's own grip is where a handle will be: it touches the palm on one side, and is clear of it elsewhere.
    """
    scene, terms = posed((HUMANS | THINGS)[name])
    m = scene.model
    sites = [s for s in range(m.nsite) if m.site(s).name.startswith("x/")]
    assert sites or name == "ball"
    for site in sites:
        found, R = surface(m, site), terms.site_xmat[site].reshape(3, 3)
        shapes = shapes_of(m, found.body)
        if found.kind == "planar":
            corners = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)]) * found.half
            offsets = np.vstack([np.zeros(2), corners])
            points = terms.site_xpos[site] + offsets @ R[:, :2].T
            off = np.abs(out_of_shapes(m, terms.data, points, shapes))
            assert min(off[0], off[1:].max()) < NEAR, (found.name, off)
        elif found.kind == "grasp":
            angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
            ring = found.half[0] * np.column_stack([np.cos(angle), np.sin(angle)])
            off = out_of_shapes(m, terms.data, terms.site_xpos[site] + ring @ R[:, :2].T, shapes)
            if name in HUMANS:
                assert np.abs(off).min() < NEAR, (found.name, off)
                assert off.min() > -NEAR, (found.name, off)
            else:  # the edge of a board goes on behind its handle
                assert off.max() < NEAR, (found.name, off)
                assert (np.abs(off) < NEAR).mean() > 0.45, (found.name, off)
        else:
            off = out_of_shapes(m, terms.data, terms.site_xpos[[site]], shapes)
            assert abs(off[0]) < NEAR, (found.name, off)


@pytest.mark.parametrize("name", HUMANS)
def test_shapes_fit_what_is_seen(name):
    """What is seen sticks out of the shapes by at most 2 mm, shapes stick out of it by at most 1 cm, fingers aside.

    Fingers close around what is held: a shape that fits them open would not fit a fist. Where bodies meet, at a joint, the
    union of a body's own and its neighbours' shapes (looks) counts. For a head larger than its body's both bounds grow with it.
    """
    model = HUMANS[name]
    scene, terms = posed(model)
    m = scene.model
    for body in range(1, m.nbody):
        if m.body(body).name.startswith(("x/right_", "pin")):  # the mirror image of the left side
            continue
        size = max(1.0, model.head_scale) if m.body(body).name == "x/head" else 1.0
        seen, shape = fit(m, terms.data, body, skip=FINGERS)
        assert seen < 0.002 * size, (m.body(body).name, seen)
        assert shape < 0.010 * size, (m.body(body).name, shape)


@pytest.mark.parametrize("name", THINGS)
def test_things_collide_as_they_look(name):
    scene, _ = posed(THINGS[name])
    m = scene.model
    for geom in range(m.ngeom):
        if m.geom(geom).name.startswith("x/"):
            assert m.geom_contype[geom]
            assert m.geom_group[geom] == 2


def test_a_humanoid_has_few_shapes():
    m = ip.Scene().add(ip.Humanoid(), "x").model
    assert sum(len(shapes_of(m, body)) for body in range(1, m.nbody)) <= 21
    for body in range(1, m.nbody):  # the waist and the neck included
        assert shapes_of(m, body), m.body(body).name
