"""What `run` measures anew, and in which order it takes times."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import tempfile
import types
import unittest
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

    def test_results_of_another_machine_version_or_shorter_time_are_dropped(self):
        runs = [result("linkwork", "default", 1, 1e-9), result("ode", "quick step", 1, 9.0, machine="another"),
                result("mujoco", "default", 1, 9.0), result("rapier-f64", "default", 1, 9.0, "stopped after 3 of 9 steps"),
                result("rapier-f32", "default", 1, 9.0, "stopped after 3 of 9 steps")]
        fake = self.fake(*runs)
        runs[2]["key"], runs[3]["budget"] = "of another version", 4.0
        said = fake.call("drop_old")
        self.assertEqual(list(fake.bench.results), ["linkwork: default", "rapier-f32: default"], said)
        self.assertIn("ode: quick step", said)


if __name__ == "__main__":
    unittest.main()
