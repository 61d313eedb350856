"""What `run` measures anew, and in which order it takes times."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import tempfile
import types
import unittest
import unittest.mock
from pathlib import Path

from test_tables import result, stored

HERE = Path(__file__).resolve().parent


def command():
    loader = importlib.machinery.SourceFileLoader("peers_run", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("peers_run", loader))
    loader.exec_module(module)
    return module


class Fake:
    """A `Bench` whose engines take as long as it is told."""

    def __init__(self, run, folder, results):
        bench = object.__new__(run.Bench)
        bench.name, bench.place, bench.session, bench.begin = "scissor-lift-10", "", 7, 0.0
        bench.options = types.SimpleNamespace(rounds=3, budget=20.0)
        bench.results, bench.store = results, Path(folder) / "scissor-lift-10.json"
        bench.settings = {entry: (r["engine"], r["setting"]) for entry, r in results.items()}
        bench.machine, bench.versions = dict(processor="a machine"), {r["engine"]: "1.2" for r in results.values()}
        bench.key = lambda engine, setting: "key"
        self.asked = []
        bench.words = lambda engine, setting: [engine]
        bench.ask = lambda engine, *rest: self.asked.append(engine) or dict(step_ms=[1.0], until_ms=[1.0], spent_s=0.1)
        self.bench = bench

    def call(self, what, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            getattr(self.bench, what)(*arguments)
        return said.getvalue()


class Times(unittest.TestCase):
    def setUp(self):
        self.run = command()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def fake(self, *runs):
        for r in runs:
            r |= dict(key="key", budget=20.0)
        return Fake(self.run, self.folder.name, stored(*runs))

    def test_engines_take_turns_and_long_runs_are_repeated_too(self):
        ours, theirs = result("linkwork", "default", 1, 1e-9), result("ode", "quick step", 90, 9.0)  # 9 s
        del ours["times"], theirs["times"]
        fake = self.fake(ours, theirs)
        fake.call("take_times", list(fake.bench.results))
        self.assertEqual(fake.asked[:4], ["linkwork", "ode", "ode", "linkwork"])
        self.assertEqual((fake.asked.count("linkwork"), fake.asked.count("ode")), (3, 2))
        kept = json.loads(fake.bench.store.read_text())
        self.assertEqual({r["times"]["session"] for r in kept.values()}, {7})
        fake.call("take_times", list(fake.bench.results))
        self.assertEqual(len(fake.asked), 5, "what is timed in one session is not timed again")

    def test_all_are_timed_anew_if_one_is(self):
        ours, theirs = result("linkwork", "default", 1, 1e-9), result("ode", "quick step", 1, 9.0)
        del ours["times"]
        fake = self.fake(ours, theirs)
        fake.call("take_times", list(fake.bench.results))
        self.assertEqual(fake.asked.count("ode"), 3)

    def test_all_are_timed_anew_if_pinocchio_was_timed_in_another_run(self):
        runs = [result("linkwork", "default", 1, 1e-9), result("ode", "quick step", 1, 9.0)]
        fake = self.fake(*runs)
        fake.call("take_times", list(fake.bench.results), ["pinocchio"])
        self.assertEqual(fake.asked.count("linkwork"), 3)
        fake.bench.results["pinocchio"] = dict(engine="pinocchio", session=7)
        fake.call("take_times", ["linkwork: default", "ode: quick step"], ["pinocchio"])
        self.assertEqual(fake.asked.count("linkwork"), 3)

    def test_a_motion_that_cannot_be_measured_is_a_failure_and_no_figure(self):
        fake = self.fake(result("linkwork", "default", 1, 1e-9))
        fake.bench.path, fake.bench.reference, fake.bench.described = Path("scene.json"), None, {}
        fake.bench.ask = lambda program, *rest: dict(failed="took far too long") if str(program).endswith("python") else dict(h=1)
        self.assertEqual(fake.bench.write_down("ode", {}, 20.0), dict(failed="its motion could not be measured: took far too long"))

    def test_results_of_another_machine_version_or_shorter_time_are_dropped(self):
        runs = [result("linkwork", "default", 1, 1e-9), result("ode", "quick step", 1, 9.0, machine="another"),
                result("mujoco", "default", 1, 9.0), result("rapier-f64", "default", 1, 9.0, "stopped after 3 of 9 steps"),
                result("rapier-f32", "default", 1, 9.0, "stopped after 3 of 9 steps")]
        fake = self.fake(*runs)
        runs[2]["key"], runs[3]["budget"] = "of another version", 4.0
        said = fake.call("drop_old")
        self.assertEqual(list(fake.bench.results), ["linkwork: default", "rapier-f32: default"], said)
        self.assertIn("ode: quick step", said)


class Words(unittest.TestCase):
    def told(self, *words):
        """What the command says when it stops before anything is measured."""
        said = io.StringIO()
        with unittest.mock.patch("sys.argv", ["run", *words]), contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            with self.assertRaises(SystemExit) as stopped:
                command().main()
        return f"{said.getvalue()} {stopped.exception.code}"

    def test_wrong_words_are_told_with_what_there_is(self):
        for words, said in [(["--only", "tree-127,bullet"], "no scene or engine called bullet\nscenes: tree-127"), (["--only", ","], "no name in it"),
                            (["--only", ""], "no name in it"), (["--skip", "linkwork"], "cannot be left out"), (["--keep"], "goes with --only"),
                            (["--only", "crane", "--skip", "crane"], "no scene is left"), (["--budget", "nan"], "--budget nan")]:
            self.assertIn(said, self.told(*words), words)


if __name__ == "__main__":
    unittest.main()
