"""The neutral scenes, and the reference motions of trees."""
import hashlib
import json
import subprocess

import cases
from install import CACHE, HERE, PYTHON, Missing, command, program, say


def quaternion_times(q, v):
    w, u = q[0], q[1:]
    cross = lambda a, b: [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    t = [2 * x for x in cross(u, v)]
    return [v[k] + w * t[k] + cross(u, t)[k] for k in range(3)]


def flat(scene):
    """The neutral scene as plain numbers, for the runner of ODE: joints placed in the world, inertia as a tensor in body axes."""
    out = [*scene["gravity"], scene["h"], scene["duration"], len(scene["bodies"]), len(scene["joints"])]
    kinds = ["box", "sphere", "capsule", "cylinder", "plane"]
    for body in scene["bodies"]:
        columns = [quaternion_times(body["axes"], [float(k == i) for k in range(3)]) for i in range(3)]
        tensor = [[sum(body["moments"][i] * columns[i][a] * columns[i][b] for i in range(3)) for b in range(3)] for a in range(3)]
        out += [int(body["dynamic"]), *body["position"], *body["orientation"], *body["velocity"], *body["angular_velocity"],
                body["mass"], *body["center"], tensor[0][0], tensor[1][1], tensor[2][2], tensor[0][1], tensor[0][2], tensor[1][2],
                len(body["shapes"])]
        for shape in body["shapes"]:
            solid = shape["solid"]
            (kind, data), = solid.items() if isinstance(solid, dict) else ((solid, {}),)
            size = data.get("size") or [data.get("radius", 0.0), data.get("length", 0.0), 0.0]
            out += [kinds.index(kind), *size, *shape["position"], *shape["orientation"], shape["friction"],
                    shape["restitution"], shape["group"], shape["mask"]]
    for joint in scene["joints"]:
        end = "a" if joint["a"] >= 0 else "b"
        body = scene["bodies"][joint[end]]
        place = quaternion_times(body["orientation"], joint["point_" + end])
        axis = quaternion_times(body["orientation"], quaternion_times(joint["turn_" + end], [0.0, 0.0, 1.0]))
        number = lambda b: b if b >= 0 and scene["bodies"][b]["dynamic"] else -1
        out += [int(joint["kind"] == "hinge"), number(joint["a"]), number(joint["b"]),
                *(p + x for p, x in zip(place, body["position"])), *axis]
    return "\n".join(repr(x) for x in out)


def dump(name):
    """The neutral scene, for all engines."""
    case, path = cases.SCENES[name], CACHE / "scenes" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    command(program("linkwork"), "dump", *case["scene"], "--to", path)
    scene = json.loads(path.read_text())
    path.with_suffix(".flat").write_text(flat(scene))
    return path, scene


def reference(name, path, versions):
    """The reference motion of a tree, made anew if its scene or what it is made with changed; its file."""
    case, file = cases.SCENES[name], path.with_suffix(".reference")
    if not versions.keys() & {"pinocchio", "mujoco"}:
        raise Missing("its reference motion needs Pinocchio or MuJoCo")
    texts = [case["until"], case.get("finest", 5e-4), versions.get("pinocchio"), versions.get("mujoco")]
    sources = ["pinocchio_runner.py", "mujoco_runner.py", "protocol.py"]
    parts = [path.read_bytes(), json.dumps(texts).encode(), *((HERE / source).read_bytes() for source in sources)]
    key = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
    if file.exists() and json.loads(file.read_text()).get("key") == key:
        return file
    say(f"{name}: reference motion")
    beside = path.with_suffix(".new")
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Pinocchio's data for large trees do not fit into memory; where both run, the two agree to rounding
    makers = [[engine, PYTHON, HERE / f"{engine}_runner.py", "reference", path, case["until"], beside] for engine in ("pinocchio", "mujoco")]
    makers[0].append(case.get("finest", 5e-4))
    for engine, *words in (maker for maker in makers if maker[0] in versions):
        try:
            command(*words, **quiet)
            break
        except subprocess.CalledProcessError:
            continue
    else:
        raise Missing("its reference motion could not be made")
    made = json.loads(beside.read_text())
    beside.unlink()
    if not made["change_on_halving"] < cases.REFERENCE:
        raise Missing(f"halving the steps of its reference motion moves it by {made['change_on_halving']} m; give it smaller ones in cases.py")
    file.write_text(json.dumps(made | dict(key=key, engine=engine)))
    return file


def energy_scale(scene):
    """What gravity can give while the scene falls by its own size, and what it has at the start, J."""
    g = sum(x * x for x in scene["gravity"]) ** 0.5
    dynamic = [b for b in scene["bodies"] if b["dynamic"]]
    size = max(max(b["position"][k] for b in dynamic) - min(b["position"][k] for b in dynamic) for k in range(3)) + 1.0
    moving = sum(0.5 * b["mass"] * sum(v * v for v in b["velocity"]) for b in dynamic)
    return 4 * (sum(b["mass"] for b in dynamic) * g * size + moving)
