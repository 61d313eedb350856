#!/usr/bin/env python3
"""Tables of Linkwork alone: beside the figures of papers, into docs/peers.md, and against its targets and in contact, into docs/results.md.

    cargo build --release && bench/peers/published.py                 all of them, about ten minutes
    bench/peers/published.py --only bender,contact                    these
    bench/peers/published.py --linkwork target/checked/linkwork       another build

One thread. What is run for every row is in this file, and below the titles of the tables.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import install
import tables

ROOT = Path(__file__).resolve().parents[2]
# a frame of a film, s
FRAME = 1 / 24

# Bender and Schmitt 2006, ms a step: bodies of a tree; sweeps to 1e-2, 1e-4, 1e-6; system of equations to the same
BENDER = [(31, "0.97 | 6.78 | 14.31 | 3.23 | 3.54 | 3.79"), (63, "2.48 | 28.46 | 67.50 | 7.12 | 7.14 | 7.69"),
          (127, "6.25 | 87.05 | 228.57 | 18.78 | 18.95 | 20.09"), (255, "15.86 | 246.71 | 703.48 | 62.06 | 63.21 | 63.61")]
# Tomcin, Sibbing and Kobbelt 2014: load; ODE's step in ms, time in s, error; theirs
TOMCIN = [(0, "2 | 7.46 | 0.0223 | 20 | 7.73 | < 1e-6"), (5, "0.75 | 19.68 | 0.0258 | 20 | 9.79 | < 1e-6"),
          (10, "0.5 | 29.13 | 0.0223 | 20 | 10.08 | < 1e-6"), (20, "0.3 | 48.06 | 0.02 | 20 | 8.92 | < 1e-6")]
# their figures 5 and 6, scene and duration, s; the largest of theirs are 220 segments, 100 legs and 150 rings
SIZES = [(["spider", "legs=10", "radius=0.8"], 2), (["spider", "legs=50", "radius=0.8"], 2), (["spider", "legs=200", "radius=0.8"], 2),
         (["tree", "bodies=127"], 2), (["tree", "bodies=1023"], 2), (["tree", "bodies=4095"], 2),
         (["scissor-lift", "pairs=10"], 2), (["scissor-lift", "pairs=50"], 2), (["scissor-lift", "pairs=220"], 2),
         (["strandbeest", "legs=12"], 2), (["strandbeest", "legs=50"], 2), (["strandbeest", "legs=100"], 2),
         (["tube", "rings=8"], 0.25), (["tube", "rings=30"], 0.1), (["tube", "rings=75"], 0.1), (["tube", "rings=150"], 0.1)]
# Weinstein, Teran and Fedkiw 2006
WEINSTEIN = [(["bridge"], "bridge, 81 pairs of blocks", "30 s a frame"), (["bridge", "rings=1"], "bridge, 60 loops", "30 s a frame"),
             (["net"], "net", "under one minute a frame"), (["tank"], "tank", "about 30 s a frame"), (["magnets"], "magnets", "–"),
             (["skeletons"], "skeletons", "two days in all"), (["rings"], "rings, 360", "about one day in all")]
STANDING = ["strandbeest", "ground=1"]
# scene, step as on the command line and duration in s; without these its own
CONTACT = [(["pyramid"], "", 10), (["pyramid"], "1/30", 60), (["pyramid", "drop=0.01"], "", 10), (["pyramid", "base=50"], "", 10),
           (["rings"], "", 0), (["rings"], "1/30", 0),
           *(([*STANDING, "legs=12", f"load={load}"], "1/50", 5) for load in (0, 5, 10, 20)),
           *(([*STANDING, "legs=50", f"load={load}"], "1/50", 5) for load in (0, 20)),
           (["crane"], "", 0), (["crane"], "0.25", 0), (["gripper"], "", 0), (["net"], "", 0), (["bridge"], "", 0), (["bridge", "rings=1"], "", 0),
           (["tank"], "", 0), (["magnets"], "", 0), (["skeletons"], "", 0), (["cradle"], "", 0), (["excavator", "motion=2"], "", 0),
           (["car", "ground=1"], "", 0), (["walker", "ground=1"], "", 0)]


TARGETS = ["tree", "star", "wrecking-ball", "scissor-lift", "strandbeest", "spider", "peaucellier", "excavator", "crane-load", "tube", "particles"]


class Linkwork:
    """A build of the command."""

    def __init__(self, path):
        self.path, self.known = path, {}

    def text(self, *words):
        """What it prints."""
        print(f"linkwork {' '.join(words)}", flush=True)
        try:
            done = subprocess.run([str(self.path), *words], capture_output=True, text=True, env=os.environ | {"RAYON_NUM_THREADS": "1"})
        except OSError as problem:
            sys.exit(f"published: {self.path}: {problem.strerror}; `cargo build --release` makes it")
        if not done.stdout:
            sys.exit(f"published: `linkwork {' '.join(words)}` printed no figures: {done.stderr.strip()}")
        return done.stdout

    def ask(self, *words):
        """What it prints as JSON; the same is not run twice."""
        if words not in self.known:
            self.known[words] = json.loads(self.text(*words))
        return self.known[words]

    def bench(self, scene, duration, repeats, step=""):
        told = self.ask("bench", *scene_words(scene, step, duration), "--repeats", str(repeats), "--json", "--quiet")
        return told["results"][0]

    def run(self, scene, step="", duration=0):
        report = self.ask("run", *scene_words(scene, step, duration), "--threads", "1", "--quiet", "--report", "-")
        if report["failed_steps"] or report["error"]:
            sys.exit(f"published: {' '.join(scene)} failed: {report['error'] or report['failed_steps']}; a table must not hide that")
        return report


def scene_words(scene, step, duration):
    name, *settings = scene
    words = [name, *(word for setting in settings for word in ("--set", setting))]
    return words + ["--dt", step] * bool(step) + ["--duration", str(duration)] * bool(duration)


def figure(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.2g}" if x >= 1e-3 or x == 0 else f"{x:.1e}".replace("e-0", "e-")


def bender(linkwork):
    head = [" ", "sweeps 1e-2", "1e-4", "1e-6", "system of equations 1e-2", "1e-4", "1e-6", "Linkwork 1e-9: median", "mean", "accurate steps", "iterations a step"]
    rows = []
    for bodies, theirs in BENDER:
        found = linkwork.bench(["tree", f"bodies={bodies}"], 10, 3, "1/30")
        rows.append([f"tree {bodies}", theirs, *times_of(found), figure(found["iterations"]["joint_mean"])])
    found = linkwork.bench(["star", "bodies=127"], 10, 3, "1/30")
    return text_of(head, rows + [["star 127", " | ".join(["–"] * 6), *times_of(found), figure(found["iterations"]["joint_mean"])]])


def times_of(found):
    """Median, mean, and median of the accurate steps, CPU ms."""
    mean = found["iterations"]["cpu_ms"] * found["iterations"]["joint_mean"]
    return [figure(x) for x in (found["cpu_ms"]["median"], mean, found["accurate_cpu_ms"])]


def tomcin(linkwork):
    rows = []
    for load, theirs in TOMCIN:
        report = linkwork.run([*STANDING, "legs=50", f"load={load}"], "1/50", 5)
        rows.append([str(load), theirs, "20", figure(report["cpu_s"]), figure(report["joint_error"]["max_m"])])
    return text_of(["k", "ODE: h ms", "s", "error", "theirs: h ms", "s", "error", "Linkwork: h ms", "s", "error m"], rows)


def sizes(linkwork):
    rows = []
    for scene, duration in SIZES:
        found = linkwork.bench(scene, duration, 2)
        count, matrix, factor = found["constraint_rows"], found["matrix_entries"], found["factor_entries"]
        step, iteration = found["cpu_ms"]["median"], found["iterations"]["cpu_ms"]
        # what stands still iterates in few steps, which says nothing of an iteration
        shown = figure(iteration) if iteration and iteration < step else "–"
        spaced = [f"{x:,}".replace(",", " ") for x in (count, matrix, factor)]
        rows.append([" ".join(scene), *spaced, f"{matrix / count:.1f}", f"{factor / count:.1f}", figure(step), shown])
    head = ["scene", "rows", "entries of A", "of the factor", "of A a row", "of the factor a row", "CPU ms a step", "CPU ms an iteration"]
    return text_of(head, rows)


def weinstein(linkwork):
    rows = []
    for scene, label, theirs in WEINSTEIN:
        report = linkwork.run(scene)
        rows.append([label, theirs, figure(report["cpu_s"] * FRAME / report["simulated_s"]),
                     f"{figure(report['cpu_s'])} s for {report['simulated_s']:.0f} s", figure(report["joint_error"]["max_m"]),
                     figure(report["penetration"]["max_m"]), str(report["step_kinds"]["last_resort"])])
    return text_of(["scene", "theirs", "Linkwork, CPU s a frame", "in all", "joint error m", "overlap m, worst", "last resorts"], rows)


def contact(linkwork):
    rows = []
    for scene, step, duration in CONTACT:
        report = linkwork.run(scene, step, duration)
        course = report["course"]["penetration_m"]
        overlaps = [1e3 * report["penetration"]["max_m"], 1e3 * max(course[-len(course) // 5:])]
        rows.append([" ".join(scene), f"{report['simulated_s']:.0f} s, h = 1/{round(1 / report['dt'])} s", figure(1e3 * report["cpu_s"] / report["steps"]),
                     figure(report["joint_error"]["max_m"]), ", ".join(map(figure, overlaps)), figure(report["displacement"]["max_m"]),
                     str(report["step_kinds"]["last_resort"])])
    return text_of(["scene", "run", "CPU ms a step", "joint error m", "overlap mm: worst, in the last fifth", "displacement m", "last resorts"], rows)


def targets(linkwork):
    """Missed accuracy and times are in what it prints."""
    return f"```\n{linkwork.text('bench', *TARGETS, '--repeats', '3', '--quiet').rstrip()}\n```"


TABLES = {"bender": (bender, "peers.md"), "tomcin": (tomcin, "peers.md"), "sizes": (sizes, "peers.md"), "weinstein": (weinstein, "peers.md"),
          "targets": (targets, "results.md"), "contact": (contact, "results.md")}


def text_of(head, rows):
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return "\n".join([line(head), "|" + " --- |" * len(head), *map(line, rows)])


def write(name, text, folder):
    tables.put(folder / TABLES[name][1], f"<!-- {name}: begin -->", f"<!-- {name}: end -->", [text])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--linkwork", type=Path, default=ROOT / "target" / "release" / "linkwork", metavar="PROGRAM", help="the build to run")
    parser.add_argument("--only", default=",".join(TABLES), metavar="NAME,...", help=f"tables: {', '.join(TABLES)}")
    given = parser.parse_args()
    names = [name.strip() for name in given.only.split(",") if name.strip()]
    unknown = [name for name in names if name not in TABLES]
    if unknown or not names:
        parser.error(f"--only {given.only}: no table called {', '.join(unknown) or 'that'}; there are {', '.join(TABLES)}")
    linkwork = Linkwork(given.linkwork)
    for name in names:
        where = f"Linkwork {install.linkwork()}, {install.machine()['processor']}:"
        write(name, f"{where}\n\n{TABLES[name][0](linkwork)}", ROOT / "docs")


if __name__ == "__main__":
    main()
