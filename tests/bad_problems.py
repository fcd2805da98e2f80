"""Random problems that cannot be, over all words: files, calls from Python, values of ``--set``, and clips that are none."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

import interplay as ip
from interplay.compositions import composition, compositions
from interplay.script.composing import load_composition
from interplay.spacetime import words
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.rounds import Walker, together

NOT_NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, "fast", None, [], {}, True, "1e999", [1.3]]
NOT_NAMES: list[Any] = [None, 7, "", "nobody", ["ann"], {"ann": 1}, "ann/", "/", "ann/right_plam", "a" * 99]


class Bad(NamedTuple):
    """What is wrong, how it is said, and what does it in a folder; ``fights``: only a solver can tell."""

    kind: str
    said: str
    run: Callable[[Path], Performance]
    fights: bool = False


def bad(seed: int) -> Bad:
    """Return one."""
    rng = random.Random(seed)
    return rng.choice([_file, _file, _call, _call, _set, _clip, _fight])(rng)


# -- files ----------------------------------------------------------------------------------------------------------------

SOLO = {
    "models": {"ann": {"humanoid": {"height": 1.7}}},
    "actions": {"ann": [{"walk": 1.3, "steps": 2}, {"turn": 0.5, "steps": 2, "speed": 1.2}, {"run": 3.0, "steps": 2}]},
    "hold": [
        {"reach": "ann/right_palm", "at": [0.9, -0.3, 1.2], "when": 2},
        {"time": 0.95, "of": "ann", "when": 3},
        {"height": 0.1, "of": "ann", "when": 4},
    ],
}
STILL = {
    "models": {"ann": {"humanoid": {"height": 1.7}}},
    "actions": {"ann": [{"stand": 0.3}, {"jump": 0.5, "up": 0.1}, {"stand": 0.3}]},
    "hold": [],
}
PAIR = {
    "models": {"ann": {"humanoid": {}, "at": [-1, 0]}, "ben": {"humanoid": {}, "at": [0, -1], "facing": 1.5708}},
    "actions": {"ann": [{"walk": 1.3, "steps": 3}], "ben": [{"walk": 1.3, "steps": 3}]},
    "hold": [{"pass_by": ["ann", "ben"], "margin": 0.1}],
}
CONTEST = {
    "models": {"ann": {"humanoid": {}}, "ben": {"humanoid": {}, "at": [4.0, 3.0], "facing": -2.27}},
    "actions": {"ben": [{"run": 3.0, "steps": 4}], "ann": [{"walk": 1.3, "steps": 3}]},
    "hold": [{"tackle": "ann", "by": "ben", "speed": 3.5}, {"dodge": "ben", "by": "ann", "margin": 0.2}],
    "schedule": "horizon",
}


def _numbers(entry: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where numbers are in a file's actions and what must hold."""
    if isinstance(entry, dict):
        return [p for key, value in entry.items() for p in _numbers(value, (*path, key))]
    if isinstance(entry, list):
        return [p for k, value in enumerate(entry) for p in _numbers(value, (*path, k))]
    return [path] if isinstance(entry, int | float) else []


def _names(entry: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where names are in what must hold."""
    if isinstance(entry, dict):
        return [p for key, value in entry.items() if key != "when" for p in _names(value, (*path, key))]
    if isinstance(entry, list):
        return [p for k, value in enumerate(entry) for p in _names(value, (*path, k))]
    return [path] if isinstance(entry, str) else []


def _put(entry: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = value


def _file(rng: random.Random) -> Bad:
    file = copy.deepcopy(rng.choice([SOLO, SOLO, STILL, PAIR, CONTEST]))
    who = rng.choice(list(file["actions"]))
    kinds = ["number", "far out", "word", "actor", "crowded", "free", "seconds", "schedule", "last", "model", "moment"]
    kinds += ["name"] if file["hold"] else []
    kinds += ["self", "crossed", "hurried", "far", "below", "high"] if file["models"] is not None else []
    kind = rng.choice(kinds)
    if kind == "number":
        where = rng.choice([p for p in _numbers(file) if p[0] in ("actions", "hold")])
        _put(
            file, where, rng.choice(NOT_NUMBERS[:-1]) if where[-1] != "when" else rng.choice([0, -1, 2.5, math.nan, 99])
        )
    if kind == "far out":
        where = rng.choice([p for p in _numbers(file) if p[0] in ("actions", "hold")])
        _put(file, where, rng.choice([-1e3, 1e4, 1e12, 10**400]))
    if kind == "word":
        action = rng.choice(file["actions"][who])
        key = next(iter(action))
        action[rng.choice([key[::-1], key + "s", "hop", "", "steps"]) or " "] = action.pop(key)
    if kind == "actor":
        file["actions"][rng.choice(["cleo", "an", "ANN", "ground"])] = file["actions"].pop(who)
    if kind == "crowded":
        place = file["models"][who].get("at", [0, 0])
        near = [float(place[0]) + rng.uniform(-0.1, 0.1), float(place[1]) + rng.uniform(-0.1, 0.1)]
        file["models"]["crowd"] = {"humanoid": {}, "at": near}
    if kind == "free":
        file["free"] = rng.choice([["everything"], "timing and footprints", 3, [None], {"timing": True}, ["Timing"]])
    if kind == "seconds":
        file["seconds"] = rng.choice([0, -2, 0.02, 90.0, 1e9, math.nan, "long"])
    if kind == "schedule":
        file["schedule"] = (
            rng.choice(["lairs", "", 3, "joint" if file["schedule"] == "horizon" else "horizon"])
            if ("schedule" in file)
            else rng.choice(["lairs", "horizon", None, [], "Joint"])
        )
    if kind == "last":
        file["last"] = rng.choice(["cleo", "", 3, "ann/chest", "joint"])
    if kind == "model":
        file["models"][who] = rng.choice(
            [
                {"humanoid": {"height": rng.choice([0, -1.7, 50, math.nan, "tall"])}},
                {"humanoid": {"mass": rng.choice([0, -60, 1e6, math.inf])}},
                {"humanoid": {"joints": 7}},
                {"humanoids": {}},
                {"box": {"size": [0.3, 0.3, 0.3]}},
                {"table": {}},
                {"body": {"sidecar": "nowhere.yaml"}},
                {"file": "nowhere.yaml"},
                {},
                None,
            ]
        )
    if kind == "moment":
        moment = rng.choice([0, -1, 99, 2.5, "middle", None, [1], math.nan, True])
        file["hold"] = [*file["hold"], {"reach": f"{who}/right_palm", "at": [0.9, -0.3, 1.2], "when": moment}]
    if kind == "name":
        _put(file, rng.choice([p for p in _names(file["hold"], ("hold",)) if p]), rng.choice(NOT_NAMES))
    if kind == "self":
        word = rng.choice(["pass_by", "tackle", "dodge"])
        given = {"pass_by": [who, who]} if word == "pass_by" else {word: who, "by": who}
        file["hold"] = [*file["hold"], given]
        if word != "pass_by":
            file["schedule"] = "horizon"
    if kind == "crossed":
        file["hold"] = [{"time": 0.7, "of": who, "when": 2}, {"time": rng.uniform(0.3, 0.69), "of": who, "when": 3}]
        file["actions"] = {who: [{"walk": 1.3, "steps": 3}]}
        file.pop("schedule", None)
    if kind == "hurried":
        file["hold"] = [{"time": rng.choice([0.02, 30.0]), "of": who, "when": 2}]
        file["actions"] = {who: [{"walk": 1.3, "steps": 3}]}
        file.pop("schedule", None)
    if kind in ("far", "below", "high"):
        at = {"far": [rng.uniform(5, 50), 0, 1.2], "below": [0.4, 0, -rng.uniform(0.05, 1)], "high": [0.4, 0, 5.0]}[
            kind
        ]
        file["hold"] = [
            {"reach": f"{who}/{rng.choice(['left', 'right'])}_palm", "at": at, "when": rng.choice([1, "end"])}
        ]
        file["actions"] = {who: [{"walk": 1.3, "steps": 3}]}
        file["models"] = {who: {"humanoid": {}}}
        file.pop("schedule", None)
    text = yaml.safe_dump(file, sort_keys=False)

    def run(folder: Path) -> Performance:
        path = folder / "bad.yaml"
        path.write_text(text)
        return load_composition(path)().compose()

    return Bad(f"file: {kind}", text, run)


# -- calls ----------------------------------------------------------------------------------------------------------------


def _scene(*, ben: tuple[float, float] | None = None) -> ip.Scene:
    scene = ip.Scene().add(ip.Humanoid(1.74, 68, springs=True), "ann")
    return scene.add(ip.Humanoid(1.80, 75, springs=True), "ben", ben) if ben else scene


def _call(rng: random.Random) -> Bad:
    far = rng.choice([*NOT_NUMBERS, -1.0, 0.0, 1e6, 40.0, np.nan, np.float64("inf"), np.array([1.0, 2.0])])
    one, good = rng.choice([None, "", "nobody", 3, ["ann"]]), [words.walk(1.3)]
    count = rng.choice([0, -1, 2.5, "two", None, True, 10**9, math.nan])
    x, y = rng.uniform(-0.1, 0.1), rng.uniform(-0.1, 0.1)
    calls: dict[str, Callable[[], Any]] = {
        "walk speed": lambda: [words.walk(far)],
        "run speed": lambda: [words.run(far)],
        "walk steps": lambda: [words.walk(1.3, count)],
        "run steps": lambda: [words.run(3.0, count)],
        "turn angle": lambda: [words.turn(rng.choice([math.nan, 40.0, "left", None]))],
        "turn steps": lambda: [words.turn(0.5, count)],
        "turn speed": lambda: [words.turn(0.5, 2, far)],
        "pivot angle": lambda: [words.pivot(rng.choice([math.inf, -40.0, "left", None]))],
        "stand": lambda: [words.stand(rng.choice([-1.0, 0.0, math.nan, 1e9, "long"]))],
        "jump ahead": lambda: [words.jump(rng.choice([-1.0, 40.0, math.nan, "far", None]))],
        "jump up": lambda: [words.jump(0.5, rng.choice([-9.0, 9.0, math.nan, "up"]))],
        "impossible walk": lambda: [words.walk(rng.uniform(3.2, 7.9))],
        "clip": lambda: [words.captured(rng.choice([None, "walk", 3]))],
        "no action": list,
        "action": lambda: rng.choice([[words.walk], [None], ["walk"], "walk", 3, None, [1.3]]),
    }
    holds: dict[str, Callable[[], Any]] = {
        "reach at": lambda: [words.reach("ann/right_palm", rng.choice([(1, 2), (math.nan, 0, 1), "here", None, 3]), 2)],
        "reach far": lambda: [words.reach("ann/right_palm", (rng.uniform(5, 50), 0, 1.2), 2)],
        "reach below": lambda: [words.reach("ann/right_palm", (0.5, 0, -rng.uniform(0.05, 1)), 2)],
        "reach surface": lambda: [words.reach(rng.choice(NOT_NAMES), (0.5, 0, 1.2), 2)],
        "reach when": lambda: [
            words.reach("ann/right_palm", (0.5, 0, 1.2), rng.choice([0, 99, 2.5, "middle", None, [1]]))
        ],
        "reach twice": lambda: [words.reach("ann/right_palm", (0.5, y, 1.2), 2) for y in (-0.6, 0.2)],
        "time": lambda: [words.at_time("ann", 2, rng.choice([-1.0, 0.0, math.nan, "soon", None, 0.02, 60.0]))],
        "time who": lambda: [words.at_time(one, 2, 1.0)],
        "times crossed": lambda: [words.at_time("ann", 2, 0.7), words.at_time("ann", "end", rng.uniform(0.4, 0.69))],
        "time of the beginning": lambda: [words.at_time("ann", "begin", 0.5)],
        "height": lambda: [words.on_height("ann", 2, rng.choice([-0.5, 5.0, math.nan, "high", None, 1e9]))],
        "pass whom": lambda: [words.pass_by("ann", rng.choice(["ann", None, "nobody", 3, ["ann"]]))],
        "pass margin": lambda: [words.pass_by("ann", "ben", rng.choice([-0.1, 5.0, math.nan, "wide"]))],
        "tackle speed": lambda: [words.tackle("ann", "ben", far)],
        "tackle alone": lambda: [words.tackle("ann", "ben")],
        "dodge margin": lambda: [words.dodge("ann", "ben", rng.choice([-0.1, 5.0, math.nan, "wide"]))],
        "held": lambda: rng.choice(
            [[words.reach], ["reach"], 3, [None], words.reach("ann/right_palm", (0.5, 0, 1), 1)]
        ),
    }
    others: dict[str, Callable[[], Any]] = {
        "scene": lambda: words.compose(rng.choice([None, 3, "ann", ip.Humanoid()]), {"ann": good}),
        "nobody": lambda: words.compose(_scene(), rng.choice([{}, None, [], {"nobody": good}, {3: good}, "ann"])),
        "free": lambda: words.compose(_scene(), {"ann": good}, free=rng.choice(["timing", None, 3, ["time"], [None]])),
        "seconds": lambda: words.compose(
            _scene(), {"ann": good}, seconds=rng.choice([0, -1.0, 0.02, 90.0, math.nan, "long"])
        ),
        "schedule": lambda: words.compose(
            _scene(), {"ann": good}, schedule=rng.choice(["lairs", None, 3, "horizon", ["joint"]])
        ),
        "last": lambda: words.compose(_scene(), {"ann": good}, last=rng.choice(["ann", "nobody", 3])),
        "crowded": lambda: words.compose(_scene(ben=(x, y)), {"ann": good}),
        "no character": lambda: words.compose(
            ip.Scene().add(rng.choice([ip.Box((0.3, 0.3, 0.3)), ip.Ball(0.1), ip.Platform((1, 1, 0.1))]), "ann"),
            {"ann": good},
        ),
        "hands: speed": lambda: _hands(_pair(), rng.choice([-1.0, 0.0, 40.0, math.nan, "fast"])),
        "hands: steps": lambda: _hands(_pair(steps=rng.choice([0, -2, 3, 2.5, "two"])), 1.0),
        "hands: leader": lambda: _hands(_pair(), 1.0, rng.choice(["nobody", 3, ["ann"]])),
        "hands: alone": lambda: _hands(_pair()[: rng.choice([0, 1])], 1.0),
        "hands: twins": lambda: _hands(_pair(other="ann"), 1.0),
        "hands: lead": lambda: _hands(_pair(leads=rng.choice(["both", None, 3])), 1.0),
    }
    kind = rng.choice([*calls, *holds, *others])
    if kind in calls:
        return Bad(f"call: {kind}", kind, lambda _: words.compose(_scene(), {"ann": calls[kind]()}))
    if kind in holds:
        contest = "tackle" in kind or "dodge" in kind
        scene = _scene(ben=(1.5, 1.5)) if contest or "pass" in kind else _scene()
        does = {"ann": [words.walk(1.3, 3)], **({"ben": [words.walk(1.3, 3)]} if scene.names != ["ann"] else {})}

        def run(_: Path) -> Performance:
            return words.compose(scene, does, holds[kind](), schedule="horizon" if contest else "joint")

        return Bad(f"call: {kind}", kind, run)
    return Bad(f"call: {kind}", kind, lambda _: others[kind]())


def _hands(*given: Any) -> Performance:
    return perform("hands", together(*given).found)


def _pair(steps: Any = 2, other: str = "ben", leads: Any = "right") -> list[Walker]:
    return [Walker("ann", ip.Humanoid(1.68, 60), steps, "left"), Walker(other, ip.Humanoid(1.8, 75), 2, leads)]


# -- values of --set ------------------------------------------------------------------------------------------------------


def _set(rng: random.Random) -> Bad:
    name, kind = rng.choice(list(compositions())), rng.choice(["value", "value", "value", "key", "name"])
    fields = compositions()[name].Parameters.model_fields
    if kind == "name":
        wrong = rng.choice([name[::-1], name + "s", "", name.upper(), "../" + name])
        return Bad("set: name", wrong, lambda _: composition(wrong)({}).compose())
    key = rng.choice(
        [k for k in fields if k not in ("leader", "clip", "first", "second", "who", "character")] or list(fields)
    )
    value = rng.choice(["nan", "inf", "-inf", "-1e3", "1e9", "text", "", "[]", "null", "1.3.1", "١" * 9])
    if kind == "key":
        key = rng.choice([key[:-1] + "q", key.upper(), "no", " "])
    return Bad(f"set: {kind}", f"{name} {key}={value}", lambda _: composition(name)({key: value}).compose())


# -- clips ----------------------------------------------------------------------------------------------------------------


def _clip(rng: random.Random) -> Bad:
    kind = rng.choice(["missing", "empty", "torn", "noise", "folder", "no contacts", "who", "cut", "late", "none"])
    name = rng.choice(["physical", "transition"])

    def run(folder: Path) -> Performance:
        path, given = folder / "motion.clip", {}
        if kind in ("torn", "no contacts", "who", "cut", "late"):
            clip = ip.Clip.load("wave")
            clip.save(path)
        if kind == "empty":
            path.write_bytes(b"")
        if kind == "noise":
            path.write_bytes(rng.randbytes(4000))
        if kind == "torn":
            path.write_bytes(path.read_bytes()[: rng.randrange(10, 3000)])
        if kind == "folder":
            path.mkdir(exist_ok=True)
        begin = {"cut": 1.0, "late": 1e6}.get(kind, 0.0)
        if name == "physical":
            given = {"clip": str(path), "begin": begin, "end": 0.5 if kind == "cut" else 0.0}
            given |= {"who": "nobody"} if kind == "who" else {}
        else:
            given = {"first": str(path), "second": str(path), "first_begin": begin, "first_end": 0.5 * (kind == "cut")}
        if kind == "none":
            given = {}
        return composition(name)(given).compose()

    return Bad(f"clip: {kind} {name}", name, run)


# -- what only a solver can tell --------------------------------------------------------------------------------------------


def _fight(rng: random.Random) -> Bad:
    side, y = rng.choice(["left", "right"]), rng.uniform(-0.3, 0.3)
    kinds: dict[str, Callable[[], Performance]] = {
        "over her head": lambda: words.compose(
            _scene(), {"ann": [words.walk(1.3)]}, [words.reach(f"ann/{side}_palm", (0.4, y, 2.45), 2)]
        ),
        "too far a jump": lambda: words.compose(_scene(), {"ann": [words.jump(rng.uniform(2.7, 3.0))]}),
        "too high a jump": lambda: words.compose(_scene(), {"ann": [words.jump(0.3, rng.uniform(1.2, 1.5))]}),
        "in a moment": lambda: words.compose(
            _scene(),
            {"ann": [words.walk(1.3, 3)]},
            [words.reach("ann/right_palm", (0.9, -0.9, 1.2), 1), words.reach("ann/right_palm", (0.4, 0.7, 1.2), 2)],
            seconds=0.9,
        ),
    }
    kind = rng.choice(list(kinds))
    return Bad(f"fight: {kind}", kind, lambda _: kinds[kind](), fights=True)
