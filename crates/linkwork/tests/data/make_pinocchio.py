"""Makes pinocchio.txt: trees of random bodies with what Pinocchio says about them.

    pip install pin
    python make_pinocchio.py > pinocchio.txt

One line per item, numbers separated by blanks. A body's frame is its joint's frame on the carried side.
  case NAME BODIES RATES
  body PARENT KIND mass com(3) inertia(xx yy zz xy xz yz) placement(x y z qw qx qy qz) pose(7) velocity(3) angular(3)
  force ...        joint forces, by rate (a floating base has none)
  acceleration ... of the joints, by rate (a floating base: zeros, its bodies tell)
  moves BODY a(3) alpha(3)   acceleration of the centre of mass and angular acceleration, world axes
  mass ...         the mass matrix, row by row (cases without a floating base)
  momentum linear(3) angular(3)   about the centre of mass
"""
import numpy as np
import pinocchio as pin

rng = np.random.default_rng(20)
KINDS = {
    "hinge": lambda: pin.JointModelRZ(),
    "slider": lambda: pin.JointModelPZ(),
    "ball": lambda: pin.JointModelSpherical(),
    "cylindrical": lambda: composite(pin.JointModelPZ(), pin.JointModelRZ()),
    "planar": lambda: composite(pin.JointModelPX(), pin.JointModelPY(), pin.JointModelRZ()),
    "universal": lambda: composite(pin.JointModelRZ(), pin.JointModelRX()),
    "orientation": lambda: pin.JointModelTranslation(),
    "free": lambda: pin.JointModelFreeFlyer(),
}


def composite(*parts):
    joint = pin.JointModelComposite(parts[0], pin.SE3.Identity())
    for part in parts[1:]:
        joint.addJoint(part, pin.SE3.Identity())
    return joint


def numbers(*values):
    return " ".join(repr(float(x)) for v in values for x in np.asarray(v, float).ravel())


def quaternion(r):
    q = pin.Quaternion(r)
    return [q.w, q.x, q.y, q.z]


def case(name, kinds, branch):
    model = pin.Model()
    bodies = []
    for k, kind in enumerate(kinds):
        parent = branch(k)
        placement = pin.SE3.Identity() if kind == "free" else pin.SE3(pin.SE3.Random().rotation, rng.uniform(-0.5, 0.5, 3))
        joint = model.addJoint(parent + 1, KINDS[kind](), placement, f"j{k}")
        mass = rng.uniform(0.5, 3.0)
        com = rng.uniform(-0.3, 0.3, 3)
        axes = pin.SE3.Random().rotation
        inertia = axes @ np.diag(mass * rng.uniform(0.02, 0.03, 3)) @ axes.T
        model.appendBodyToJoint(joint, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
        bodies.append((parent, kind, mass, com, inertia, placement, joint))
    data = model.createData()
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1.0, 1.0, model.nv))
    v = rng.uniform(-2.0, 2.0, model.nv)
    tau = rng.uniform(-3.0, 3.0, model.nv)
    if kinds[0] == "free":
        tau[:6] = 0.0
    a = pin.aba(model, data, q, v, tau)
    floating = kinds[0] == "free"
    print(f"case {name} {len(kinds)} {model.nv}")
    pin.forwardKinematics(model, data, q, v, a)
    for parent, kind, mass, com, inertia, placement, joint in bodies:
        x, w = data.oMi[joint], data.v[joint]
        tensor = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        print(f"body {parent} {kind}", numbers([mass], com, tensor, placement.translation, quaternion(placement.rotation),
              x.translation, quaternion(x.rotation), x.rotation @ w.linear, x.rotation @ w.angular))
    print("force", numbers(tau))
    shown = a.copy()
    if floating:
        shown[:6] = 0.0
    print("acceleration", numbers(shown))
    for k, (*_, com, _, _, joint) in enumerate(bodies):
        x, w, s = data.oMi[joint], data.v[joint], data.a[joint]
        # classical acceleration of the centre of mass, from the spatial one of the joint frame
        lin = s.linear + np.cross(s.angular, com) + np.cross(w.angular, w.linear + np.cross(w.angular, com))
        print(f"moves {k}", numbers(x.rotation @ lin, x.rotation @ s.angular))
    if not floating:
        # by inverse dynamics: its crba expects joints in depth-first order
        still = np.zeros(model.nv)
        weight = pin.rnea(model, data, q, still, still).copy()
        h = np.column_stack([pin.rnea(model, data, q, still, e) - weight for e in np.eye(model.nv)])
        print("mass", numbers(h))
    hg = pin.computeCentroidalMomentum(model, data, q, v)
    print("momentum", numbers(hg.linear, hg.angular))


pin.seed(20)
case("arm", ["hinge", "hinge", "slider", "hinge", "ball", "hinge"], lambda k: k - 1)
case("tree", ["hinge", "ball", "hinge", "slider", "ball", "hinge", "ball", "slider", "hinge", "ball"], lambda k: (k + 1) // 2 - 1)
case("machine", ["cylindrical", "planar", "universal", "orientation", "ball", "universal", "cylindrical"], lambda k: (k + 1) // 2 - 1)
case("floating", ["free", "hinge", "ball", "universal", "slider", "hinge", "planar"], lambda k: (k + 1) // 2 - 1)
case("snake", ["free"] + ["ball", "hinge"] * 5, lambda k: k - 1)
