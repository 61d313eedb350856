"""Tables and plots of what `run` measured, into docs/peers.md between its marks, and a summary into docs/results.md."""
import json
import sys

import cases
import plot

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SUMMARY = "<!-- beside: begin -->", "<!-- beside: end -->"


def figure(x):
    if x is None:
        return "–"
    if x == 0:
        return "0"
    if 99.5 <= abs(x) < 1e5:
        return f"{x:.0f}"
    return f"{x:.2g}" if 1e-3 <= abs(x) < 1e2 else f"{x:.1e}".replace("e-0", "e-").replace("e+0", "e")


def best(name, runs):
    """The cheapest run that holds; if none does, the one with the smallest error.

    One that was cut off only if no other stands to the end, and if it stood and came to the time of the reference motion."""
    ran = [r for r in runs if "failed" not in r]
    whole = [r for r in ran if not cases.cut_off(r)]
    far = [r for r in ran if cases.cut_off(r) and cases.comparable(name, r) and stands(name, r)]
    usable = [r for r in whole if stands(name, r)] or far or whole or ran
    if not usable:
        return None
    holding = [r for r in usable if cases.verdict(name, r) == "holds"]
    if holding:
        # of those that hold, the cheapest whose error is not ten times that of the best
        least = min(cases.error(name, r) for r in holding)
        good = [r for r in holding if cases.error(name, r) <= max(10 * least, GOOD[cases.SCENES[name]["judged"]])]
        return min(good, key=cases.cost)
    calm = [r for r in usable if cases.verdict(name, r) != "explodes"]
    return min(calm or usable, key=lambda r: cases.error(name, r))


# an error below this is as good as any, m
GOOD = dict(motion=0.01, still=1e-3, settle=1e-3, joints=1e-3)


def stands(name, run):
    return cases.verdict(name, run).startswith(("holds", "sags"))


def accurate_for_a_while(name, run):
    """It met the reference motion and came apart later."""
    return "motion_error_m" in run and cases.error(name, run) <= GOOD["motion"] and not stands(name, run)


def as_good(name, run, ours):
    """Our cheapest run whose error is not larger by more than a tenth."""
    if not cases.comparable(name, run):
        return None
    good = [r for r in ours if cases.comparable(name, r) and cases.verdict(name, r).startswith("holds")
            and cases.error(name, r) <= 1.1 * cases.error(name, run)]
    return min(good, key=cases.cost_until, default=None)


def equal_error_ratio(name, run, ours):
    """Time of a run by that of ours that is as good; for a reference motion, of the steps that lead there."""
    found = as_good(name, run, ours)
    return cases.cost_until(run) / cases.cost_until(found) if found else None


def equal_error(name, run, ours):
    if not cases.comparable(name, run):
        return "–"
    found = equal_error_ratio(name, run, ours)
    return "none of ours" if found is None else ratio(found)


# what is so little slower than ours could be faster when it is timed again
NEAR = 1.3


def in_ratios(name, runs):
    """The runs whose times enter a ratio of the tables."""
    runs = [r for r in runs if "label" in r and "failed" not in r]
    ours = [r for r in runs if r["engine"] == "linkwork"]
    found = []
    for engine in cases.ENGINES:
        own = [r for r in runs if r["engine"] == engine]
        near = [r for r in own if (stands(name, r) or accurate_for_a_while(name, r)) and cases.comparable(name, r)
                and (equal_error_ratio(name, r, ours) or 0.0) < NEAR]
        found += own[:1] + [best(name, own)] * bool(own) + (near if engine != "linkwork" else [])
    found += [as_good(name, r, ours) for r in found]
    return [r for k, r in enumerate(found) if r is not None and not any(r is other for other in found[:k])]


def ratio(x):
    return f"{x:.2f}" if x < 10 else f"{x:.0f}"


def row(name, run, role, ours):
    if "failed" in run:
        return f"| {run['engine']} | {run['label']} | – | – | – | – | – | – | – | – | did not run: {run['failed']} |"
    ms = cases.cost(run)
    moving = run["kinetic_max"] > 1e-6 * run["energy_scale"]
    percent = 100 * run["energy_drift"]
    drift = f"{'+' * (percent > 0)}{figure(percent)} %" if moving and abs(run["energy_drift"]) < 100 else "–"
    gap = figure(run["joint_error_m"]) if not name.startswith("pyramid") else "–"
    cells = [run["engine"], f"{role}: {run['label']}" if role else run["label"], figure(ms), repeated(run), ratio(ms / mine(ours)), equal_error(name, run, ours), gap]
    judged = cases.SCENES[name]["judged"]
    if judged == "motion":
        cells += [figure(run.get("motion_error_m"))]
    else:
        cells += [figure(run["displacement_across_m"] if judged == "settle" else run["displacement_m"])]
    depth = f"{figure(run['penetration_m'])}, {figure(run['penetration_end_m'])}" if "penetration_m" in run else "–"
    return "| " + " | ".join(cells + [depth, drift, cases.verdict(name, run)]) + " |"


def repeated(run):
    """How often it was timed, and by how much the median is above the fastest, which is given."""
    return f"{cases.repeats(run)} (+{100 * cases.spread(run):.0f} %)" if cases.repeats(run) > 1 else "1"


def mine(ours):
    return cases.cost(next(r for r in ours if r["label"] == "default"))


def section(name, results):
    judged = cases.SCENES[name]["judged"]
    runs = [r for r in results.values() if "label" in r]
    h = next((r["h"] for r in runs if "h" in r), None)
    ours = [r for r in runs if r["engine"] == "linkwork" and "written" in r]
    if not any(r["label"] == "default" for r in ours):
        return []
    third = {"motion": "motion error m", "settle": "moved across m"}.get(judged, "displacement m")
    words = cases.SCENES[name]["scene"]
    lines = [f"### {name}", "", f"`{' '.join(words)}`, h = 1/{round(1 / h)} s. `bench/peers/run --only {name}`", "",
             f"| engine | setting | CPU ms a step | repeats | ratio | at equal error | joint error m | {third} | overlap m: worst, at the end | energy drift | verdict |",
             "|" + " --- |" * 11]
    for engine in cases.ENGINES:
        mine_of_engine = [r for r in runs if r["engine"] == engine]
        if not mine_of_engine:
            continue
        default = mine_of_engine[0]
        chosen = best(name, mine_of_engine)
        lines.append(row(name, default, "default" if default["label"] != "default" else "", ours))
        if chosen is not None and chosen is not default:
            lines.append(row(name, chosen, "best", ours))
    if "pinocchio" in results:
        lines.append(forward_dynamics(results["pinocchio"], ours))
    cut = [f"{r['engine']}, {r['label']}: {r['note']}, {figure(cases.cost(r))} ms a step, {until_then(name, r)}" for r in runs if cases.cut_off(r)]
    if cut:
        lines += ["", "Cut off: " + "; ".join(cut) + "."]
    left = {engine: len(cases.settings(name, engine, h)) - sum(r["engine"] == engine for r in runs) for engine in cases.ENGINES}
    if any(left.values()):
        lines += ["", "Settings not measured: " + ", ".join(f"{count} of {engine}" for engine, count in left.items() if count) + "."]
    now = {r["times"]["session"] for r in ours if "times" in r}
    old = sorted({r["engine"] for r in in_ratios(name, runs) if r.get("times", {}).get("session") not in now}
                 | {"pinocchio" for r in [results.get("pinocchio", {})] if "step_ms" in r and r.get("session") not in now})
    if old or len(now) > 1:
        lines += ["", f"Not timed in the same run as Linkwork's default: {', '.join(old) or 'other settings of Linkwork'}; "
                  f"`bench/peers/run --only {name} --keep` times all anew."]
    return lines + ["", f"![work and precision of {name}](pictures/peers/{name}.svg)", ""]


def forward_dynamics(found, ours):
    label, none = "| pinocchio | forward dynamics alone, one call", " | –"
    if "failed" in found:
        return label + 8 * none + f" | did not run: {found['failed']} |"
    ms = found["step_ms"]
    return f"{label} | {figure(ms)} | {found['repeats']} | {ratio(ms / mine(ours))}" + 6 * none + " |"


def until_then(name, run):
    word = cases.verdict(name, run).split(" ")[0]
    return {"holds": "held until then", "sags": "sagged until then", "falls": "had fallen", "torn": "was torn",
            "explodes": "exploded", "fails": "failed"}[word]


def behind(stores):
    """What is faster than Linkwork at equal error, and what is faster by its defaults."""
    at_equal_error, for_a_while, by_default = [], [], {}
    for name, results in stores:
        runs = [r for r in results.values() if "written" in r]
        ours = [r for r in runs if r["engine"] == "linkwork"]
        for engine in cases.ENGINES[1:]:
            theirs = [r for r in runs if r["engine"] == engine and cases.comparable(name, r)]
            found = [(equal_error_ratio(name, r, ours) or 0.0, r) for r in theirs if stands(name, r) or accurate_for_a_while(name, r)]
            found = [(x, r) for x, r in found if x < 0.995]
            for_a_while += [f"- {name}: {engine}, {r['label']}: {ratio(x) + ' of the time' if x else 'more accurate than any of our settings'}, "
                            f"{figure(cases.error(name, r))} m; {cases.verdict(name, r)}" for x, r in found if not stands(name, r)]
            found = [(x, r) for x, r in found if stands(name, r)]
            if found:
                least, run = min(found, key=lambda pair: (pair[0] or 1.0, cases.cost_until(pair[1])))
                times = f"{1 / least:.2f} times faster" if least else "more accurate than any of our settings"
                at_equal_error.append(f"| {name} | {engine}, {run['label']} | {times} | {figure(cases.error(name, run))} | {cases.verdict(name, run)} |")
            first = next((r for r in results.values() if r["engine"] == engine and "label" in r), None)
            if first and "written" in first and cases.cost(first) < mine(ours):
                by_default.setdefault(name, []).append(
                    f"{engine} {ratio(cases.cost(first) / mine(ours))} of the time, {cases.verdict(name, first)}")
    lines = ["## Where Linkwork is behind", "", "At equal error (of each engine the setting that is ahead most, if it holds or sags):", ""]
    lines += ["| scene | engine | is | its error m | verdict |", "|" + " --- |" * 5] + at_equal_error
    if not at_equal_error:
        lines += ["| none | | | | |"]
    lines += ["", "At equal error until the time of the reference motion, within 1 cm of it, but not to the end of the scene:", "", *(for_a_while or ["- none"])]
    lines += ["", "Faster with their defaults than Linkwork with its own, at whatever error:", ""]
    faster = [f"- {name}: " + "; ".join(all_of_it) for name, all_of_it in by_default.items()]
    return lines + (faster or ["- none"]) + ["", "## Tables", ""]


def summary(stores):
    """Of every scene: what Linkwork takes, and how many times as long every engine takes with the setting that does best against it at equal error."""
    engines = cases.ENGINES[1:]
    lines = ["| scene | h s | CPU ms a step | error m | " + " | ".join(engines) + " |", "|" + " --- |" * (4 + len(engines))]
    for name, results in stores:
        runs = [r for r in results.values() if "label" in r and "written" in r]
        ours = [r for r in runs if r["engine"] == "linkwork"]
        default = next(r for r in ours if r["label"] == "default")
        cells = [name, f"1/{round(1 / default['h'])}", figure(cases.cost(default)), figure(cases.error(name, default))]
        lines.append("| " + " | ".join(cells + [beside(name, [r for r in runs if r["engine"] == engine], ours) for engine in engines]) + " |")
    return lines


def beside(name, theirs, ours):
    """A cell of the summary."""
    standing = [r for r in theirs if stands(name, r) and cases.comparable(name, r)]
    found = [(equal_error_ratio(name, r, ours), r) for r in standing]
    better = "more accurate than any of ours"
    if any(x for x, _ in found):
        least, run = min((pair for pair in found if pair[0]), key=lambda pair: pair[0])
        return f"{ratio(least)} ({cases.verdict(name, run)})" + f"; another is {better}" * any(x is None for x, _ in found)
    if found:
        return better
    chosen = best(name, theirs)
    return cases.verdict(name, chosen) if chosen else "–"


def put(path, begin, end, lines):
    """Lines between two marks of a file."""
    text = path.read_text() if path.exists() else ""
    if begin not in text or end not in text:
        sys.exit(f"{path}: no marks `{begin}` and `{end}`; put them where the table belongs")
    path.write_text(text.split(begin)[0] + "\n".join([begin, *lines, end]) + text.split(end)[1])
    print(f"{path}: written")


def write(cache, root, machine, left_out):
    """`left_out`: engines that could not be had, and why."""
    stores = [(name, cache / "results" / f"{name}.json") for name in cases.SCENES]
    stores = [(name, json.loads(path.read_text())) for name, path in stores if path.exists()]
    ours = lambda results: any(r.get("engine") == "linkwork" and r.get("label") == "default" and "written" in r for r in results.values())
    stores = [(name, results) for name, results in stores if ours(results)]
    missing = [name for name in cases.SCENES if name not in dict(stores)]
    if missing:  # the tables of the repository are kept until all are measured
        print(f"not measured with Linkwork yet: {', '.join(missing)}. Until it is, docs/peers.md stays as it is.")
        committed = (root / "docs" / "peers.md").read_text()
        root = cache
        (root / "docs").mkdir(exist_ok=True)
        (root / "docs" / "peers.md").write_text(committed)
    pictures = root / "docs" / "pictures" / "peers"
    pictures.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, results in stores:
        lines += section(name, results)
        chart(name, results, pictures / f"{name}.svg")
    everything = [r for _, results in stores for r in results.values()]
    head = [
        "", f"Machine: {', '.join(sorted({r['machine'] for r in everything}))}, {machine['cores']} cores, {machine['system']}, shared with other work; one thread each.",
        f"Versions: {versions(everything)}. Flags: Rust runners (Linkwork and Rapier) rustc {machine['rustc']}, release, thin LTO, one codegen unit, x86-64-v3, Rapier f32 with its eight lanes (simd8); "
        f"ODE as Debian builds it (double precision), its runner g++ {machine['gcc']} -O2 -march=x86-64-v3; MuJoCo and Pinocchio as their wheels come.", ""]
    if left_out:
        head += ["Could not be installed: " + "; ".join(f"{engine} ({why})" for engine, why in sorted(left_out.items())) + ".", ""]
    put(root / "docs" / "peers.md", BEGIN, END, head + behind(stores) + lines[:-1])
    if not missing:
        of_what = f"Linkwork {', '.join(sorted({r['version'] for r in everything if r['engine'] == 'linkwork'}))}, {', '.join(sorted({r['machine'] for r in everything}))}:"
        put(root / "docs" / "results.md", *SUMMARY, [of_what, "", *summary(stores)])


def versions(results):
    """Every version that any result is of."""
    found = {}
    for result in results:
        found.setdefault(result["engine"], set()).add(result["version"])
    return ", ".join(f"{engine} {' and '.join(sorted(of))}" for engine, of in sorted(found.items()))


def chart(name, results, path):
    series = {}
    for run in results.values():
        if "written" not in run:
            continue
        point = (cases.cost_until(run) * 1e-3 / run["h"], cases.error(name, run), run["label"], cases.verdict(name, run))
        if 0 < point[1] < 1e6:
            series.setdefault(run["engine"], []).append(point)
    judged = cases.SCENES[name]["judged"]
    what = {"motion": "distance from the reference motion, m", "still": "displacement, m",
            "settle": "moved across, or overlap, m", "joints": "joint error or overlap, m"}[judged]
    path.write_text(plot.svg(f"{name}: error and work", "CPU seconds per simulated second", what, series))
