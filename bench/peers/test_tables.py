"""What the tables may claim."""
import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import cases
import install
import tables


def result(engine, label, ms, error, note="", scene="scissor-lift-10", session=1, **more):
    """A run of 100 steps with this error, timed twice."""
    motion = dict(motion_error_m=error) if cases.SCENES[scene]["judged"] == "motion" else {}
    return dict(engine=engine, label=label, setting={}, machine="a machine", version="1.2", h=0.01, steps=100, done=100, note=note, spent_s=0.1 * ms,
                joint_error_m=0.0, displacement_m=error, displacement_across_m=error, energy_rise=0.0, energy_drift=0.0,
                kinetic_max=1.0, energy_scale=1.0, written=dict(step_ms=2 * ms, until_ms=2 * ms),
                times=dict(session=session, steps=100, step_ms=[1.1 * ms, ms], until_ms=[1.1 * ms, ms])) | motion | more


def stored(*runs):
    return {f"{r['engine']}: {r['label']}": r for r in runs}


SLOW = "stopped after 40 of 100 steps: 20 s allowed, 50 s needed"


class Choice(unittest.TestCase):
    scene = "scissor-lift-10"

    def test_the_cheapest_that_holds_is_best(self):
        runs = [result("ode", "falls", 1, 5.0), result("ode", "dear", 9, 1e-6), result("ode", "cheap", 3, 1e-6)]
        self.assertEqual(tables.best(self.scene, runs)["label"], "cheap")

    def test_what_was_cut_off_is_not_best_though_it_moved_less(self):
        runs = [result("ode", "sags", 1, 0.05), result("ode", "slow", 9, 1e-9, SLOW)]
        self.assertEqual(tables.best(self.scene, runs)["label"], "sags")
        self.assertIn("(cut off)", tables.row(self.scene, runs[1], "best", [result("linkwork", "default", 1, 1e-9)]))

    def test_a_motion_that_was_cut_off_behind_its_reference_is_better_than_none_that_stands(self):
        scene = "double-pendulum"
        late = result("mujoco", "late", 9, 1e-6, SLOW, scene=scene, h=0.1, done=40)
        torn, whole = (result("mujoco", label, 1, 1e-6, scene=scene, joint_error_m=gap) for label, gap in (("torn", 9.0), ("whole", 0.01)))
        self.assertEqual(tables.best(scene, [torn, late])["label"], "late")
        self.assertEqual(tables.best(scene, [torn, late, whole])["label"], "whole")
        early = {key: value for key, value in late.items() if key != "motion_error_m"}
        self.assertEqual(tables.best(scene, [torn, early])["label"], "torn")

    def test_what_was_cut_off_is_not_compared_at_equal_error(self):
        ours, slow = result("linkwork", "default", 1, 1e-9), result("linkwork", "slow", 0.1, 1e-12, SLOW)
        theirs = result("ode", "quick step", 2, 1e-12)
        self.assertIsNone(tables.equal_error_ratio(self.scene, theirs, [ours, slow]))
        self.assertEqual(tables.equal_error(self.scene, result("ode", "slow", 2, 1e-3, SLOW), [ours]), "–")

    def test_a_motion_that_reached_its_reference_is_compared_and_timed_up_to_there(self):
        run = result("ode", "slow", 2, 1e-3, "stopped after 99 of 200 steps", scene="double-pendulum", h=0.1, done=99)
        self.assertTrue(cases.comparable("double-pendulum", run))
        self.assertEqual(cases.steps_to_time("double-pendulum", run), 20)
        self.assertEqual(cases.steps_to_time("double-pendulum", run | dict(note="")), 99)
        del run["motion_error_m"]
        self.assertFalse(cases.comparable("double-pendulum", run))

    def test_everything_in_a_ratio_is_timed(self):
        runs = [result("linkwork", "default", 2, 1e-4), result("linkwork", "reduced", 1, 1e-9), result("linkwork", "dear", 99, 1e-10),
                result("ode", "quick step", 3, 9.0), result("ode", "holds", 30, 1e-9), result("ode", "useless", 50, 0.05),
                result("mujoco", "default", 1, 9.0), result("mujoco", "ahead", 1.1, 1e-9), result("mujoco", "best", 0.5, 1e-4)]
        chosen = {f"{r['engine']}: {r['label']}" for r in tables.in_ratios(self.scene, runs)}
        self.assertEqual(chosen, {"linkwork: default", "linkwork: reduced", "ode: quick step", "ode: holds",
                                  "mujoco: default", "mujoco: ahead", "mujoco: best"})

    def test_what_was_accurate_before_it_came_apart_is_told_apart(self):
        scene = "tree-127"
        ours = result("linkwork", "default", 2, 1e-3, scene=scene)
        early = result("mujoco", "RK4", 1, 1e-4, "not finite at step 90", scene=scene)
        text = "\n".join(tables.behind([(scene, stored(ours, early))]))
        self.assertIn("| none |", text)
        self.assertIn("- tree-127: mujoco, RK4: more accurate than any of our settings, 1.0e-4 m; explodes", text)
        self.assertIn(early, tables.in_ratios(scene, [ours, early]))
        late = result("mujoco", "RK4", 1, 1e-3, scene=scene)
        text = "\n".join(tables.behind([(scene, stored(ours, late))]))
        self.assertIn("| tree-127 | mujoco, RK4 | 2.00 times faster |", text)

    def test_whoever_leaves_the_range_of_numbers_explodes(self):
        for note in ("not finite at step 7", "step 7: not finite: MuJoCo reset itself", 'step 7: body "bar" would leave the range of numbers'):
            self.assertEqual(cases.verdict(self.scene, result("linkwork", "default", 1, 1e-9, note)), "explodes")
        self.assertEqual(cases.verdict(self.scene, result("linkwork", "default", 1, 1e-9, "step 7: no memory")), "fails")

    def test_the_fastest_repeat_counts_and_a_run_that_was_not_repeated_says_so(self):
        run = result("ode", "quick step", 4, 1.0)
        self.assertEqual((cases.cost(run), tables.repeated(run)), (4, "2 (+10 %)"))
        del run["times"]
        self.assertEqual((cases.cost(run), tables.repeated(run)), (8, "1"))


class Text(unittest.TestCase):
    def test_times_of_another_run_are_told(self):
        ours, theirs = result("linkwork", "default", 1, 1e-9), result("ode", "quick step", 3, 9.0)
        text = "\n".join(tables.section("scissor-lift-10", stored(ours, theirs)))
        self.assertNotIn("Not timed in the same run", text)
        self.assertIn("Settings not measured: 2 of linkwork, 8 of rapier-f64", text)
        text = "\n".join(tables.section("scissor-lift-10", stored(ours, theirs | dict(times=theirs["times"] | dict(session=2)))))
        self.assertIn("Not timed in the same run as Linkwork's default: ode", text)

    def test_figures_are_plain_where_they_can_be(self):
        shown = [tables.figure(x) for x in (None, 0, 0.04567, 12.34, 250.4, -412.3, 99.7, 16000, 2.3e6, 4.4e-8)]
        self.assertEqual(shown, ["–", "0", "0.046", "12", "250", "-412", "100", "16000", "2.3e6", "4.4e-8"])

    def test_rows_have_as_many_cells_as_the_head(self):
        failed = dict(engine="mujoco", label="default", failed="no memory", machine="a machine", version="4")
        results = stored(result("linkwork", "default", 1, 1e-9), failed, result("ode", "quick step", 3, 9.0, SLOW))
        results["pinocchio"] = dict(engine="pinocchio", failed="MemoryError", machine="a machine", version="4", session=1)
        lines = [line for line in tables.section("scissor-lift-10", results) if line.startswith("|")]
        self.assertEqual({line.count("|") for line in lines}, {12}, "\n".join(lines))
        results["pinocchio"] = dict(engine="pinocchio", step_ms=0.1, repeats=30, machine="a machine", version="4", session=2)
        self.assertIn("Not timed in the same run as Linkwork's default: pinocchio", "\n".join(tables.section("scissor-lift-10", results)))
        lines = [line for line in tables.section("scissor-lift-10", results) if line.startswith("|")]
        self.assertEqual({line.count("|") for line in lines}, {12}, "\n".join(lines))

    def test_the_summary_tells_the_setting_that_does_best_at_equal_error(self):
        ours = [result("linkwork", "default", 1, 1e-9), result("linkwork", "coarse", 0.25, 0.5e-3)]
        theirs = [result("ode", "quick step", 2, 9.0), result("ode", "direct step", 3, 1e-8), result("ode", "firm", 1, 0.8e-3)]
        line = next(line for line in tables.summary([("scissor-lift-10", stored(*ours, *theirs))]) if "scissor" in line)
        # three times the time of our default, four times that of our coarse setting; what falls does not count
        self.assertEqual(line, "| scissor-lift-10 | 1/100 | 1 | 1.0e-9 | – | – | – | 3.00 (holds) |")
        line = tables.summary([("scissor-lift-10", stored(*ours, theirs[0]))])[-1]
        self.assertTrue(line.endswith("| falls |"), line)
        finer = result("ode", "fine", 50, 1e-12)
        cells = [tables.beside("scissor-lift-10", theirs, ours) for theirs in ([finer], [finer, theirs[1]])]
        self.assertEqual(cells, ["more accurate than any of ours", "3.00 (holds); another is more accurate than any of ours"])

    def test_tables_are_written_without_engines_that_could_not_be_had(self):
        with tempfile.TemporaryDirectory() as folder:
            root, cache = Path(folder) / "root", Path(folder) / "cache"
            for path in (root / "docs", cache / "results"):
                path.mkdir(parents=True)
            (root / "docs" / "peers.md").write_text(f"before\n{tables.BEGIN}\nyesterday\n{tables.END}\nafter\n")
            (root / "docs" / "results.md").write_text("before\n{}\nyesterday\n{}\nafter\n".format(*tables.SUMMARY))
            for name in cases.SCENES:
                one = result("linkwork", "default", 1, 1e-9, scene=name, penetration_m=0.0, penetration_end_m=0.0)
                (cache / "results" / f"{name}.json").write_text(tables.json.dumps(stored(one)))
            machine = dict(cores=2, system="Linux", rustc="1", gcc="12")
            with contextlib.redirect_stdout(io.StringIO()):
                tables.write(cache, root, machine, {"ode": "apt-get not found"})
            text = (root / "docs" / "peers.md").read_text()
            self.assertTrue(text.startswith("before") and text.endswith("after\n") and "yesterday" not in text, text)
            self.assertIn("Could not be installed: ode (apt-get not found).", text)
            self.assertIn("linkwork 1.2", text)
            self.assertEqual(text.count("### "), len(cases.SCENES))
            text = (root / "docs" / "results.md").read_text()
            self.assertTrue(text.startswith("before") and text.endswith("after\n") and "yesterday" not in text, text)
            self.assertEqual([name for name in cases.SCENES if f"| {name} |" not in text], [])


class Chart(unittest.TestCase):
    def test_every_run_is_a_mark_and_what_came_apart_is_hollow(self):
        runs = [result("linkwork", "default", 1, 1e-9), result("ode", "falls", 3, 9.0), result("ode", "a <b> & c", 30, 1e-4)]
        with tempfile.TemporaryDirectory() as folder:
            tables.chart("scissor-lift-10", stored(*runs), Path(folder) / "chart.svg")
            drawn = ElementTree.parse(Path(folder) / "chart.svg").getroot()
        titles = {mark[0].text: mark for mark in drawn.iter("{http://www.w3.org/2000/svg}circle") if len(mark)}
        # 1 ms a step of 10 ms
        self.assertEqual(set(titles), {"linkwork, default: 0.1 s/s, 1e-09, holds", "ode, falls: 0.3 s/s, 9, falls", "ode, a <b> & c: 3 s/s, 0.0001, holds"})
        self.assertEqual([text for text, mark in titles.items() if mark.get("fill") == "none"], ["ode, falls: 0.3 s/s, 9, falls"])
        x = lambda start: next(float(mark.get("cx")) for text, mark in titles.items() if text.startswith(start))
        self.assertLess(x("linkwork"), x("ode, falls"))
        self.assertLess(x("ode, falls"), x("ode, a"))


class Fingerprint(unittest.TestCase):
    machine = dict(processor="this", cores=2, rustc="1.95", gcc="12")

    def of(self, engine="mujoco", version="4.0", machine=None, scene=b"scene"):
        return install.fingerprint(engine, {engine: version}, self.machine | (machine or {}), [scene])

    def test_version_machine_scene_and_engine_make_another_result(self):
        others = [self.of(version="4.1"), self.of(machine=dict(processor="that")), self.of(scene=b"other"), self.of("pinocchio"), self.of()]
        self.assertEqual(others.count(self.of()), 1)

    def test_a_compiler_counts_for_what_is_compiled(self):
        self.assertEqual(self.of(), self.of(machine=dict(gcc="13")))
        self.assertNotEqual(self.of("ode"), self.of("ode", machine=dict(gcc="13")))
        self.assertNotEqual(self.of("rapier-f64"), self.of("rapier-f64", machine=dict(rustc="1.96")))


class Versions(unittest.TestCase):
    def test_the_lock_file_has_them(self):
        text = '[[package]]\nname = "rapier3d"\nversion = "0.1.2"\n\n[[package]]\nname = "rapier3d-f64"\nversion = "0.1.3"\n'
        self.assertEqual([install.locked(text, crate) for crate in ("rapier3d", "rapier3d-f64")], ["0.1.2", "0.1.3"])
        self.assertRaises(install.Missing, install.locked, text, "mujoco")
        self.assertTrue(re.match(r"\d+\.\d+\.\d+$", install.version("rapier-f64")))


if __name__ == "__main__":
    unittest.main()
