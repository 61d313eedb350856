"""Pinocchio on trees of ball joints: the time of forward dynamics alone, and a reference motion.

    pinocchio_runner.py time SCENE.json              CPU milliseconds of one call of the articulated-body algorithm
    pinocchio_runner.py reference SCENE.json T FILE H  centres of mass at time T, by Runge-Kutta steps on the rotations

The reference integrates the exact joint coordinates with steps so small that halving them changes less than what is measured with it.
"""
import json
import sys
import time

import numpy as np
import pinocchio as pin

from protocol import matrix, spanning_tree

REPEATS = 30


class Tree:
    def __init__(self, path):
        with open(path) as file:
            scene = json.load(file)
        self.scene = scene
        bodies, joints = scene["bodies"], scene["joints"]
        parent, order, left = spanning_tree(scene)
        if left or any(parent[b] is None or joints[parent[b]]["kind"] != "ball" for b in order):
            raise SystemExit("not a tree of ball joints")
        self.model = pin.Model()
        self.model.gravity.linear = np.array(scene["gravity"])
        self.of, place, v = {}, {}, []
        for body in order:
            data, joint = bodies[body], joints[parent[body]]
            end, other = ("a", joint["b"]) if joint["a"] == body else ("b", joint["a"])
            pose = pin.SE3(matrix(data["orientation"]), np.array(data["position"]))
            frame = pose * pin.SE3(np.eye(3), np.array(joint["point_" + end]))
            above, omega = (self.of[other], np.array(bodies[other]["angular_velocity"])) if other in self.of else (0, np.zeros(3))
            before = place.get(above, pin.SE3.Identity())
            k = self.model.addJoint(above, pin.JointModelSpherical(), before.actInv(frame), f"j{body}")
            axes = matrix(data["axes"])
            tensor = axes @ np.diag(data["moments"]) @ axes.T
            center = np.array(data["center"]) - np.array(joint["point_" + end])
            self.model.appendBodyToJoint(k, pin.Inertia(data["mass"], center, tensor), pin.SE3.Identity())
            self.of[body], place[k] = k, frame
            v.append(frame.rotation.T @ (np.array(data["angular_velocity"]) - omega))
        self.order = order
        self.data = self.model.createData()
        self.q, self.v = pin.neutral(self.model), np.concatenate(v)

    def acceleration(self, q, v):
        return pin.aba(self.model, self.data, q, v, np.zeros(self.model.nv))

    def advance(self, h, steps):
        """Fourth-order Runge-Kutta on rotation vectors about the orientations at the start of each step."""
        def rate(u, v):  # derivative of the rotation vector: inverse of the exponential's differential, to fourth order
            u, v = u.reshape(-1, 3), v.reshape(-1, 3)
            uv = np.cross(u, v)
            return (v + 0.5 * uv + np.cross(u, uv) / 12).ravel()

        q, v = self.q.copy(), self.v.copy()
        for _ in range(steps):
            u1, a1 = rate(np.zeros_like(v), v), self.acceleration(q, v)
            u, w = 0.5 * h * u1, v + 0.5 * h * a1
            u2, a2 = rate(u, w), self.acceleration(pin.integrate(self.model, q, u), w)
            u, w = 0.5 * h * u2, v + 0.5 * h * a2
            u3, a3 = rate(u, w), self.acceleration(pin.integrate(self.model, q, u), w)
            u, w = h * u3, v + h * a3
            u4, a4 = rate(u, w), self.acceleration(pin.integrate(self.model, q, u), w)
            q = pin.integrate(self.model, q, h / 6 * (u1 + 2 * u2 + 2 * u3 + u4))
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        pin.forwardKinematics(self.model, self.data, q)
        centers = np.full((len(self.scene["bodies"]), 3), np.nan)
        for body, k in self.of.items():
            centers[body] = self.data.oMi[k].act(self.model.inertias[k].lever)
        return centers


def call_time(tree):
    best, zero = float("inf"), np.zeros(tree.model.nv)
    for _ in range(REPEATS):
        count = max(1, 20000 // tree.model.nv)
        start = time.process_time()
        for _ in range(count):
            pin.aba(tree.model, tree.data, tree.q, tree.v, zero)
        best = min(best, (time.process_time() - start) / count)
    return 1e3 * best


if __name__ == "__main__":
    tree = Tree(sys.argv[2])
    if sys.argv[1] == "time":
        print(json.dumps(dict(engine="pinocchio", step_ms=call_time(tree), repeats=REPEATS)))
    else:
        until, path, h = float(sys.argv[3]), sys.argv[4], float(sys.argv[5])
        coarse, fine = tree.advance(2 * h, round(until / (2 * h))), tree.advance(h, round(until / h))
        change = float(np.nanmax(np.linalg.norm(fine - coarse, axis=1)))
        with open(path, "w") as file:
            json.dump(dict(time=until, change_on_halving=change, centers=[None if np.isnan(c[0]) else list(c) for c in fine]), file)
        print(json.dumps(dict(engine="pinocchio", reference_change_m=change)))
