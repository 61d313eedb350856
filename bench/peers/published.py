#!/usr/bin/env python3
"""Linkwork beside figures 5 and 6 of Tomcin, Sibbing and Kobbelt 2014: size and fill of the system, and time, into docs/peers.md.

    cargo build --release && bench/peers/published.py [path of the linkwork command]

Every row is `linkwork bench SCENE --set KEY=N --duration S --repeats 2 --json`, one thread. About two minutes.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import install

ROOT = Path(__file__).resolve().parents[2]
LINKWORK = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / "linkwork")
BEGIN, END = "<!-- figures 5 and 6: begin -->", "<!-- figures 5 and 6: end -->"
# scene and duration, s; the largest of theirs are 220 segments, 100 legs and 150 rings
SCENES = [(["spider", "legs=10", "radius=0.8"], 2), (["spider", "legs=50", "radius=0.8"], 2), (["spider", "legs=200", "radius=0.8"], 2),
          (["tree", "bodies=127"], 2), (["tree", "bodies=1023"], 2), (["tree", "bodies=4095"], 2),
          (["scissor-lift", "pairs=10"], 2), (["scissor-lift", "pairs=50"], 2), (["scissor-lift", "pairs=220"], 2),
          (["strandbeest", "legs=12"], 2), (["strandbeest", "legs=50"], 2), (["strandbeest", "legs=100"], 2),
          (["tube", "rings=8"], 0.25), (["tube", "rings=30"], 0.1), (["tube", "rings=75"], 0.1), (["tube", "rings=150"], 0.1)]


def measured(scene, duration):
    name, *settings = scene
    words = [str(LINKWORK), "bench", name, *(w for s in settings for w in ("--set", s)), "--duration", str(duration), "--repeats", "2", "--json", "--quiet"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"RAYON_NUM_THREADS": "1"})
    except FileNotFoundError:
        sys.exit(f"published: {LINKWORK} not found; `cargo build --release` makes it")
    if not done.stdout:
        sys.exit(f"published: {' '.join(scene)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["results"][0]


def figure(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def row(scene, found):
    rows, matrix, factor = found["constraint_rows"], found["matrix_entries"], found["factor_entries"]
    step, iteration = found["cpu_ms"]["median"], found["iterations"]["cpu_ms"]
    # what stands still iterates in few steps, which says nothing of an iteration
    shown = figure(iteration) if iteration and iteration < step else "–"
    cells = [" ".join(scene), f"{rows:,}", f"{matrix:,}", f"{factor:,}", f"{matrix / rows:.1f}", f"{factor / rows:.1f}",
             figure(step), shown]
    return "| " + " | ".join(cells).replace(",", " ") + " |"


def main():
    lines = [f"On {install.machine()['processor']}:", "", "| scene | rows | entries of A | of the factor | of A a row | of the factor a row | CPU ms a step | CPU ms an iteration |", "|" + " --- |" * 8]
    for scene, duration in SCENES:
        print(f"{' '.join(scene)} ... ", end="", flush=True)
        lines.append(row(scene, measured(scene, duration)))
        print(lines[-1])
    path = ROOT / "docs" / "peers.md"
    text = path.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)


if __name__ == "__main__":
    main()
