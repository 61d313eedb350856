"""Accelerations of scissor lifts, trees with loops, by Pinocchio's constrained dynamics: proximal, and low-complexity articulated bodies.

    python3 install.py && .cache/venv/bin/pip install pin
    .cache/venv/bin/python pinocchio_loops.py [pairs ...]

Microseconds of CPU, best of many; a call from Python costs about one. The lift of n pairs has 2n bars with hinges and n loops, each
closed at a point (three rows, of which one is implied by the others, as in every flat linkage).
"""
import os
import sys
import time

try:
    import numpy as np
    import pinocchio as pin
except ImportError as problem:
    sys.exit(f"pinocchio_loops: {problem}; the head of this file says how to install it")

HALF, RISE = 0.5, 0.3  # a bar is from (-HALF, -RISE) to (HALF, RISE) or mirrored, about y


def lift(pairs):
    model = pin.Model()
    inertia = pin.Inertia(1.0, np.zeros(3), np.diag([0.03, 0.1, 0.1]))
    at = lambda x, z: pin.SE3(np.eye(3), np.array([x, 0.0, z]))
    closings, carriers = [], None
    for k in range(pairs):
        if k == 0:
            # the first bar stands on the ground, the second hangs at its middle
            a = model.addJoint(0, pin.JointModelRY(), at(-HALF, 0.0), "a0")
            b = model.addJoint(a, pin.JointModelRY(), at(HALF, RISE), "b0")
            model.appendBodyToJoint(a, inertia, at(HALF, RISE))
            model.appendBodyToJoint(b, inertia, pin.SE3.Identity())
            closings.append((0, at(HALF, 0.0), b, at(HALF, -RISE)))
            carriers = ((a, at(2 * HALF, 2 * RISE)), (b, at(-HALF, RISE)))
        else:
            # at the right end above stands the next left-leaning bar, at its middle the other, which closes at the left end
            (right, end_right), (left, end_left) = carriers
            b = model.addJoint(right, pin.JointModelRY(), end_right, f"b{k}")
            a = model.addJoint(b, pin.JointModelRY(), at(-HALF, RISE), f"a{k}")
            model.appendBodyToJoint(b, inertia, at(-HALF, RISE))
            model.appendBodyToJoint(a, inertia, pin.SE3.Identity())
            closings.append((left, end_left, a, at(-HALF, -RISE)))
            carriers = ((a, at(HALF, RISE)), (b, at(-2 * HALF, 2 * RISE)))
    constraints = pin.StdVec_RigidConstraintModel()
    for joint_1, place_1, joint_2, place_2 in closings:
        constraints.append(
            pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, joint_1, place_1, joint_2, place_2)
        )
    return model, constraints


def memory_of(constraints):
    memory = pin.StdVec_RigidConstraintData()
    for c in constraints:
        memory.append(c.createData())
    return memory


def best(call):
    least = float("inf")
    for _ in range(20):
        start = time.process_time()
        for _ in range(50):
            call()
        least = min(least, (time.process_time() - start) / 50)
    return least * 1e6


def measure(pairs):
    model, constraints = lift(pairs)
    q, v, tau = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    settings = lambda: pin.ProximalSettings(1e-9, 1e-6, 50)
    line = f"{pairs} pairs, {model.nv} hinges, {3 * len(constraints)} rows:"
    data = model.createData()
    memory = memory_of(constraints)
    pin.initConstraintDynamics(model, data, constraints, memory)
    prox = settings()
    us = best(lambda: pin.constraintDynamics(model, data, q, v, tau, constraints, memory, prox))
    line += f" proximal {us:.0f} us ({prox.iter} iterations)"
    if hasattr(pin, "lcaba"):
        data = model.createData()
        memory = memory_of(constraints)
        pin.computeJointMinimalOrdering(model, data, constraints)
        prox = settings()
        us = best(lambda: pin.lcaba(model, data, q, v, tau, constraints, memory, prox))
        line += f", low-complexity articulated bodies {us:.0f} us ({prox.iter} iterations)"
    print(line, flush=True)
    # the package falls over when it gives its memory back
    os._exit(0)


for pairs in map(int, sys.argv[1:] or (10, 30, 50)):
    if os.fork() == 0:
        measure(pairs)
    os.wait()
