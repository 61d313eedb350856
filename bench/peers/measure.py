"""All accuracy figures, for every engine from its trajectory alone, by the same rules.

    measure.py SCENE.json TRAJECTORY [REFERENCE.json]

prints JSON:
  joint_error_m     largest distance between the two points that a joint holds together, over all joints and frames
  joint_error_rad   the same for the angle between the two axes of a hinge
  displacement_m    largest distance of a centre of mass from its start; displacement_across_m: its part across gravity
  penetration_m     deepest overlap of two solids that may collide; penetration_end_m: in the last second
  energy_drift      E - E(0) where it differs most, by the largest kinetic energy of the run (mechanical energy; contacts take some)
  motion_error_m    root mean square distance of the centres of mass from a reference motion, at its time
"""
import json
import sys

import numpy as np

# frames that are looked at together: memory is for a few, not for all
CHUNK = 40


def rotations(q):
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return np.stack(rows, -1).reshape(*q.shape[:-1], 3, 3)


def load(path):
    with open(path, "rb") as file:
        header = json.loads(file.readline())
        start = file.tell()
    frames = np.memmap(path, dtype="<f8", mode="r", offset=start).reshape(-1, header["bodies"], 13)
    finite = np.isfinite(frames).all(axis=(1, 2))
    return header, frames[:np.argmin(finite)] if not finite.all() else frames


def joint_errors(scene, x, r):
    joints = scene["joints"]
    if not joints:
        return 0.0, 0.0
    centers = np.array([b["center"] for b in scene["bodies"]])

    def side(end):
        body = np.array([j[end] for j in joints])
        point = np.array([j["point_" + end] for j in joints])
        axis = rotations(np.array([j["turn_" + end] for j in joints]))[:, :, 2]
        held = body < 0
        safe = np.where(held, 0, body)
        lever = np.where(held[:, None], point, point - centers[safe])
        at = np.einsum("fjab,jb->fja", r[:, safe], lever) + x[:, safe]
        along = np.einsum("fjab,jb->fja", r[:, safe], axis)
        at[:, held] = point[held]
        along[:, held] = axis[held]
        return at, along

    (pa, za), (pb, zb) = side("a"), side("b")
    hinge = np.array([j["kind"] == "hinge" for j in joints])
    gap = np.linalg.norm(pa - pb, axis=-1).max()
    if not hinge.any():
        return gap, 0.0
    sine = np.linalg.norm(np.cross(za[:, hinge], zb[:, hinge]), axis=-1)
    cosine = (za[:, hinge] * zb[:, hinge]).sum(-1)
    return gap, np.arctan2(sine, cosine).max()


class Solids:
    """The shapes of a scene, placed by poses."""

    def __init__(self, scene):
        self.body, self.kind, self.size, self.at, self.turn, self.group, self.mask = [], [], [], [], [], [], []
        for k, body in enumerate(scene["bodies"]):
            for shape in body["shapes"]:
                solid = shape["solid"]
                (kind, data), = solid.items() if isinstance(solid, dict) else ((solid, {}),)
                size = data.get("size") or [data.get("radius", 0.0), data.get("length", 0.0), 0.0]
                self.body.append(k), self.kind.append(kind), self.size.append(size)
                center = np.array(body["center"]) if body["dynamic"] else np.zeros(3)
                self.at.append(np.array(shape["position"]) - center)
                self.turn.append(rotations(np.array(shape["orientation"])))
                self.group.append(shape["group"]), self.mask.append(shape["mask"])
        self.body, self.kind = np.array(self.body, int), np.array(self.kind)
        self.size, self.at, self.turn = np.array(self.size).reshape(-1, 3), np.array(self.at), np.array(self.turn)
        self.group, self.mask = np.array(self.group, np.uint64), np.array(self.mask, np.uint64)
        self.dynamic = np.array([b["dynamic"] for b in scene["bodies"]])
        self.bodies = len(scene["bodies"])
        self.joined = np.unique([self.pair(j["a"], j["b"]) for j in scene["joints"] if min(j["a"], j["b"]) >= 0])
        s = self.size
        self.reach = np.select([self.kind == "box", self.kind == "plane"],
                               [np.linalg.norm(s, axis=1) / 2, 0.0], s[:, 0] + s[:, 1] / 2)
        planes, others = np.flatnonzero(self.kind == "plane"), np.flatnonzero(self.kind != "plane")
        self.on_planes = [(plane, others[self.allowed(others, np.full_like(others, plane))]) for plane in planes]
        self.slack, self.listed_at, self.listed = 0.2 * np.median(self.reach[others]) if len(others) else 0.0, None, []
        kinds = sorted({str(k) for k in self.kind[self.dynamic[self.body]]} - {"plane"})
        for a in kinds:
            for b in set(kinds) | {str(k) for k in self.kind} - {"plane"}:
                if (a, b) not in KINDS and (b, a) not in KINDS and self.may_touch(a, b):
                    raise SystemExit(f"measure: how deep {a} and {b} are in each other is not known here")

    def may_touch(self, a, b):
        i, j = np.flatnonzero(self.kind == a), np.flatnonzero(self.kind == b)
        return any(self.allowed(np.full_like(j, k), j).any() for k in i)

    def pair(self, a, b):
        return np.minimum(a, b) * self.bodies + np.maximum(a, b)

    def allowed(self, i, j):
        a, b = self.body[i], self.body[j]
        ok = (a != b) & (self.dynamic[a] | self.dynamic[b])
        ok &= (self.group[i] & self.mask[j] > 0) & (self.group[j] & self.mask[i] > 0)
        return ok & ~np.isin(self.pair(a, b), self.joined)

    def deepest(self, x, r):
        at = x[self.body] + np.einsum("nab,nb->na", r[self.body], self.at)
        turn = r[self.body] @ self.turn
        deepest = 0.0
        for plane, others in self.on_planes:
            if len(others):
                normal = turn[plane][:, 2]
                below = self.support(others, turn[others], -normal) - (at[others] - at[plane]) @ normal
                deepest = max(deepest, below.max())
        # who is near whom holds until a point of a solid may have gone half the slack
        if self.listed_at is None or self.gone(at, turn) > self.slack / 2:
            self.listed_at, self.listed = (at, turn), self.list_pairs(at, turn)
        for overlap, i, j in self.listed:
            deepest = max(deepest, overlap(self.size[i], at[i], turn[i], self.size[j], at[j], turn[j]).max())
        return deepest

    def gone(self, at, turn):
        before, turned = self.listed_at
        change = turn - turned
        # what is round about its axis may spin about it
        change = np.where(self.kind == "box", np.linalg.norm(change, axis=(1, 2)), np.linalg.norm(change[:, :, 2], axis=1))
        return (np.linalg.norm(at - before, axis=1) + change * self.reach).max()

    def list_pairs(self, at, turn):
        """Pairs that are or may soon be in touch, by how their overlap is found."""
        solid = np.flatnonzero(self.kind != "plane")
        pairs = self.near(solid, at) if len(solid) > 1 else np.zeros((0, 2), int)
        pairs = pairs[self.allowed(*pairs.T)]
        listed = []
        for (first, second), overlap in KINDS.items():
            i, j = pairs.T
            straight = (self.kind[i] == first) & (self.kind[j] == second)
            swapped = (self.kind[i] == second) & (self.kind[j] == first) & ~straight
            i, j = np.concatenate([i[straight], j[swapped]]), np.concatenate([j[straight], i[swapped]])
            if len(i):
                close = overlap(self.size[i], at[i], turn[i], self.size[j], at[j], turn[j]) > -self.slack
                listed += [(overlap, i[close], j[close])] * bool(close.any())
        return listed

    def near(self, solid, at):
        """Pairs whose bounding balls touch or are closer than the slack: big ones against all, small ones by a tree."""
        from scipy.spatial import cKDTree  # takes as long to load as a small scene to be measured

        reach = self.reach[solid]
        big = reach > 2 * np.median(reach)
        small = solid[~big]
        far = 2 * self.reach[small].max(initial=0.0) + self.slack
        found = cKDTree(at[small]).query_pairs(far, output_type="ndarray") if len(small) > 1 else []
        pairs = [small[found]] if len(found) else []
        for b in solid[big]:
            distance = np.linalg.norm(at[solid] - at[b], axis=1)
            close = solid[(distance < reach + self.reach[b] + self.slack) & (solid != b)]
            pairs.append(np.stack([np.full_like(close, b), close], 1))
        return np.concatenate(pairs) if pairs else np.zeros((0, 2), int)

    def support(self, which, turn, direction):
        local = np.einsum("nab,a->nb", turn, direction)
        s, kind = self.size[which], self.kind[which]
        box = (np.abs(local) * s / 2).sum(1)
        segment = np.abs(local[:, 2]) * s[:, 1] / 2
        across = s[:, 0] * np.hypot(local[:, 0], local[:, 1])
        return np.select([kind == "box", kind == "sphere", kind == "capsule"], [box, s[:, 0], segment + s[:, 0]], segment + across)


def boxes(size_a, at_a, turn_a, size_b, at_b, turn_b):
    """Least overlap over the separating axes."""
    between = at_b - at_a
    edges = np.cross(turn_a.transpose(0, 2, 1)[:, :, None], turn_b.transpose(0, 2, 1)[:, None]).reshape(len(at_a), 9, 3)
    axes = np.concatenate([turn_a.transpose(0, 2, 1), turn_b.transpose(0, 2, 1), edges], 1)
    length = np.linalg.norm(axes, axis=2)
    proper = length > 1e-3  # parallel edges say nothing that faces do not
    axes = axes / np.where(proper, length, 1)[:, :, None]
    half = lambda size, turn: np.einsum("nkb,nb->nk", np.abs(np.einsum("nka,nab->nkb", axes, turn)), size / 2)
    overlap = half(size_a, turn_a) + half(size_b, turn_b) - np.abs(np.einsum("nka,na->nk", axes, between))
    return np.where(proper, overlap, np.inf).min(1)


def segments(a, u, b, v):
    """Least distance between segments a + s u and b + t v, s and t from -1 to 1; and s and t there."""
    w = a - b
    uu, vv, uv = (u * u).sum(1), (v * v).sum(1), (u * v).sum(1)
    uw, vw = (u * w).sum(1), (v * w).sum(1)
    determinant = uu * vv - uv * uv
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.where(determinant > 1e-12 * uu * vv, (uv * vw - vv * uw) / determinant, 0.0).clip(-1, 1)
    best, at = np.full(len(a), np.inf), np.zeros((len(a), 2))
    for s in (s, np.full_like(s, -1.0), np.ones_like(s)):
        t = ((s * uv + vw) / np.where(vv > 0, vv, 1)).clip(-1, 1)
        s = ((t * uv - uw) / np.where(uu > 0, uu, 1)).clip(-1, 1)
        distance = np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=1)
        closer = distance < best
        best = np.where(closer, distance, best)
        at[closer] = np.stack([s, t], 1)[closer]
    return best, at


def capsules(size_a, at_a, turn_a, size_b, at_b, turn_b):
    half = lambda size, turn: turn[:, :, 2] * size[:, 1:2] / 2
    return size_a[:, 0] + size_b[:, 0] - segments(at_a, half(size_a, turn_a), at_b, half(size_b, turn_b))[0]


def capsule_and_cylinder(size_a, at_a, turn_a, size_b, at_b, turn_b):
    """On the side of the cylinder; a capsule beyond its ends does not count."""
    half = lambda size, turn: turn[:, :, 2] * size[:, 1:2] / 2
    distance, at = segments(at_a, half(size_a, turn_a), at_b, half(size_b, turn_b))
    return np.where(np.abs(at[:, 1]) < 1, size_a[:, 0] + size_b[:, 0] - distance, 0.0)


KINDS = {("box", "box"): boxes, ("capsule", "capsule"): capsules, ("capsule", "cylinder"): capsule_and_cylinder}


def energies(scene, frames, r):
    bodies = scene["bodies"]
    mass = np.array([b["mass"] for b in bodies])
    moments = np.array([b["moments"] for b in bodies])
    axes = rotations(np.array([b["axes"] for b in bodies]))
    x, v, w = frames[..., :3], frames[..., 7:10], frames[..., 10:]
    spin = np.einsum("fnab,fna->fnb", r, w)
    spin = np.einsum("nab,fna->fnb", axes, spin)
    kinetic = 0.5 * (mass * (v * v).sum(-1)).sum(1) + 0.5 * (moments * spin * spin).sum((1, 2))
    potential = -(mass[:, None] * x).sum(1) @ np.array(scene["gravity"])
    return kinetic, potential


def measure(scene, frames, reference=None):
    dynamic = np.array([b["dynamic"] for b in scene["bodies"]])
    up = -np.array(scene["gravity"]) / np.linalg.norm(scene["gravity"])
    second = max(1, round(1 / scene["h"]))
    solids = Solids(scene) if scene["collisions"] else None
    gaps, angles, far, far_across, depths, kinetic, potential = [], [], [], [], [], [], []
    for start in range(0, len(frames), CHUNK):
        part = np.asarray(frames[start:start + CHUNK])
        x, r = part[..., :3], rotations(part[..., 3:7])
        gap, angle = joint_errors(scene, x, r)
        gaps.append(gap), angles.append(angle)
        moved = (x - frames[0][:, :3])[:, dynamic]
        far.append(np.linalg.norm(moved, axis=-1).max())
        far_across.append(np.linalg.norm(moved - (moved @ up)[..., None] * up, axis=-1).max())
        energy = energies(scene, part, r)
        kinetic.append(energy[0]), potential.append(energy[1])
        if solids is not None and len(solids.body):
            depths += [solids.deepest(x[k], r[k]) for k in range(len(part))]
    kinetic = np.concatenate(kinetic)
    total = kinetic + np.concatenate(potential)
    scale, rise = kinetic.max() or 1.0, total - total[0]
    result = dict(
        joint_error_m=max(gaps), joint_error_rad=max(angles), displacement_m=max(far), displacement_across_m=max(far_across),
        energy_drift=rise[np.abs(rise).argmax()] / scale, energy_rise=rise.max() / scale, kinetic_max=kinetic.max(),
    )
    if depths:
        result |= dict(penetration_m=max(depths), penetration_end_m=max(depths[-second:]))
    if reference:
        frame = round(reference["time"] / scene["h"])
        if frame < len(frames):
            known = [k for k, c in enumerate(reference["centers"]) if c is not None]
            off = frames[frame, known, :3] - np.array([reference["centers"][k] for k in known])
            result["motion_error_m"] = np.sqrt((off ** 2).sum(1).mean())
    return {key: float(value) for key, value in result.items()}


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        scene = json.load(file)
    _, frames = load(sys.argv[2])
    reference = None
    if len(sys.argv) > 3:
        with open(sys.argv[3]) as file:
            reference = json.load(file)
    print(json.dumps(measure(scene, frames, reference)))
