"""Accuracy figures against what is known in closed form."""
import os
import unittest

try:
    import numpy as np
    import scipy.spatial  # noqa: F401
    import measure
except ImportError as problem:
    if os.environ.get("LINKWORK_REQUIRE_NUMPY"):
        raise
    raise unittest.SkipTest(f"needs NumPy and SciPy, which bench/peers/run installs: {problem}")

STILL = [1.0, 0.0, 0.0, 0.0]


def body(solid, position, dynamic=True):
    shape = dict(solid=solid, position=[0.0] * 3, orientation=STILL, group=1, mask=1)
    return dict(position=position, orientation=STILL, center=[0.0] * 3, axes=STILL, mass=2.0 * dynamic, moments=[0.1] * 3,
                dynamic=dynamic, shapes=[shape])


def scene(bodies, joints=(), collisions=True):
    return dict(gravity=[0.0, 0.0, -10.0], h=0.1, duration=1.0, collisions=collisions, bodies=bodies, joints=list(joints))


def at_rest(bodies, count=30):
    frame = [[*b["position"], *b["orientation"], *[0.0] * 6] for b in bodies]
    return np.array([frame] * count)


BOX, CAPSULE = dict(box=dict(size=[1.0, 1.0, 1.0])), dict(capsule=dict(radius=0.5, length=2.0))


class Overlap(unittest.TestCase):
    def depth(self, first, second):
        bodies = [first, second]
        found = measure.measure(scene(bodies), at_rest(bodies))
        return found["penetration_m"]

    def test_boxes_capsules_and_ground(self):
        self.assertAlmostEqual(self.depth(body(BOX, [0, 0, 0]), body(BOX, [0.9, 0.2, 0])), 0.1)
        self.assertAlmostEqual(self.depth(body(CAPSULE, [0, 0, 0]), body(CAPSULE, [0.7, 0, 0.3])), 0.3)
        self.assertAlmostEqual(self.depth(body("plane", [0, 0, 0], dynamic=False), body(BOX, [0, 0, 0.45])), 0.05)
        self.assertEqual(self.depth(body(BOX, [0, 0, 0]), body(BOX, [1.2, 0, 0])), 0.0)

    def test_edges_and_round_solids(self):
        turned = body(BOX, [0, 0, 0.6])
        turned["orientation"] = [np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0, 0.0]  # stands on an edge
        self.assertAlmostEqual(self.depth(body("plane", [0, 0, 0], dynamic=False), turned), np.sqrt(0.5) - 0.6)
        ball, pole = dict(sphere=dict(radius=0.3)), dict(cylinder=dict(radius=0.2, length=2.0))
        self.assertAlmostEqual(self.depth(body("plane", [0, 0, 0], dynamic=False), body(ball, [5, 0, 0.25])), 0.05)
        self.assertAlmostEqual(self.depth(body(pole, [0, 0, 0], dynamic=False), body(CAPSULE, [0.6, 0, 0])), 0.1)
        self.assertEqual(self.depth(body(pole, [0, 0, 0], dynamic=False), body(CAPSULE, [0.6, 0, 3])), 0.0)
        # edge against edge: diagonals of two squares, turned about axes across each other
        lower, upper = body(BOX, [0, 0, 0]), body(BOX, [0, 0, 1.4])
        lower["orientation"], upper["orientation"] = turned["orientation"], [np.cos(np.pi / 8), 0.0, np.sin(np.pi / 8), 0.0]
        self.assertAlmostEqual(self.depth(lower, upper), np.sqrt(2) - 1.4)

    def test_a_single_frame_is_seen(self):
        bodies = [body(BOX, [0, 0, 0]), body(BOX, [2, 0, 0])]
        for frame in (1, 17, 29):
            frames = at_rest(bodies)
            frames[frame, 1, 0] = 0.75
            found = measure.measure(scene(bodies), frames)
            self.assertAlmostEqual(found["penetration_m"], 0.25)
            # the last second has ten frames
            self.assertAlmostEqual(found["penetration_end_m"], 0.25 if frame > 19 else 0.0)

    def test_joined_bodies_may_overlap(self):
        bodies = [body(BOX, [0, 0, 0]), body(BOX, [0.5, 0, 0])]
        joint = dict(kind="ball", a=1, b=0, point_a=[-0.25, 0, 0], point_b=[0.25, 0, 0], turn_a=STILL, turn_b=STILL)
        self.assertEqual(measure.measure(scene(bodies, [joint]), at_rest(bodies))["penetration_m"], 0.0)

    def test_solids_that_cannot_be_measured_are_refused(self):
        bodies = [body(BOX, [0, 0, 0]), body(CAPSULE, [3, 0, 0])]
        self.assertRaises(SystemExit, measure.measure, scene(bodies), at_rest(bodies))


class Motion(unittest.TestCase):
    def test_gap_of_a_joint_over_more_frames_than_a_chunk(self):
        bodies = [body(BOX, [0, 0, 0])]
        joint = dict(kind="hinge", a=-1, b=0, point_a=[0, 0, 0.5], point_b=[0, 0, 0.5], turn_a=STILL, turn_b=STILL)
        frames = at_rest(bodies, 3 * measure.CHUNK)
        frames[measure.CHUNK + 1, 0, 0] = 0.01
        frames[2, 0, 3:7] = [np.cos(0.05), np.sin(0.05), 0.0, 0.0]  # by 0.1 rad about x
        found = measure.measure(scene(bodies, [joint], collisions=False), frames)
        self.assertAlmostEqual(found["joint_error_rad"], 0.1)
        self.assertAlmostEqual(found["joint_error_m"], 2 * 0.5 * np.sin(0.05))
        self.assertAlmostEqual(found["displacement_m"], 0.01)

    def test_a_free_fall_keeps_its_energy_and_meets_its_reference(self):
        bodies = [body(BOX, [0, 0, 0])]
        frames = at_rest(bodies, 11)
        t = 0.1 * np.arange(11)
        frames[:, 0, 2], frames[:, 0, 9] = -5.0 * t * t, -10.0 * t
        reference = dict(time=1.0, centers=[[0.0, 0.003, -5.0]])
        found = measure.measure(scene(bodies, collisions=False), frames, reference)
        self.assertAlmostEqual(found["energy_drift"], 0.0)
        self.assertAlmostEqual(found["kinetic_max"], 100.0)
        self.assertAlmostEqual(found["motion_error_m"], 0.003)
        self.assertAlmostEqual(found["displacement_across_m"], 0.0)

    def test_what_moves_across_and_gains_energy_is_told(self):
        bodies = [body(BOX, [0, 0, 0])]
        frames = at_rest(bodies, 11)
        frames[5, 0, :3], frames[5, 0, 7] = [0.3, 0.0, -0.4], 3.0  # m/s: 9 J, of which gravity gave 8
        frames[6, 0, 10] = 20.0  # rad/s: 20 J
        found = measure.measure(scene(bodies, collisions=False), frames)
        self.assertAlmostEqual(found["displacement_m"], 0.5)
        self.assertAlmostEqual(found["displacement_across_m"], 0.3)
        self.assertAlmostEqual(found["kinetic_max"], 20.0)
        self.assertAlmostEqual(found["energy_drift"], 1.0)
        frames[6, 0, 10] = 0.0
        self.assertAlmostEqual(measure.measure(scene(bodies, collisions=False), frames)["energy_rise"], 1 / 9)


if __name__ == "__main__":
    unittest.main()
