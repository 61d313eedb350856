//! Looking at a world: poses, energies, coordinates, reactions, counts. Nothing here changes anything.

use crate::body::BodyState;
use crate::collide::shape::{Collider, Form};
use crate::handle::{BodyId, JointId};
use crate::joint::rows::Row;
use crate::joint::{JointState, MAX_ROWS, Motion};
use crate::math::{Placed, Pose, Twist, Wrench};
use crate::scene::{BodyKind, Geometry, Shape};
use crate::step::Scratch;
use crate::world::World;
use glam::{DMat3, DQuat, DVec3};

/// Energies of a world, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Of motion.
    pub kinetic: f64,
    /// Of height in gravity, zero at the world's origin.
    pub potential: f64,
    /// In the springs of joints.
    pub elastic: f64,
}

impl Energy {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential + self.elastic
    }
}

/// Momentum of all dynamic bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Momentum {
    /// kg m/s.
    pub linear: DVec3,
    /// About the world's origin, kg m²/s.
    pub angular: DVec3,
}

/// What a joint transmits: the wrench on b at b's anchor, world axes. a feels the opposite.
///
/// It is the mean over the last step, that is impulse by time, over all the substeps that were taken. What a joint holds along
/// directions that turn with its bodies is averaged along those directions and shown where they point at the end of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reaction {
    /// Of the joint as a whole: what it holds and what drives it.
    pub wrench: Wrench,
    /// Whether the force is determined: false where redundant joints share a load, and this is one way of sharing it.
    pub unique: bool,
}

/// A joint coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoordinateReading {
    /// Its name.
    pub name: &'static str,
    /// rad (all turns counted) or m.
    pub value: f64,
    /// rad/s or m/s.
    pub velocity: f64,
    /// Whether it is an angle.
    pub is_angle: bool,
    /// Force of its limit, N or N m, mean over the last step.
    pub limit_force: f64,
    /// Force of dry friction.
    pub friction_force: f64,
    /// Force of a velocity motor or force-limited servo.
    pub motor_force: f64,
}

/// How the joints were closed at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Assembly {
    /// Newton iterations, the most of any mechanism.
    pub iterations: u32,
    /// Largest motion of a centre of mass, m.
    pub largest_motion_m: f64,
    /// Largest rotation of a body, rad.
    pub largest_turn_rad: f64,
    /// Largest gap before, m or rad.
    pub largest_gap_m: f64,
}

impl Assembly {
    pub(crate) fn merge(&mut self, other: &Assembly) {
        self.iterations = self.iterations.max(other.iterations);
        self.largest_motion_m = self.largest_motion_m.max(other.largest_motion_m);
        self.largest_turn_rad = self.largest_turn_rad.max(other.largest_turn_rad);
        self.largest_gap_m = self.largest_gap_m.max(other.largest_gap_m);
    }
}

/// What a world is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// All bodies.
    pub bodies: usize,
    /// Those that forces move.
    pub dynamic_bodies: usize,
    /// All joints and couplings.
    pub joints: usize,
    /// Scalar rows that joints and couplings hold.
    pub constraint_rows: usize,
    /// Rows that others imply at the present pose.
    pub redundant_rows: usize,
    /// Independent closed loops, through the ground too.
    pub loops: usize,
    /// Freedoms left at the present pose.
    pub degrees_of_freedom: usize,
    /// Groups of bodies connected by joints.
    pub mechanisms: usize,
    /// Numbers in the system matrices of all mechanisms: blocks on and below the diagonal.
    pub matrix_entries: usize,
    /// Numbers in their factors; what is more than in the matrices is fill.
    pub factor_entries: usize,
}

impl World {
    /// All bodies, in the order of their slots.
    pub fn body_ids(&self) -> impl Iterator<Item = BodyId> + '_ {
        self.bodies.iter().map(|(id, _)| id)
    }

    /// All joints and couplings.
    pub fn joint_ids(&self) -> impl Iterator<Item = JointId> + '_ {
        self.joints.iter().map(|(id, _)| id)
    }

    /// The body of that name.
    pub fn body(&self, name: &str) -> Option<BodyId> {
        self.bodies.iter().find(|(_, b)| *b.name == *name).map(|(id, _)| id)
    }

    /// The joint of that name.
    pub fn joint(&self, name: &str) -> Option<JointId> {
        self.joints.iter().find(|(_, j)| *j.name == *name).map(|(id, _)| id)
    }

    /// A body's name.
    pub fn body_name(&self, id: BodyId) -> Option<&str> {
        self.bodies.get(id).map(|b| &*b.name)
    }

    /// A joint's name.
    pub fn joint_name(&self, id: JointId) -> Option<&str> {
        self.joints.get(id).map(|j| &*j.name)
    }

    /// How a body moves.
    pub fn body_kind(&self, id: BodyId) -> Option<BodyKind> {
        self.bodies.get(id).map(|b| b.kind)
    }

    /// A body's shapes.
    pub fn shapes(&self, id: BodyId) -> Option<&[Shape]> {
        self.bodies.get(id).map(|b| &*b.shapes)
    }

    /// What a body collides as: its shapes, a mesh on a moving body as the convex pieces that it was cut into.
    ///
    /// Whether anything collides at all is [`World::collides`].
    pub fn collision_shapes(&self, id: BodyId) -> Option<Vec<Shape>> {
        let body = self.bodies.get(id)?;
        let piece = |collider: &Collider| {
            let shape = body.shapes.get(collider.shape as usize)?;
            let geometry = match &collider.form {
                Form::Hull(hull) => Geometry::ConvexHull { points: hull.points.iter().map(DVec3::to_array).collect() },
                _ => shape.geometry.clone(),
            };
            Some(Shape { geometry, ..shape.clone() })
        };
        Some(body.colliders.iter().filter_map(piece).collect())
    }

    /// Whether bodies collide in this world; a scene can switch that off (`collisions = false`).
    pub fn collides(&self) -> bool {
        self.collides
    }

    /// What there is to know about the shapes of bodies, such as a mesh that collides as convex pieces.
    pub fn shape_warnings(&self) -> impl Iterator<Item = &str> {
        self.bodies.iter().flat_map(|(_, b)| b.warnings.iter()).map(String::as_str)
    }

    /// A body's mass, kg; `None` if forces do not move it.
    pub fn mass(&self, id: BodyId) -> Option<f64> {
        self.bodies.get(id).filter(|b| b.is_dynamic()).map(|b| b.mass.mass)
    }

    /// A body's principal moments of inertia about its centre of mass, kg m², and the turn from the principal axes to its frame;
    /// `None` if forces do not move it.
    pub fn principal_inertia(&self, id: BodyId) -> Option<(DVec3, DQuat)> {
        self.bodies.get(id).filter(|b| b.is_dynamic()).map(|b| (b.mass.moments, b.mass.axes))
    }

    /// Where a body's frame is.
    pub fn pose(&self, id: BodyId) -> Option<Pose> {
        self.bodies.get(id).map(BodyState::pose)
    }

    /// A body's centre of mass in the world, m.
    pub fn center_of_mass(&self, id: BodyId) -> Option<DVec3> {
        self.bodies.get(id).map(|b| b.x)
    }

    /// How a body moves: the velocity of its origin and its angular velocity.
    pub fn velocity(&self, id: BodyId) -> Option<Twist> {
        self.bodies.get(id).map(BodyState::twist)
    }

    /// How a dynamic body by itself, without its joints, answers an impulse at a world point: the change of that point's
    /// velocity per impulse, 1/kg.
    pub fn point_mobility(&self, id: BodyId, at: DVec3) -> Option<DMat3> {
        let body = self.bodies.get(id).filter(|b| b.is_dynamic())?;
        let lever = at - body.x;
        let column = |impulse: DVec3| {
            let spin = body.q * ((body.q.inverse() * lever.cross(impulse)) / body.mass.moments);
            impulse / body.mass.mass + spin.cross(lever)
        };
        Some(DMat3::from_cols(column(DVec3::X), column(DVec3::Y), column(DVec3::Z)))
    }

    /// The bodies a joint connects; `None` inside stands for the world.
    pub fn joint_bodies(&self, id: JointId) -> Option<(Option<BodyId>, Option<BodyId>)> {
        self.joints.get(id).map(|j| (j.a, j.b))
    }

    /// A joint's anchors on a and on b, in the world.
    pub fn joint_anchors(&self, id: JointId) -> Option<(DVec3, DVec3)> {
        let joint = self.joints.get(id).filter(|j| !j.is_coupling())?;
        let (a, b) = self.placed(joint);
        Some((a.x + a.r * joint.model.anchor_a, b.x + b.r * joint.model.anchor_b))
    }

    /// A joint's frames on a and on b, in the world: at its anchors, z along its axis.
    pub fn joint_frames(&self, id: JointId) -> Option<(Pose, Pose)> {
        let joint = self.joints.get(id).filter(|j| !j.is_coupling())?;
        let ((a, b), m) = (self.placed(joint), &joint.model);
        let frame =
            |body: &Placed, anchor, turn| Pose { position: body.x + body.r * anchor, orientation: body.q * turn };
        Some((frame(&a, m.anchor_a, m.turn_a), frame(&b, m.anchor_b, m.turn_b)))
    }

    /// The description a joint was made from.
    pub fn joint_description(&self, id: JointId) -> Option<&crate::scene::Joint> {
        self.joints.get(id).map(|j| &*j.description)
    }

    /// Gravity, m/s².
    pub fn gravity(&self) -> DVec3 {
        self.gravity
    }

    /// How the start pose was closed.
    pub fn assembly(&self) -> Assembly {
        self.assembly
    }

    pub(crate) fn placed(&self, joint: &JointState) -> (Placed, Placed) {
        let place = |id: Option<BodyId>| id.and_then(|id| self.bodies.get(id)).map_or(Placed::WORLD, BodyState::placed);
        (place(joint.a), place(joint.b))
    }

    fn motions(&self, joint: &JointState) -> (Motion, Motion) {
        let motion = |id: Option<BodyId>| {
            id.and_then(|id| self.bodies.get(id)).map_or(Motion::default(), |b| Motion { v: b.v, w: b.w })
        };
        (motion(joint.a), motion(joint.b))
    }

    /// The joint's coordinates.
    pub fn coordinates(&self, id: JointId) -> Option<Vec<CoordinateReading>> {
        let joint = self.joints.get(id)?;
        let ((a, b), (ua, ub)) = (self.placed(joint), self.motions(joint));
        let reading = |(&(name, kind), drive): (&(&'static str, _), &crate::joint::drive::Drive)| {
            let kind: crate::joint::coordinate::CoordinateKind = kind;
            CoordinateReading {
                name,
                value: kind.unwrapped(&joint.model, &a, &b, drive.value),
                velocity: kind.row(&joint.model, &a, &b).velocity(&ua, &ub),
                is_angle: kind.is_angle(),
                limit_force: drive.mean.limit,
                friction_force: drive.mean.friction,
                motor_force: drive.mean.motor,
            }
        };
        Some(joint.model.coordinates.iter().zip(&joint.drives).map(reading).collect())
    }

    /// One coordinate's value, rad or m.
    pub fn coordinate(&self, id: JointId, name: &str) -> Option<f64> {
        let joint = self.joints.get(id)?;
        let k = joint.model.coordinates.iter().position(|c| c.0 == name)?;
        let (a, b) = self.placed(joint);
        Some(joint.model.coordinates[k].1.unwrapped(&joint.model, &a, &b, joint.drives[k].value))
    }

    /// How far a joint is open, m and rad.
    pub fn joint_error(&self, id: JointId) -> Option<(f64, f64)> {
        let joint = self.joints.get(id)?;
        if let Some(coupling) = &joint.coupling {
            let value = |t: &crate::joint::CouplingTerm| {
                let j = self.joints.get(t.joint)?;
                let (a, b) = self.placed(j);
                let kind = j.model.coordinates[t.coordinate].1;
                Some(t.factor * kind.unwrapped(&j.model, &a, &b, j.drives[t.coordinate].value))
            };
            let sum: f64 = coupling.terms.iter().filter_map(value).sum();
            return Some(((sum - coupling.offset).abs(), 0.0));
        }
        let (a, b) = self.placed(joint);
        let mut error = [0.0; MAX_ROWS];
        let turn = joint.drives.first().map_or(0.0, |d| d.value);
        joint.model.error(&a, &b, turn, &mut error);
        let (mut m, mut rad) = (0.0_f64, 0.0_f64);
        for (r, e) in error.iter().enumerate().take(joint.model.row_count()) {
            let largest = if joint.model.row_is_angle(r) { &mut rad } else { &mut m };
            *largest = largest.max(e.abs());
        }
        Some((m, rad))
    }

    /// What a joint transmitted in the last step. `None` for couplings, which act through the joints they couple.
    pub fn reaction(&self, id: JointId) -> Option<Reaction> {
        let joint = self.joints.get(id).filter(|j| !j.is_coupling())?;
        let (a, b) = self.placed(joint);
        let m = &joint.model;
        let mut rows = [Row::default(); MAX_ROWS];
        m.rows(&a, &b, &mut rows);
        let hard = m.row_count();
        let anchor = b.r * m.anchor_b;
        let mut wrench = Wrench::default();
        let mut add = |row: &Row, force: f64| {
            wrench.force += row.lin * force;
            // rows act about the centre of mass: carry the torque over to the anchor
            wrench.torque += (row.ang_b - anchor.cross(row.lin)) * force;
        };
        for r in 0..hard {
            add(&rows[r], joint.memory.mean_force[r]);
        }
        let mut soft_row = hard;
        for (drive, (_, kind)) in joint.drives.iter().zip(m.coordinates) {
            let bounded = drive.mean.limit + drive.mean.friction + drive.mean.motor + drive.force();
            let mut force = bounded;
            if drive.is_soft() && soft_row < MAX_ROWS {
                force += joint.memory.mean_force[soft_row];
                soft_row += 1;
            }
            if force != 0.0 {
                add(&kind.row(m, &a, &b), force);
            }
        }
        Some(Reaction { wrench, unique: !joint.memory.not_unique })
    }

    /// Energies.
    pub fn energy(&self) -> Energy {
        let mut energy = Energy::default();
        for (_, b) in self.bodies.iter().filter(|(_, b)| b.is_dynamic()) {
            energy.kinetic += b.kinetic_energy();
            energy.potential -= b.mass.mass * b.gravity_scale * self.gravity.dot(b.x);
        }
        energy.elastic = self.joints.iter().flat_map(|(_, j)| &j.drives).map(|d| d.energy()).sum();
        for of_particles in self.particles.iter().map(|s| s.system.energy()) {
            energy.kinetic += of_particles.kinetic;
            energy.potential += of_particles.potential;
            energy.elastic += of_particles.elastic;
        }
        energy
    }

    /// Momentum of all dynamic bodies.
    pub fn momentum(&self) -> Momentum {
        let mut momentum = Momentum::default();
        for (_, b) in self.bodies.iter().filter(|(_, b)| b.is_dynamic()) {
            let linear = b.v * b.mass.mass;
            let spin = b.q * (b.mass.moments * (b.q.inverse() * b.w));
            momentum.linear += linear;
            momentum.angular += b.x.cross(linear) + spin;
        }
        momentum
    }

    /// A hash of time, poses and velocities: equal for equal bits.
    pub fn state_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a over 64-bit words
        let mut add = |x: f64| {
            hash ^= x.to_bits();
            hash = hash.wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        };
        add(self.time);
        for (_, b) in self.bodies.iter() {
            b.x.to_array()
                .into_iter()
                .chain(b.q.to_array())
                .chain(b.v.to_array())
                .chain(b.w.to_array())
                .for_each(&mut add);
        }
        for (_, j) in self.joints.iter() {
            j.drives.iter().for_each(|d| add(d.value));
        }
        for s in &self.particles {
            let (x, v) = (s.system.positions(), s.system.velocities());
            x.iter().chain(v).flat_map(|p| p.to_array()).for_each(&mut add);
        }
        hash
    }

    /// Counts bodies, rows, loops and freedoms at the present pose.
    pub fn census(&self) -> Census {
        let mut scratch = Scratch::default();
        scratch.lay_out(self);
        let dynamic = self.bodies.iter().filter(|(_, b)| b.is_dynamic()).count();
        let mut census = Census {
            bodies: self.bodies.len(),
            dynamic_bodies: dynamic,
            joints: self.joints.len(),
            ..Census::default()
        };
        for mechanism in scratch.mechanisms_mut() {
            mechanism.gather(&self.bodies, &self.joints, self.gravity);
            mechanism.fit_velocities();
            census.mechanisms += 1;
            census.redundant_rows += mechanism.redundant_rows();
            census.matrix_entries += mechanism.layout.matrix_entries;
            census.factor_entries += mechanism.layout.factor.entries();
            census.constraint_rows += mechanism.constraint_rows();
            census.loops += mechanism.layout.loops();
        }
        let held = census.constraint_rows - census.redundant_rows;
        census.degrees_of_freedom = (6 * dynamic).saturating_sub(held);
        census
    }
}
