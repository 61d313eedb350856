"""How far the walking machine, its crank free, runs down a slope of 0.2 in MuJoCo: the figures of the engine's test
`a_walking_machine_runs_down_a_slope_as_in_mujoco`. Contacts and loops as stiff as the step allows.

    target/release/peer-linkwork dump strandbeest legs=12 load=20 ground=1 slope=0.2 --to FILE.json
    .cache/venv/bin/python slope.py FILE.json
"""
import json
import sys

try:
    from mujoco_runner import Run
except ImportError as problem:
    sys.exit(f"slope: {problem}; `bench/peers/run --only crane,mujoco` installs it for bench/peers/.cache/venv/bin/python")

MARKS = (1.5, 3.0)

if len(sys.argv) != 2:
    sys.exit("slope: which scene? slope.py FILE.json, made by `peer-linkwork dump` (head of this file)")
try:
    with open(sys.argv[1]) as file:
        scene = json.load(file)
except (OSError, json.JSONDecodeError) as problem:
    sys.exit(f"slope: {sys.argv[1]}: not a neutral scene: {problem}")
for h in (1e-3, 5e-4, 2.5e-4):
    run = Run(scene | dict(h=h), dict(solref=f"{2 * h} 1", solimp="0.99 0.999 0.0001", integrator="implicitfast", cone="elliptic",
                                      impratio=100, iterations=200, tolerance=1e-12))
    seen = {}
    for step in range(round(MARKS[-1] / h)):
        run.step()
        for mark in MARKS:
            if step + 1 == round(mark / h):
                seen[mark] = float(run.state()[0, 0])
    print(f"h = {h} s:", ", ".join(f"x = {x:.3f} m at {mark} s" for mark, x in seen.items()), flush=True)
