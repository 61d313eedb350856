"""Tables of Linkwork alone."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import published


class Told(published.Linkwork):
    """A build that is not asked."""

    def __init__(self):
        self.known = {}

    def ask(self, *words):
        if words[0] == "bench":
            return dict(results=[dict(constraint_rows=1000, matrix_entries=7500, factor_entries=12345, cpu_ms=dict(median=0.5), accurate_cpu_ms=0.25,
                                      iterations=dict(cpu_ms=0.125, joint_mean=3.0))])
        return dict(failed_steps=0, error=None, cpu_s=2.4, simulated_s=10.0, steps=600, dt=1 / 60, joint_error=dict(max_m=1e-9),
                    penetration=dict(max_m=0.004), course=dict(penetration_m=[0.004] * 8 + [0.001, 0.0005]), displacement=dict(max_m=0.5),
                    step_kinds=dict(last_resort=2))


class Tables(unittest.TestCase):
    def rows(self, name):
        lines = published.TABLES[name][0](Told()).splitlines()
        self.assertEqual(len({line.count("|") for line in lines}), 1, "\n".join(lines))
        return lines

    def test_rows_have_as_many_cells_as_the_head(self):
        for name in set(published.TABLES) - {"targets"}:
            self.rows(name)

    def test_figures_come_from_what_was_told(self):
        self.assertIn("| tree 31 | 0.97 | 6.78 | 14.31 | 3.23 | 3.54 | 3.79 | 0.5 | 0.38 | 0.25 | 3 |", self.rows("bender"))
        self.assertIn("| magnets | – | 0.01 | 2.4 s for 10 s | 1.0e-9 | 0.004 | 2 |", self.rows("weinstein"))
        self.assertIn("| crane | 10 s, h = 1/60 s | 4 | 1.0e-9 | 4, 1 | 0.5 | 2 |", self.rows("contact"))
        self.assertIn("| tree bodies=127 | 1 000 | 7 500 | 12 345 | 7.5 | 12.3 | 0.5 | 0.12 |", self.rows("sizes"))

    def test_a_run_that_failed_makes_no_table(self):
        told = Told()
        with mock.patch.object(Told, "ask", lambda *_: dict(failed_steps=3, error=None)):
            self.assertRaises(SystemExit, told.run, ["crane"])

    def test_marks_are_needed_and_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "peers.md"
            path.write_text("before")
            self.assertRaises(SystemExit, published.write, "bender", "new", Path(folder))
            path.write_text("before\n<!-- bender: begin -->\nold\n<!-- bender: end -->\nafter\n")
            with mock.patch("builtins.print"):
                published.write("bender", "new", Path(folder))
            self.assertEqual(path.read_text(), "before\n<!-- bender: begin -->\nnew\n<!-- bender: end -->\nafter\n")


if __name__ == "__main__":
    unittest.main()
