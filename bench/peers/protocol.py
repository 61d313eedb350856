"""What the runners in Python share: the protocol of neutral/src/protocol.rs and the format of trajectories."""
import argparse
import json
import time

import numpy as np

WARM_UP = 5
# a run that would take this many times what it is allowed is given up after this part of the time
HOPELESS, EARLY = 2.0, 0.25


def matrix(q):
    """Rotation matrix of a quaternion (w, x, y, z)."""
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])


def times(p, q):
    """Product of quaternions (w, x, y, z)."""
    (a, b, c, d), (e, f, g, h) = p, q
    return np.array([
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    ])


def conjugate(q):
    return np.array([q[0], -q[1], -q[2], -q[3]])


def spanning_tree(scene):
    """Parent joint of every dynamic body (None if it is free), bodies in order from the roots, and the joints left over."""
    joints, bodies = scene["joints"], scene["bodies"]
    fixed = lambda b: b < 0 or not bodies[b]["dynamic"]
    at = [[] for _ in bodies]
    for k, joint in enumerate(joints):
        for b in (joint["a"], joint["b"]):
            if b >= 0:
                at[b].append(k)
    parent, order, used = {}, [], set()

    def grow(front):
        while front:
            following = []
            for body in front:
                for k in at[body]:
                    if k in used:
                        continue
                    a, b = joints[k]["a"], joints[k]["b"]
                    other = b if a == body else a
                    if fixed(other) or other in parent:
                        continue
                    used.add(k)
                    parent[other] = k
                    order.append(other)
                    following.append(other)
            front = following

    # first what hangs from the world, breadth first so that trees stay shallow, then what flies
    roots = []
    for k, joint in enumerate(joints):
        a, b = joint["a"], joint["b"]
        if fixed(a) != fixed(b):
            body = b if fixed(a) else a
            if body not in parent:
                parent[body] = k
                used.add(k)
                order.append(body)
                roots.append(body)
    grow(roots)
    for body, data in enumerate(bodies):
        if data["dynamic"] and body not in parent:
            parent[body] = None
            order.append(body)
            grow([body])
    return parent, order, [k for k in range(len(joints)) if k not in used]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scene", required=True)
    parser.add_argument("--settings", default="{}", type=json.loads)
    parser.add_argument("--budget", default=20.0, type=float)
    parser.add_argument("--until", default=0.0, type=float)
    parser.add_argument("--out")
    parser.add_argument("--steps", default=1, type=int)
    parser.add_argument("--repeats", default=1, type=int)
    return parser.parse_args()


def run(name, make):
    """`make(scene, settings)` gives an engine with `advance()`, a step and nothing else; `step() -> problem or None`, which also
    looks whether it went well; and `state() -> array of bodies x 13`."""
    options = arguments()
    with open(options.scene) as file:
        scene = json.load(file)
    until = round(options.until / scene["h"])
    if options.out:
        write(name, make, scene, options, until)
    else:
        measure(make, scene, options, until)


def write(name, make, scene, options, until):
    steps, budget = round(scene["duration"] / scene["h"]), options.budget
    engine = make(scene, options.settings)
    frames, note, total, timed, timed_until, done = [engine.state()], "", 0.0, 0.0, 0.0, 0
    for step in range(1, steps + 1):
        start = time.process_time()
        problem = engine.step()
        elapsed = time.process_time() - start
        total += elapsed
        timed += elapsed if step > WARM_UP else 0.0
        timed_until += elapsed if WARM_UP < step <= until else 0.0
        done = step
        if problem:
            note = f"step {step}: {problem}"
            break
        frames.append(engine.state())
        if not np.isfinite(frames[-1]).all():
            note = f"not finite at step {step}"
            break
        whole = total * steps / step
        hopeless = total > EARLY * budget and step >= until and whole > HOPELESS * budget
        if step < steps and (total > budget or hopeless):
            note = f"stopped after {step} of {steps} steps: {budget:.0f} s allowed, {whole:.0f} s needed"
            break
    step_ms = 1e3 * timed / (done - WARM_UP) if done > WARM_UP else 1e3 * total / max(1, done)
    until_ms = 1e3 * timed_until / (until - WARM_UP) if WARM_UP < until <= done else step_ms
    header = dict(engine=name, setting=options.settings, scene=scene["name"], h=scene["h"], bodies=len(scene["bodies"]),
                  frames=len(frames), steps=steps, done=done, spent_s=total, step_ms=step_ms, until_ms=until_ms, note=note)
    with open(options.out, "wb") as file:
        file.write((json.dumps(header) + "\n").encode())
        file.write(np.asarray(frames, dtype="<f8").tobytes())
    print(json.dumps(header))


def measure(make, scene, options, until):
    """Runs that are timed and nothing else: as many as asked for unless the time is over, one in any case."""
    step_ms, until_ms, spent = [], [], 0.0
    warm = min(WARM_UP, options.steps - 1)
    until = until if warm < until <= options.steps else options.steps
    while not step_ms or len(step_ms) < options.repeats and spent < options.budget:
        engine = make(scene, options.settings)
        advance, begin = engine.advance, time.process_time()
        for _ in range(warm):
            advance()
        start = time.process_time()
        for _ in range(until - warm):
            advance()
        middle = time.process_time()
        for _ in range(options.steps - until):
            advance()
        end = time.process_time()
        spent += end - begin
        step_ms.append(1e3 * (end - start) / (options.steps - warm))
        until_ms.append(1e3 * (middle - start) / (until - warm))
    print(json.dumps(dict(step_ms=step_ms, until_ms=until_ms, spent_s=spent)))
