"""MuJoCo by the protocol of the peers: joints that form a tree in joint coordinates, the others as equality constraints.

Settings: `substeps`, `integrator` (Euler, RK4, implicitfast, discrete), `solref` and `solimp` (as MuJoCo writes them, for equalities and
contacts), `iterations`, `tolerance`, `cone`, `impratio`.

    mujoco_runner.py reference SCENE.json T FILE

writes a reference motion like that of pinocchio_runner.py, for trees too large for Pinocchio.
"""
import json
import sys

import mujoco
import numpy as np

import protocol
from protocol import conjugate, matrix, spanning_tree, times


def numbers(values):
    return " ".join(f"{float(x):.17g}" for x in values)


def geom(shape):
    (kind, size), = shape["solid"].items() if isinstance(shape["solid"], dict) else ((shape["solid"], {}),)
    place = f'pos="{numbers(shape["position"])}" quat="{numbers(shape["orientation"])}"'
    mask = f'contype="{shape["group"] & 0x7fffffff}" conaffinity="{shape["mask"] & 0x7fffffff}"'
    extents = {
        "box": lambda: numbers(0.5 * x for x in size["size"]),
        "sphere": lambda: numbers([size["radius"]]),
        "capsule": lambda: numbers([size["radius"], 0.5 * size["length"]]),
        "cylinder": lambda: numbers([size["radius"], 0.5 * size["length"]]),
        "plane": lambda: "0 0 1",
    }[kind]()
    friction = numbers([shape["friction"], 0.005, 0.0001])
    return f'<geom type="{kind}" size="{extents}" {place} {mask} friction="{friction}" mass="0"/>'


class Run:
    def __init__(self, scene, settings):
        self.scene, self.parts = scene, settings.get("substeps", 1)
        parent, order, left = spanning_tree(scene)
        bodies, joints = scene["bodies"], scene["joints"]
        children = {None: []}
        above = {}
        for body in order:
            k = parent[body]
            other = None
            if k is not None:
                other = joints[k]["a"] if joints[k]["b"] == body else joints[k]["b"]
                if other < 0 or not bodies[other]["dynamic"]:
                    other = None
            above[body] = other
            children.setdefault(other, []).append(body)

        def pose(body):
            if body is None or body < 0:
                return np.zeros(3), np.array([1.0, 0, 0, 0])
            return np.array(bodies[body]["position"]), np.array(bodies[body]["orientation"])

        def side(joint, body):
            end = "a" if joint["a"] == body else "b"
            return joint["point_" + end], matrix(joint["turn_" + end])[:, 2]

        def opening(body):
            data = bodies[body]
            (x, q), (x0, q0) = pose(body), pose(above[body])
            back = matrix(q0).T
            text = [f'<body name="b{body}" pos="{numbers(back @ (x - x0))}" quat="{numbers(times(conjugate(q0), q))}">',
                    f'<inertial pos="{numbers(data["center"])}" quat="{numbers(data["axes"])}" mass="{data["mass"]:.17g}" '
                    f'diaginertia="{numbers(data["moments"])}"/>']
            k = parent[body]
            if k is None:
                text.append(f'<freejoint name="j{body}"/>')
            else:
                point, axis = side(joints[k], body)
                kind = joints[k]["kind"]
                direction = f'axis="{numbers(axis)}"' if kind == "hinge" else ""
                text.append(f'<joint name="j{body}" type="{kind}" pos="{numbers(point)}" {direction}/>')
            text += [geom(shape) for shape in data["shapes"]]
            return text

        text = ["<worldbody>"]
        for body, data in enumerate(bodies):
            if not data["dynamic"]:
                text.append(f'<body name="b{body}" pos="{numbers(data["position"])}" quat="{numbers(data["orientation"])}">')
                text += [geom(shape) for shape in data["shapes"]] + ["</body>"]
        # without recursion: trees can be deep
        stack = [(body, False) for body in reversed(children[None])]
        while stack:
            body, closing = stack.pop()
            if closing:
                text.append("</body>")
                continue
            text += opening(body)
            stack.append((body, True))
            stack += [(child, False) for child in reversed(children.get(body, []))]
        text.append("</worldbody><equality>")
        for k in left:
            joint = joints[k]
            a, b = joint["a"], joint["b"]
            if a < 0:
                a, b = b, a
            point, axis = side(joint, a)
            points = [np.array(point)]
            if joint["kind"] == "hinge":  # two points on the axis hold all that a hinge holds
                points = [points[0] - 0.1 * axis, points[0] + 0.1 * axis]
            other = f'body2="b{b}"' if b >= 0 else ""
            text += [f'<connect body1="b{a}" {other} anchor="{numbers(p)}"/>' for p in points]
        text.append("</equality><contact>")
        if scene["collisions"]:
            pairs = {tuple(sorted((j["a"], j["b"]))) for j in joints if j["a"] >= 0 and j["b"] >= 0}
            text += [f'<exclude body1="b{a}" body2="b{b}"/>' for a, b in sorted(pairs)]
        text.append("</contact>")

        soft = "".join(f' {key}="{settings[key]}"' for key in ("solref", "solimp") if key in settings)
        option = dict(timestep=scene["h"] / self.parts, gravity=numbers(scene["gravity"]))
        option |= {key: settings[key] for key in ("integrator", "iterations", "tolerance", "cone", "impratio") if key in settings}
        attributes = " ".join(f'{key}="{value}"' for key, value in option.items())
        xml = (f'<mujoco><compiler angle="radian" inertiafromgeom="false" balanceinertia="false"/><option {attributes}/>'
               f'<size memory="1G"/><default><geom{soft}/><equality{soft}/></default>' + "".join(text) + "</mujoco>")
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        self.ids = np.array([self.model.body(f"b{body}").id for body in range(len(bodies))])

        for body in order:
            k, data = parent[body], bodies[body]
            at = self.model.joint(f"j{body}").dofadr[0]
            omega = np.array(data["angular_velocity"])
            local = matrix(data["orientation"]).T
            if k is None:
                lever = matrix(data["orientation"]) @ np.array(data["center"])
                self.data.qvel[at:at + 3] = np.array(data["velocity"]) - np.cross(omega, lever)
                self.data.qvel[at + 3:at + 6] = local @ omega
                continue
            before = np.zeros(3) if above[body] is None else np.array(bodies[above[body]]["angular_velocity"])
            if joints[k]["kind"] == "ball":
                self.data.qvel[at:at + 3] = local @ (omega - before)
            else:
                self.data.qvel[at] = side(joints[k], body)[1] @ (local @ (omega - before))
        mujoco.mj_forward(self.model, self.data)

    def advance(self):
        mujoco.mj_step(self.model, self.data, self.parts)

    def step(self):
        self.advance()
        bad = [mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC]
        if any(self.data.warning[k].number for k in bad):
            return "not finite: MuJoCo reset itself"

    def state(self):
        # positions and velocities of the same moment: kinematics of the state after the step
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)
        out = np.zeros((len(self.ids), 13))
        out[:, :3] = self.data.xipos[self.ids]
        out[:, 3:7] = self.data.xquat[self.ids]
        twist = self.data.cvel[self.ids]
        # cvel is about the centre of mass of the whole tree
        middle = self.data.subtree_com[self.model.body_rootid[self.ids]]
        out[:, 7:10] = twist[:, 3:] + np.cross(twist[:, :3], out[:, :3] - middle)
        out[:, 10:] = twist[:, :3]
        return out


def reference(path, until, out, smallest=5e-4):
    with open(path) as file:
        scene = json.load(file)

    def centers(h):
        run = Run(scene | dict(h=h), dict(integrator="RK4"))
        for _ in range(round(until / h)):
            run.advance()
        return run.state()[:, :3]

    coarse, fine = centers(2 * smallest), centers(smallest)
    change = float(np.linalg.norm(fine - coarse, axis=1).max())
    with open(out, "w") as file:
        json.dump(dict(time=until, change_on_halving=change, centers=fine.tolist()), file)


if __name__ == "__main__" and sys.argv[1] == "reference":
    reference(sys.argv[2], float(sys.argv[3]), sys.argv[4])
elif __name__ == "__main__":
    protocol.run("mujoco", Run)
