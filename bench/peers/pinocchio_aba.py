"""Articulated bodies on binary trees of ball joints: Pinocchio called from C++ and Linkwork, by turns, in microseconds of CPU.

    python3 install.py && .cache/venv/bin/pip install pin cmeel-eigen
    cargo build --release
    .cache/venv/bin/python pinocchio_aba.py [path of the linkwork command [bodies ...]]

Builds pinocchio_aba.cpp against the installed package (some minutes), with the package's own instruction set: Eigen's layout in
memory would differ with another. Pinocchio's memory grows with the third power of the rates, 925 GB for 1023 bodies, of which its
articulated bodies use next to nothing: pinocchio_aba.cpp lets what is not used share a few pages. Setting it to zero, once,
takes some minutes all the same.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

try:
    import pinocchio
except ImportError:
    sys.exit("pinocchio_aba: Pinocchio is not installed here; the head of this file says how")

HERE = Path(__file__).resolve().parent
LINKWORK = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[1] / "target" / "release" / "linkwork")
PREFIX = Path(pinocchio.__file__).resolve().parents[4]
BODIES = sys.argv[2:] or ["127", "255", "1023"]
RUNNER = HERE / ".cache" / f"pinocchio_aba_{pinocchio.__version__}"
TURNS = 5
# setting Pinocchio's memory to zero takes minutes from here on: one turn
LARGE = 1000
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


def build():
    if RUNNER.exists():
        return
    RUNNER.parent.mkdir(exist_ok=True)
    options = "-std=c++17 -O3 -DNDEBUG -DBOOST_MPL_LIMIT_LIST_SIZE=30 -DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS".split()
    places = [f"-I{PREFIX}/include", f"-I{PREFIX}/include/eigen3", f"-L{PREFIX}/lib", f"-Wl,-rpath,{PREFIX}/lib"]
    source = HERE / "pinocchio_aba.cpp"
    subprocess.run(["g++", *options, *places, str(source), "-lpinocchio_default", "-o", str(RUNNER)], check=True)


def pinocchio_times(bodies):
    lines = subprocess.run([RUNNER, *bodies], env=ONE_THREAD, capture_output=True, text=True).stdout.splitlines()
    return {int(n): (float(world), float(local)) for n, world, local in map(str.split, lines)}


def linkwork_times():
    command = [LINKWORK, "bench", "algorithms", "--repeats", "1", "--json", "--quiet"]
    try:
        told = json.loads(subprocess.run(command, env=ONE_THREAD, capture_output=True, text=True).stdout)
    except (OSError, json.JSONDecodeError) as problem:
        sys.exit(f"pinocchio_aba: {LINKWORK} bench algorithms: {problem}; `cargo build --release` makes it")
    wanted = "articulated bodies, tree of "
    found = {r["label"]: 1e3 * r["cpu_ms"]["median"] for r in told["results"]}
    return {int(label.removeprefix(wanted)): us for label, us in found.items() if label.startswith(wanted)}


build()
peers, own = [], []
for turn in range(TURNS):
    peers.append(pinocchio_times([n for n in BODIES if turn == 0 or int(n) < LARGE]))
    own.append(linkwork_times())
for bodies in (127, 255, 1023):
    line = f"{bodies:5} bodies: Linkwork {min(turn[bodies] for turn in own):.1f} us"
    known = [turn[bodies] for turn in peers if bodies in turn]
    if known:
        world, local = (min(times) for times in zip(*known))
        line += f", Pinocchio {pinocchio.__version__} {world:.1f} us (world frames), {local:.1f} us (local frames)"
    print(line)
