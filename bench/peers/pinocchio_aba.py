"""Time of Pinocchio's articulated-body algorithm on binary trees of ball joints, in microseconds of CPU.

    pip install pin
    python pinocchio_aba.py

The call from Python costs about a microsecond, measured on a tree of one body and taken off.
The same for Linkwork: cargo run --release -p linkwork --example reduced_speed
"""
import time

import numpy as np
import pinocchio as pin


def tree(bodies):
    model = pin.Model()
    for k in range(bodies):
        parent = 0 if k == 0 else (k - 1) // 2 + 1
        joint = model.addJoint(parent, pin.JointModelSpherical(), pin.SE3.Random(), f"j{k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    return model


def cost(bodies):
    model = tree(bodies)
    data = model.createData()
    q = pin.integrate(model, pin.neutral(model), np.random.uniform(-1, 1, model.nv))
    v, tau = np.random.uniform(-1, 1, (2, model.nv))
    best = float("inf")
    for _ in range(30):
        count = max(1, 20000 // bodies)
        start = time.process_time()
        for _ in range(count):
            pin.aba(model, data, q, v, tau)
        best = min(best, (time.process_time() - start) / count)
    return best * 1e6


call = cost(1)
for bodies in (127, 1023):
    print(f"{bodies} bodies: {cost(bodies) - call:.1f} us (call {call:.2f} us)")
