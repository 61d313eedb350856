//! Changing a world: insert, remove, move, push, drive. Every call checks its numbers first and changes nothing if they are wrong.

use crate::body::{Accelerations, BodyState};
use crate::collide;
use crate::error::SceneError;
use crate::handle::{BodyId, JointId};
use crate::joint::compile::{self, is_coupling};
use crate::joint::drive::Drive;
use crate::joint::{BlackBox, Coupling, CouplingTerm, Held, JointModel, JointState};
use crate::math::inertia::{MassError, MassProperties, mass_properties, wrong_masses};
use crate::math::{Pose, Twist};
use crate::names::{Namer, all_of, named, nearest};
use crate::range::{FARTHEST, FASTEST, STRONGEST};
use crate::scene::{Body, BodyKind, Coordinate, Frame, Joint, JointKind, Limit, Motor, Spring, WORLD};
use crate::world::World;
use glam::{DMat3, DQuat, DVec3};
use std::sync::Arc;

type Checked<T> = Result<T, SceneError>;

fn bounded(path: &str, v: DVec3, most: f64, unit: &str) -> Checked<DVec3> {
    if !v.is_finite() {
        return Err(SceneError::new(path, format!("{v} {unit} is not finite")).hint("give three numbers"));
    }
    if v.abs().max_element() > most {
        let v = compile::shown(v);
        return Err(SceneError::new(path, format!("{v} {unit} is beyond {most:e} {unit}")).hint("use SI units"));
    }
    Ok(v)
}

const DAMPING_UNIT: Option<&str> = Some("1/s");

/// A number of modest size; with a unit, one that is not negative.
fn scalar(path: &str, value: f64, unit: Option<&str>) -> Checked<f64> {
    const MOST: f64 = 1e12;
    match unit {
        _ if !value.is_finite() || value.abs() > MOST => {
            Err(SceneError::new(path, format!("{value:?} is not a number up to {MOST:e}")).hint("use SI units"))
        }
        Some(unit) if value < 0.0 => {
            Err(SceneError::new(path, format!("{value:?} {unit} is negative")).hint("0 switches it off"))
        }
        _ => Ok(value),
    }
}

fn quaternion(path: &str, w_x_y_z: [f64; 4]) -> Checked<DQuat> {
    let [w, x, y, z] = w_x_y_z;
    let q = DQuat::from_xyzw(x, y, z, w);
    let length = q.length();
    if !(length.is_finite() && length > 1e-6) {
        return Err(SceneError::new(path, format!("({w}, {x}, {y}, {z}) is not a quaternion of a rotation"))
            .hint("(1, 0, 0, 0) is no rotation; the order is (w, x, y, z)"));
    }
    Ok(if (length - 1.0).abs() < 1e-15 { q } else { q.normalize() })
}

/// A body as described, or all that is wrong with it.
fn body_state(body: &Body, path: &str) -> Result<BodyState, Vec<SceneError>> {
    let at = |key: &str| format!("{path}.{key}");
    let mut problems = Vec::new();
    if body.name == WORLD {
        let problem = SceneError::new(at("name"), "\"world\" is the name of the immovable world");
        problems.push(problem.hint("choose another"));
    }
    let before_shapes = problems.len();
    for (i, shape) in body.shapes.iter().enumerate() {
        let path = at(&format!("shapes[{i}]"));
        collide::check::shape(&path, shape, body.kind, &mut problems);
        problems.extend(bounded(&format!("{path}.position"), shape.position.into(), FARTHEST, "m").err());
        problems.extend(quaternion(&format!("{path}.orientation"), shape.orientation).err());
    }
    let wrong_mass = |e: MassError| SceneError::new(at(e.key), e.problem).hint(e.hint);
    let is_dynamic = body.kind == BodyKind::Dynamic;
    let mut mass = MassProperties { mass: 1.0, center: DVec3::ZERO, moments: DVec3::ONE, axes: DQuat::IDENTITY };
    let are_sound = problems.len() == before_shapes;
    let wrong_masses = if is_dynamic { wrong_masses(body) } else { Vec::new() };
    match wrong_masses.is_empty() && are_sound && is_dynamic {
        true => match mass_properties(body) {
            Ok(of_body) => mass = of_body,
            Err(e) => problems.push(wrong_mass(e)),
        },
        false => problems.extend(wrong_masses.into_iter().map(wrong_mass)),
    }
    let mut take = |checked: Checked<DVec3>| checked.map_err(|e| problems.push(e)).unwrap_or_default();
    let position = take(bounded(&at("position"), body.position.into(), FARTHEST, "m"));
    let linear = take(bounded(&at("velocity"), body.velocity.into(), FASTEST, "m/s"));
    let angular = take(bounded(&at("angular_velocity"), body.angular_velocity.into(), FASTEST, "rad/s"));
    let orientation =
        quaternion(&at("orientation"), body.orientation).map_err(|e| problems.push(e)).unwrap_or_default();
    let (pose, twist) = (Pose { position, orientation }, Twist { linear, angular });
    if body.kind == BodyKind::Static && twist != Twist::default() {
        let problem = SceneError::new(at("velocity"), "a static body does not move");
        problems.push(problem.hint("make it kinematic"));
    }
    let numbers = [
        ("gravity_scale", body.gravity_scale, None),
        ("linear_damping", body.linear_damping, DAMPING_UNIT),
        ("angular_damping", body.angular_damping, DAMPING_UNIT),
    ];
    problems.extend(numbers.into_iter().filter_map(|(key, value, unit)| scalar(&at(key), value, unit).err()));
    if !problems.is_empty() {
        return Err(problems);
    }
    let (colliders, warnings) = collide::shape::compile(body, &mass);
    let mut state = BodyState {
        name: body.name.as_str().into(),
        kind: body.kind,
        mass,
        x: DVec3::ZERO,
        q: DQuat::IDENTITY,
        v: DVec3::ZERO,
        w: DVec3::ZERO,
        memory: Accelerations::default(),
        lag: 0.0,
        at_rest: 0.0,
        asleep: false,
        gravity_scale: body.gravity_scale,
        linear_damping: body.linear_damping,
        angular_damping: body.angular_damping,
        force: DVec3::ZERO,
        torque: DVec3::ZERO,
        pushed: None,
        shapes: body.shapes.as_slice().into(),
        colliders: colliders.into(),
        warnings: warnings.into(),
    };
    state.set_pose(pose);
    state.set_twist(twist);
    Ok(state)
}

impl World {
    /// Adds a body, or tells all that is wrong with it.
    pub(crate) fn insert_body(
        &mut self,
        body: &Body,
        path: &str,
        namer: &mut Namer,
    ) -> Result<BodyId, Vec<SceneError>> {
        let taken = (!body.name.is_empty() && namer.bodies.contains_key(&body.name)).then(|| {
            SceneError::new(format!("{path}.name"), format!("\"{}\" is taken by another body", body.name))
                .hint("give every body a name of its own, or none")
        });
        let state = match (body_state(body, path), taken) {
            (Ok(state), None) => state,
            (state, taken) => return Err(taken.into_iter().chain(state.err().into_iter().flatten()).collect()),
        };
        let id = self.bodies.insert(state);
        let name = named(&body.name, "body", id);
        if let Some(b) = self.bodies.get_mut(id) {
            b.name = name.as_str().into();
        }
        namer.bodies.insert(name, id);
        self.graph_version += 1;
        Ok(id)
    }

    pub(crate) fn insert_joints(&mut self, joints: &[Joint], namer: &mut Namer, problems: &mut Vec<SceneError>) {
        let mut found = Vec::new();
        // couplings name joints that may stand after them
        for coupling in [false, true] {
            for (i, joint) in joints.iter().enumerate().filter(|(_, j)| is_coupling(j.kind) == coupling) {
                let inserted = match namer.depends_on_spoiled(joint) {
                    true => None,
                    false => {
                        self.insert_joint(joint, &format!("joints[{i}]"), namer).map_err(|e| found.push((i, e))).ok()
                    }
                };
                match inserted.and_then(|id| self.joints.get_mut(id)) {
                    Some(inserted) => inserted.scene_index = i,
                    None => {
                        namer.spoiled[1].insert(joint.name.clone());
                    }
                }
            }
        }
        found.sort_by_key(|(i, _)| *i);
        problems.extend(found.into_iter().map(|(_, problem)| problem));
    }

    fn insert_joint(&mut self, joint: &Joint, path: &str, namer: &mut Namer) -> Checked<JointId> {
        if !joint.name.is_empty() && namer.joints.contains_key(&joint.name) {
            return Err(SceneError::new(
                format!("{path}.name"),
                format!("\"{}\" is taken by another joint", joint.name),
            )
            .hint("give every joint a name of its own, or none"));
        }
        let state = self.joint_state(joint, path, namer)?;
        let id = self.joints.insert(state);
        let name = named(&joint.name, "joint", id);
        if let Some(j) = self.joints.get_mut(id) {
            j.name = name.as_str().into();
        }
        namer.joints.insert(name, id);
        self.graph_version += 1;
        Ok(id)
    }

    fn joint_state(&self, joint: &Joint, path: &str, namer: &Namer) -> Checked<JointState> {
        if is_coupling(joint.kind) {
            return self.coupling_state(joint, path, namer);
        }
        let find = |key: &str, name: &Option<String>| match name.as_deref() {
            None | Some(WORLD) => Ok(None),
            Some(name) => namer.bodies.get(name).copied().map(Some).ok_or_else(|| {
                let error = SceneError::new(format!("{path}.{key}"), format!("there is no body \"{name}\""));
                match nearest(name, namer.bodies.keys()) {
                    Some(close) => error.hint(format!("did you mean \"{close}\"?")),
                    None => error.hint(all_of(namer.bodies.keys())),
                }
            }),
        };
        let (a, b) = (find("a", &joint.a)?, find("b", &joint.b)?);
        if a == b {
            return Err(SceneError::new(format!("{path}.b"), "joins a body to itself").hint("name two bodies"));
        }
        let dynamic = |id: Option<BodyId>| id.and_then(|id| self.bodies.get(id)).is_some_and(BodyState::is_dynamic);
        if !dynamic(a) && !dynamic(b) {
            return Err(SceneError::new(path, "joins two things that forces cannot move").hint("make one body dynamic"));
        }
        let body = |id: Option<BodyId>| id.and_then(|id| self.bodies.get(id));
        let model = compile::model(joint, path, body(a), body(b))?;
        let mut drives = compile::drives(joint.kind, &joint.coordinates, path)?;
        let place = |id: Option<BodyId>| body(id).map_or(crate::math::Placed::WORLD, BodyState::placed);
        for (drive, (_, kind)) in drives.iter_mut().zip(model.coordinates) {
            drive.value = kind.raw(&model, &place(a), &place(b));
        }
        let soft = drives.iter().filter(|d| d.is_soft()).count();
        if model.row_count() + soft > crate::joint::MAX_ROWS {
            return Err(SceneError::new(
                format!("{path}.coordinates"),
                format!(
                    "{soft} springs, dampers and servos on a joint that holds {} rows: more than six in all",
                    model.row_count()
                ),
            )
            .hint("put the rest on a second joint between the same bodies"));
        }
        Ok(JointState {
            name: joint.name.as_str().into(),
            description: Arc::new(joint.clone()),
            a,
            b,
            model,
            drives: drives.into(),
            coupling: None,
            memory: Default::default(),
            scene_index: 0,
        })
    }

    fn coupling_state(&self, joint: &Joint, path: &str, namer: &Namer) -> Checked<JointState> {
        let model = compile::model_of_coupling(joint, path)?;
        let mut found = Vec::new();
        for (k, name) in joint.joints.iter().enumerate() {
            let at = format!("{path}.joints[{k}]");
            let id = namer.joints.get(name).copied().ok_or_else(|| {
                let error = SceneError::new(&at, format!("there is no joint \"{name}\" between bodies"));
                match nearest(name, namer.joints.keys()) {
                    Some(close) => error.hint(format!("did you mean \"{close}\"?")),
                    None => error.hint("couple joints between bodies: a coupling has no coordinate of its own"),
                }
            })?;
            if found.iter().any(|(other, _)| *other == id) {
                return Err(
                    SceneError::new(at, format!("joint \"{name}\" is coupled with itself")).hint("name another joint")
                );
            }
            let state = self.joints.get(id).filter(|j| !j.is_coupling() && !j.drives.is_empty());
            let Some(state) = state else {
                return Err(SceneError::new(at, format!("joint \"{name}\" has no coordinate to couple"))
                    .hint("couple hinges, sliders, screws or cylindrical joints"));
            };
            found.push((id, state));
        }
        let number = |key: &str, value: Option<f64>, hint: &str| match value {
            Some(v) if v.is_finite() && v != 0.0 && v.abs() < 1e9 => Ok(v),
            Some(v) => Err(SceneError::new(format!("{path}.{key}"), format!("{v:?} is not a usable ratio")).hint(hint)),
            None => Err(SceneError::new(format!("{path}.{key}"), "missing").hint(hint)),
        };
        let factors = match joint.kind {
            JointKind::Gear => {
                vec![-number("ratio", joint.ratio, "second joint's motion per motion of the first")?, 1.0]
            }
            JointKind::Rack => vec![-number("radius", joint.radius, "metres of displacement per radian")?, 1.0],
            _ => vec![-0.5, -0.5, 1.0],
        };
        // a rack drives a displacement, everything else the joint's first coordinate
        let coordinate = |k: usize, state: &JointState| {
            let wants_length = joint.kind == JointKind::Rack && k == 1;
            let wants_angle = joint.kind == JointKind::Rack && k == 0;
            let fits = |c: &(&str, crate::joint::coordinate::CoordinateKind)| {
                !(wants_length && c.1.is_angle() || wants_angle && !c.1.is_angle())
            };
            state.model.coordinates.iter().position(fits)
        };
        let mut terms = Vec::new();
        let mut offset = 0.0;
        for (k, (id, state)) in found.iter().enumerate() {
            let Some(c) = coordinate(k, state) else {
                let what = if k == 0 { "an angle" } else { "a displacement" };
                return Err(SceneError::new(
                    format!("{path}.joints[{k}]"),
                    format!("joint \"{}\" has no {what}", state.name),
                ));
            };
            terms.push(CouplingTerm { joint: *id, coordinate: c, factor: factors[k] });
            offset += factors[k] * state.drives[c].value;
        }
        Ok(JointState {
            name: joint.name.as_str().into(),
            description: Arc::new(joint.clone()),
            a: None,
            b: None,
            model,
            drives: Box::default(),
            coupling: Some(Box::new(Coupling { terms, offset })),
            memory: Default::default(),
            scene_index: 0,
        })
    }

    fn namer(&self) -> Namer {
        Namer {
            bodies: self.bodies.iter().map(|(id, b)| (b.name.to_string(), id)).collect(),
            joints: self.joints.iter().map(|(id, j)| (j.name.to_string(), id)).collect(),
            ..Namer::default()
        }
    }

    /// Adds a body.
    pub fn add_body(&mut self, body: &Body) -> Checked<BodyId> {
        let mut namer = self.namer();
        let id = self.insert_body(body, "body", &mut namer).map_err(first)?;
        self.wake_all();
        Ok(id)
    }

    /// Adds a joint. Its bodies are closed onto it at once; if they cannot be, it is refused and nothing has changed.
    pub fn add_joint(&mut self, joint: &Joint) -> Checked<JointId> {
        let mut namer = self.namer();
        self.keeping_state(|world| {
            let id = world.insert_joint(joint, "joint", &mut namer)?;
            world.assemble_with(id)?;
            Ok(id)
        })
    }

    /// Adds a joint that a function defines, between frames on two bodies (`None`: the world). A frame without a reference has
    /// the body's own axes, turned the shortest way from z to its axis.
    pub fn add_black_box_joint(
        &mut self,
        name: &str,
        a: Option<(BodyId, Frame)>,
        b: Option<(BodyId, Frame)>,
        black_box: Arc<dyn BlackBox>,
    ) -> Checked<JointId> {
        let namer = self.namer();
        if namer.joints.contains_key(name) {
            return Err(SceneError::new("joint.name", format!("\"{name}\" is taken by another joint")));
        }
        let body_name = |side: &Option<(BodyId, Frame)>| match side {
            None => Ok(WORLD.to_string()),
            Some((id, _)) => self.body_name(*id).map(str::to_string).ok_or_else(|| gone("body")),
        };
        let mut joint = Joint::new(JointKind::Fixed, name, body_name(&a)?, body_name(&b)?);
        let frame = |side: &Option<(BodyId, Frame)>| {
            let mut frame = side.map_or(Frame::default(), |s| s.1);
            // the shortest turn from z to the axis carries x along: a frame of which nothing is said is the body's own
            let z = DVec3::from(frame.axis).try_normalize().unwrap_or(DVec3::Z);
            let x = DQuat::from_rotation_arc(DVec3::Z, z) * DVec3::X;
            frame.reference = frame.reference.or(Some(x.into()));
            frame
        };
        joint.frame_a = Some(frame(&a));
        joint.frame_b = Some(frame(&b));
        let mut state = self.joint_state(&joint, "joint", &namer)?;
        let body = |id: Option<BodyId>| id.and_then(|id| self.bodies.get(id));
        let place = |id: Option<BodyId>| body(id).map_or(crate::math::Placed::WORLD, BodyState::placed);
        let relative = state.model.relative(&place(state.a), &place(state.b));
        let held = Held::new(black_box, relative).map_err(|problem| {
            SceneError::new("joint", format!("black-box joint \"{name}\": {problem}"))
                .hint("the function must map every pose near the start to the nearest allowed one, smoothly, and an allowed one to itself")
        })?;
        state.model.hold_black_box(held);
        self.keeping_state(|world| {
            let id = world.joints.insert(state);
            world.graph_version += 1;
            world.assemble_with(id)?;
            Ok(id)
        })
    }

    /// Wakes all bodies and closes the joints after one of them is new. A problem is told of the joint that has it: of the new one as `joint`, of
    /// others by their name; limits that others exceeded before are not the new joint's matter.
    fn assemble_with(&mut self, new: JointId) -> Checked<()> {
        self.wake_all();
        let name = self.joint_name(new).unwrap_or_default().to_string();
        let path = |joint: &JointState| match *joint.name == *name {
            true => "joint".to_string(),
            false => format!("joint \"{}\"", joint.name),
        };
        let others = self.joints.iter().filter(|(id, _)| *id != new);
        let before: Vec<String> = others.flat_map(|(_, j)| j.limits_exceeded(&path(j))).map(|p| p.path).collect();
        let problems = self.assemble(path);
        problems.into_iter().find(|p| !before.contains(&p.path)).map_or(Ok(()), Err)
    }

    /// Runs a change and takes it back if it fails.
    fn keeping_state<T>(&mut self, change: impl FnOnce(&mut World) -> Checked<T>) -> Checked<T> {
        let before = self.snapshot();
        change(self).inspect_err(|_| self.restore(&before))
    }

    /// Removes a body and every joint on it. Returns whether it was there.
    pub fn remove_body(&mut self, id: BodyId) -> bool {
        if self.bodies.remove(id).is_none() {
            return false;
        }
        let attached: Vec<JointId> =
            self.joints.iter().filter(|(_, j)| j.a == Some(id) || j.b == Some(id)).map(|(id, _)| id).collect();
        for joint in attached {
            self.remove_joint(joint);
        }
        self.collisions.forget_body(id.slot());
        self.graph_version += 1;
        self.wake_all();
        true
    }

    /// Removes a joint and every coupling that uses it. Returns whether it was there.
    pub fn remove_joint(&mut self, id: JointId) -> bool {
        if self.joints.remove(id).is_none() {
            return false;
        }
        let uses = |j: &JointState| j.coupling.as_ref().is_some_and(|c| c.terms.iter().any(|t| t.joint == id));
        let couplings: Vec<JointId> = self.joints.iter().filter(|(_, j)| uses(j)).map(|(id, _)| id).collect();
        for coupling in couplings {
            self.remove_joint(coupling);
        }
        self.graph_version += 1;
        self.wake_all();
        true
    }

    /// Gives a body new mass properties, shapes, kind, damping and gravity scale; pose, velocity and joints stay.
    pub fn change_body(&mut self, id: BodyId, body: &Body) -> Checked<()> {
        let old = self.bodies.get(id).ok_or_else(|| gone("body"))?;
        let mut new = body_state(
            &Body { position: [0.0; 3], velocity: [0.0; 3], angular_velocity: [0.0; 3], ..body.clone() },
            "body",
        )
        .map_err(first)?;
        new.name.clone_from(&old.name);
        let (pose, twist) = (old.pose(), old.twist());
        new.set_pose(pose);
        if new.kind != BodyKind::Static {
            new.set_twist(twist);
        }
        let loses_hold = |j: &JointState| {
            let other = if j.a == Some(id) { j.b } else { j.a };
            (j.a == Some(id) || j.b == Some(id))
                && !other.and_then(|o| self.bodies.get(o)).is_some_and(BodyState::is_dynamic)
        };
        if new.kind != BodyKind::Dynamic && self.joints.iter().any(|(_, j)| !j.is_coupling() && loses_hold(j)) {
            return Err(SceneError::new(
                "body.kind",
                "a joint of this body would join two things that forces cannot move",
            )
            .hint("remove the joint first"));
        }
        let (from, to) = (old.mass, new.mass);
        for (_, joint) in self.joints.iter_mut() {
            let m = &mut joint.model;
            if joint.a == Some(id) {
                rebase(&from, &to, &mut m.anchor_a, &mut m.frame_a, &mut m.turn_a);
            }
            if joint.b == Some(id) {
                rebase(&from, &to, &mut m.anchor_b, &mut m.frame_b, &mut m.turn_b);
            }
        }
        if let Some(slot) = self.bodies.get_mut(id) {
            *slot = new;
        }
        self.graph_version += 1;
        self.wake_all();
        self.disturbed = true;
        self.forget_memory();
        Ok(())
    }

    /// Replaces a joint between bodies by another description, at the present poses.
    pub fn change_joint(&mut self, id: JointId, joint: &Joint) -> Checked<()> {
        let old = self.joints.get(id).ok_or_else(|| gone("joint"))?;
        let mut namer = self.namer();
        namer.joints.remove(&*old.name);
        let mut new = self.joint_state(joint, "joint", &namer)?;
        if new.name.is_empty() {
            new.name.clone_from(&old.name);
        }
        if old.is_coupling() != new.is_coupling() || (!new.is_coupling() && self.is_coupled(id)) {
            return Err(
                SceneError::new("joint.type", "a coupling depends on this joint").hint("remove and add instead")
            );
        }
        self.keeping_state(|world| {
            if let Some(slot) = world.joints.get_mut(id) {
                *slot = new;
            }
            world.graph_version += 1;
            world.forget_memory();
            world.assemble_with(id)
        })
    }

    fn is_coupled(&self, id: JointId) -> bool {
        self.joints.iter().any(|(_, j)| j.coupling.as_ref().is_some_and(|c| c.terms.iter().any(|t| t.joint == id)))
    }

    /// Sets gravity, m/s².
    pub fn set_gravity(&mut self, gravity: [f64; 3]) -> Checked<()> {
        self.gravity = bounded("gravity", gravity.into(), 1e6, "m/s²")?;
        self.wake_all();
        Ok(())
    }

    /// A body to be changed, awake.
    fn body_mut(&mut self, id: BodyId) -> Checked<&mut BodyState> {
        self.wake(id);
        self.bodies.get_mut(id).ok_or_else(|| gone("body"))
    }

    /// Puts a body somewhere else. The joints of its mechanism are closed again before the next step, which moves other bodies too.
    pub fn set_pose(&mut self, id: BodyId, pose: Pose) -> Checked<()> {
        let q = pose.orientation;
        let position = bounded("pose.position", pose.position, FARTHEST, "m")?;
        let orientation = quaternion("pose.orientation", [q.w, q.x, q.y, q.z])?;
        let body = self.body_mut(id)?;
        let twist = body.twist();
        body.set_pose(Pose { position, orientation });
        body.set_twist(twist);
        self.posed = true;
        // what it bore has lost its support
        self.wake_all();
        self.disturbed = true;
        Ok(())
    }

    /// Sets a body's velocity; a kinematic body moves with it until told otherwise.
    pub fn set_velocity(&mut self, id: BodyId, twist: Twist) -> Checked<()> {
        let linear = bounded("velocity.linear", twist.linear, FASTEST, "m/s")?;
        let angular = bounded("velocity.angular", twist.angular, FASTEST, "rad/s")?;
        let body = self.body_mut(id)?;
        if body.kind == BodyKind::Static {
            return Err(
                SceneError::new("velocity", format!("body \"{}\" is static", body.name)).hint("make it kinematic")
            );
        }
        body.set_twist(Twist { linear, angular });
        body.lag = 0.0;
        self.disturbed = true;
        Ok(())
    }

    /// Sets the factor on gravity for one body.
    pub fn set_gravity_scale(&mut self, id: BodyId, scale: f64) -> Checked<()> {
        let scale = scalar("gravity_scale", scale, None)?;
        self.body_mut(id)?.gravity_scale = scale;
        Ok(())
    }

    /// Sets the rates at which a body's velocities decay, 1/s.
    pub fn set_damping(&mut self, id: BodyId, linear: f64, angular: f64) -> Checked<()> {
        let linear = scalar("linear_damping", linear, DAMPING_UNIT)?;
        let angular = scalar("angular_damping", angular, DAMPING_UNIT)?;
        let body = self.body_mut(id)?;
        (body.linear_damping, body.angular_damping) = (linear, angular);
        Ok(())
    }

    /// Pushes a body with a force (N) at a world point, during the next step.
    pub fn apply_force(&mut self, id: BodyId, force: DVec3, at: DVec3) -> Checked<()> {
        let force = bounded("force", force, STRONGEST, "N")?;
        let at = bounded("at", at, FARTHEST, "m")?;
        let body = self.body_mut(id)?;
        body.force += force;
        body.torque += (at - body.x).cross(force);
        Ok(())
    }

    /// Pushes a body with a force (N) at its centre of mass, during the next step.
    pub fn apply_central_force(&mut self, id: BodyId, force: DVec3) -> Checked<()> {
        let force = bounded("force", force, STRONGEST, "N")?;
        self.body_mut(id)?.force += force;
        Ok(())
    }

    /// Turns a body with a torque (N m), during the next step.
    pub fn apply_torque(&mut self, id: BodyId, torque: DVec3) -> Checked<()> {
        let torque = bounded("torque", torque, STRONGEST, "N m")?;
        self.body_mut(id)?.torque += torque;
        Ok(())
    }

    /// Strikes a body with an impulse (N s) at a world point; its mechanism feels it when the next step begins.
    pub fn apply_impulse(&mut self, id: BodyId, impulse: DVec3, at: DVec3) -> Checked<()> {
        let impulse = bounded("impulse", impulse, STRONGEST, "N s")?;
        let at = bounded("at", at, FARTHEST, "m")?;
        let body = self.body_mut(id)?;
        if body.is_dynamic() {
            let v = bounded("impulse", body.v + impulse / body.mass.mass, FASTEST, "m/s")?;
            let turn = body.w + angular_response(body, (at - body.x).cross(impulse));
            let w = bounded("impulse", turn, FASTEST, "rad/s")?;
            (body.v, body.w) = (v, w);
            self.disturbed = true;
        }
        Ok(())
    }

    /// Strikes a body with an angular impulse (N m s).
    pub fn apply_angular_impulse(&mut self, id: BodyId, impulse: DVec3) -> Checked<()> {
        let impulse = bounded("impulse", impulse, STRONGEST, "N m s")?;
        let body = self.body_mut(id)?;
        if body.is_dynamic() {
            body.w = bounded("impulse", body.w + angular_response(body, impulse), FASTEST, "rad/s")?;
            self.disturbed = true;
        }
        Ok(())
    }

    fn drive_mut(&mut self, id: JointId, coordinate: &str) -> Checked<&mut Drive> {
        let joint = self.joints.get_mut(id).ok_or_else(|| gone("joint"))?;
        let known = joint.model.coordinates;
        match known.iter().position(|c| c.0 == coordinate) {
            Some(k) => Ok(&mut joint.drives[k]),
            None => {
                let names = known.iter().map(|c| c.0).collect::<Vec<_>>().join(", ");
                Err(SceneError::new("coordinate", format!("joint \"{}\" has no `{coordinate}`", joint.name))
                    .hint(if names.is_empty() { "it has none".into() } else { format!("it has: {names}") }))
            }
        }
    }

    /// Changes what acts on a coordinate; the rows it needs may change with it.
    fn change_drive(&mut self, id: JointId, coordinate: &str, change: impl FnOnce(&mut Coordinate)) -> Checked<()> {
        let old = self.drive_mut(id, coordinate)?.clone();
        let mut description = Coordinate {
            of: Some(coordinate.to_string()),
            limit: old.limit,
            friction: old.friction,
            damping: old.damping,
            spring: old.spring,
            motor: old.motor,
        };
        change(&mut description);
        let kind = self.joints.get(id).map_or(JointKind::Fixed, |j| j.description.kind);
        let checked = compile::drives(kind, std::slice::from_ref(&description), "joint")?;
        let index = checked.iter().position(|d| *d != Drive::default());
        let new = index.map_or_else(Drive::default, |k| checked[k].clone());
        let new = Drive { value: old.value, integral: old.integral, forces: old.forces, mean: old.mean, ..new };
        if let (true, Some(joint)) = (new.limit != old.limit, self.joints.get(id)) {
            let kind = joint.model.coordinates.iter().find(|c| c.0 == coordinate).map(|c| c.1);
            if let Some(problem) = kind.and_then(|kind| new.limit_exceeded(coordinate, kind)) {
                return Err(SceneError::new("limit", format!("joint \"{}\": {problem}", joint.name))
                    .hint("move it inside first, by a motor or set_pose, or widen the limit"));
            }
        }
        let reshaped = new.shape() != old.shape();
        let soft_added = usize::from(new.is_soft()) > usize::from(old.is_soft());
        if let (true, Some(joint)) = (soft_added, self.joints.get(id)) {
            let soft = joint.drives.iter().filter(|d| d.is_soft()).count();
            if joint.model.row_count() + soft + 1 > crate::joint::MAX_ROWS {
                return Err(SceneError::new("joint.coordinates", "more than six rows on one joint")
                    .hint("put the spring on a second joint between the same bodies"));
            }
        }
        *self.drive_mut(id, coordinate)? = new;
        self.wake_all();
        if let Some(joint) = self.joints.get_mut(id) {
            let known = joint.model.coordinates;
            let same = |c: &Coordinate| c.of.as_deref().or(known.first().map(|k| k.0)) == Some(coordinate);
            let described = &mut Arc::make_mut(&mut joint.description).coordinates;
            described.retain(|c| !same(c));
            described.push(description);
        }
        if reshaped {
            self.graph_version += 1;
            self.forget_memory();
        }
        Ok(())
    }

    /// Sets, changes or removes the motor of a joint coordinate.
    pub fn set_motor(&mut self, id: JointId, coordinate: &str, motor: Option<Motor>) -> Checked<()> {
        self.change_drive(id, coordinate, |c| c.motor = motor)
    }

    /// Sets, changes or removes the limit of a joint coordinate. A limit that excludes the present value is refused: it is hard,
    /// and would throw the bodies there within one step.
    pub fn set_limit(&mut self, id: JointId, coordinate: &str, limit: Option<Limit>) -> Checked<()> {
        self.change_drive(id, coordinate, |c| c.limit = limit)
    }

    /// Sets, changes or removes the spring of a joint coordinate.
    pub fn set_spring(&mut self, id: JointId, coordinate: &str, spring: Option<Spring>) -> Checked<()> {
        self.change_drive(id, coordinate, |c| c.spring = spring)
    }

    /// Sets dry friction (N or N m) and viscous damping (N s/m or N m s/rad) of a joint coordinate.
    pub fn set_friction(&mut self, id: JointId, coordinate: &str, dry: f64, viscous: f64) -> Checked<()> {
        self.change_drive(id, coordinate, |c| (c.friction, c.damping) = (dry, viscous))
    }
}

fn angular_response(body: &BodyState, torque: DVec3) -> DVec3 {
    body.q * ((body.q.inverse() * torque) / body.mass.moments)
}

/// The first of all that is wrong, for calls that tell of one.
fn first(problems: Vec<SceneError>) -> SceneError {
    problems.into_iter().next().unwrap_or_else(|| SceneError::new("body", "cannot be added"))
}

fn gone(what: &str) -> SceneError {
    SceneError::new(what, format!("this {what} is no longer in the world"))
}

/// Expresses an anchor and frame in the principal frame of new mass properties.
fn rebase(from: &MassProperties, to: &MassProperties, anchor: &mut DVec3, frame: &mut DMat3, turn: &mut DQuat) {
    let in_body = from.axes * *anchor + from.center;
    *anchor = to.axes.inverse() * (in_body - to.center);
    let turned = to.axes.inverse() * from.axes;
    *frame = DMat3::from_quat(turned) * *frame;
    *turn = (turned * *turn).normalize();
}

impl JointModel {
    pub(crate) fn without_bodies(kind: JointKind) -> JointModel {
        JointModel::new(kind, DVec3::ZERO, DMat3::IDENTITY, DVec3::ZERO, DMat3::IDENTITY)
    }
}
