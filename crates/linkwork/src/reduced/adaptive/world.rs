//! A tree of a world with all that acts in it: forces of motors, limits, shapes on planes.

use super::ground::{Corner, Plane, corners_of};
use super::{Activity, Adaptive, CannotAdapt, Limit};
use crate::body::BodyState;
use crate::collide::filters_agree;
use crate::collide::shape::Collider;
use crate::handle::BodyId;
use crate::joint::JointState;
use crate::reduced::kinematics::{State, set_state, state_of};
use crate::reduced::model::{Model, NONE};
use crate::scene::{BodyKind, Motor};
use crate::world::World;

impl Adaptive {
    /// The dynamic bodies of a world as a tree of which only a part moves: joints of one rate with their limits and constant
    /// forces, and shapes that touch the planes of standing bodies, with friction and restitution. Links do not touch each other.
    ///
    /// ```
    /// use linkwork::World;
    /// use linkwork::reduced::{Activity, Adaptive};
    /// use linkwork::scene::{Body, Geometry, Joint, Scene, WORLD};
    ///
    /// // two hundred links hang straight down, and the last is struck
    /// let mut scene = Scene::new("chain");
    /// let mut above = WORLD.to_string();
    /// for k in 0..200 {
    ///     let (name, z) = (format!("link {k}"), -0.1 * k as f64);
    ///     let link = Body::new(&name).at([0.0, 0.0, z - 0.05]).with_mass(0.1);
    ///     scene.body(link.shape(Geometry::Capsule { radius: 0.01, length: 0.1 }));
    ///     scene.joint(Joint::hinge(format!("pin {k}"), &above, &name, [0.0, 0.0, z], [0.0, 1.0, 0.0]));
    ///     above = name;
    /// }
    /// let world = World::build(&scene)?;
    /// let mut chain = Adaptive::of(&world, Activity { most: 20, tolerance: 0.5, ..Activity::default() })?;
    /// let end = chain.pose(199).unwrap().position;
    /// chain.strike(199, end, [0.01, 0.0, 0.0].into());
    /// for _ in 0..100 {
    ///     let done = chain.step(1e-3)?;
    ///     assert!(done.active <= 21);
    /// }
    /// assert!(chain.pose(199).unwrap().position.x > 0.001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// What is not known here is refused by name: loops, couplings, ropes, springs, damping, dry friction, servos and velocity
    /// motors, limits of joints of several rates, moving or curved ground, cylinders and cones where there is ground, particles.
    pub fn of(world: &World, activity: Activity) -> Result<Adaptive, CannotAdapt> {
        let model = Model::of(world);
        refuse_what_is_not_known(world, &model)?;
        let state = state_of(&model, world, None);
        let Acting { force, limits } = acting(world, &model, &state)?;
        let planes = if world.collides { planes(world)? } else { Vec::new() };
        let corners = if planes.is_empty() { vec![Vec::new(); model.bodies()] } else { corners(world, &model)? };
        let mut tree = Adaptive::with_corners(&model, &state, &force, activity, corners)?;
        tree.planes = planes;
        for (index, limit) in limits {
            tree.bound(index, limit)?;
        }
        for index in 0..model.bodies() {
            let joint = model.joint(index).and_then(|id| world.joints.get(id));
            let fixed = joint.filter(|_| model.links[index].parent == NONE);
            let own = model.body(index);
            tree.fixed_to[index] = fixed.and_then(|joint| if joint.a == own { joint.b } else { joint.a });
        }
        Ok(tree)
    }

    /// Gives a world, of which the tree was made, the present poses and velocities, and lets it be later by a time, s. Costs time
    /// by the number of bodies.
    pub fn show(&self, world: &mut World, model: &Model, later: f64) {
        set_state(model, world, &self.state());
        world.end_step(later);
    }
}

/// Two bodies that move and would touch each other where they meet, which adaptive dynamics do not know: they would pass through
/// each other. `None` if groups, masks and joints keep all of them apart.
pub fn would_touch(world: &World) -> Option<(BodyId, BodyId)> {
    if !world.collides {
        return None;
    }
    let shapes: Vec<_> = world
        .bodies
        .iter()
        .filter(|(_, body)| body.is_dynamic())
        .flat_map(|(id, body)| body.colliders.iter().filter(|c| !c.sensor).map(move |c| (id, (c.group, c.mask))))
        .collect();
    let mut classes: Vec<(u32, u32)> = shapes.iter().map(|(_, class)| *class).collect();
    classes.sort_unstable();
    classes.dedup();
    if !classes.iter().any(|a| classes.iter().any(|b| filters_agree(*a, *b))) {
        return None;
    }
    let jointed: Vec<_> = world.joints.iter().filter_map(|(_, j)| Some((j.a?, j.b?))).collect();
    let apart: std::collections::BTreeSet<_> = jointed.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
    shapes.iter().enumerate().find_map(|(k, (a, of_a))| {
        shapes[k + 1..]
            .iter()
            .find(|(b, of_b)| a != b && filters_agree(*of_a, *of_b) && !apart.contains(&(*a.min(b), *a.max(b))))
            .map(|(b, _)| (*a, *b))
    })
}

fn unsupported<T>(what: String) -> Result<T, CannotAdapt> {
    Err(CannotAdapt::Unsupported { what })
}

fn refuse_what_is_not_known(world: &World, model: &Model) -> Result<(), CannotAdapt> {
    if !world.particles.is_empty() {
        return unsupported("the world has particles".into());
    }
    let mut in_tree: Vec<_> = (0..model.bodies()).filter_map(|index| model.joint(index)).collect();
    in_tree.sort();
    for (id, joint) in world.joints.iter() {
        let moves = [joint.a, joint.b]
            .into_iter()
            .flatten()
            .any(|body| world.bodies.get(body).is_some_and(BodyState::is_dynamic));
        if moves && in_tree.binary_search(&id).is_err() {
            return unsupported(format!("joint \"{}\" closes a loop or couples other joints", joint.name));
        }
        if moves && world.collides && joint.description.collide {
            return unsupported(format!("joint \"{}\" lets its bodies touch each other (collide = true)", joint.name));
        }
    }
    for (_, body) in world.bodies.iter() {
        if body.is_dynamic() && (body.linear_damping > 0.0 || body.angular_damping > 0.0) {
            return unsupported(format!("body \"{}\" has damping", body.name));
        }
        if body.kind == BodyKind::Kinematic {
            return unsupported(format!("body \"{}\" is moved by the user", body.name));
        }
    }
    Ok(())
}

/// What acts in joints: constant forces by rate, and limits by link.
struct Acting {
    force: Vec<f64>,
    limits: Vec<(usize, Limit)>,
}

fn acting(world: &World, model: &Model, state: &State) -> Result<Acting, CannotAdapt> {
    let (mut force, mut limits) = (vec![0.0; model.rates()], Vec::new());
    for index in 0..model.bodies() {
        let Some(joint) = model.joint(index).and_then(|id| world.joints.get(id)) else { continue };
        let single = model.links[index].rates == 1;
        for (coordinate, drive) in joint.drives.iter().enumerate() {
            let named = |what: &str| unsupported(format!("{} of joint \"{}\"", what, joint.name));
            if drive.friction > 0.0 || drive.is_soft() {
                return named("the spring, damping, dry friction or servo");
            }
            let first = single && coordinate == 0;
            match drive.motor {
                None => {}
                Some(Motor::Force { value }) if first => force[model.links[index].v as usize] = value,
                Some(_) => return named("the motor"),
            }
            if let Some(limit) = drive.limit {
                if !first {
                    return named("a limit on one of several coordinates");
                }
                limits.push((index, shifted(joint, limit, state.q[model.links[index].q as usize])));
            }
        }
    }
    Ok(Acting { force, limits })
}

/// A limit as one of a position, which counts turns from where it is.
fn shifted(joint: &JointState, limit: crate::scene::Limit, q: f64) -> Limit {
    let turns = joint.drives[0].value - q;
    Limit {
        min: limit.min.map_or(f64::NEG_INFINITY, |min| min - turns),
        max: limit.max.map_or(f64::INFINITY, |max| max - turns),
        restitution: limit.restitution,
    }
}

fn planes(world: &World) -> Result<Vec<Plane>, CannotAdapt> {
    let mut planes = Vec::new();
    for (id, body) in world.bodies.iter().filter(|(_, body)| body.kind == BodyKind::Static) {
        for collider in body.colliders.iter().filter(|collider| !collider.sensor) {
            refuse_rolling(body, collider)?;
            match Plane::of(collider, &body.placed(), id) {
                Some(plane) => planes.push(plane),
                None => return unsupported(format!("body \"{}\" stands and has a shape that is no plane", body.name)),
            }
        }
    }
    Ok(planes)
}

fn corners(world: &World, model: &Model) -> Result<Vec<Vec<Corner>>, CannotAdapt> {
    let mut corners = vec![Vec::new(); model.bodies()];
    for (index, own) in corners.iter_mut().enumerate() {
        let Some(body) = model.body(index).and_then(|id| world.bodies.get(id)) else { continue };
        for collider in body.colliders.iter().filter(|collider| !collider.sensor) {
            match corners_of(collider) {
                Some(found) => own.extend(found),
                None => return unsupported(format!("body \"{}\" has a cylinder or a cone over a plane", body.name)),
            }
            refuse_rolling(body, collider)?;
        }
    }
    Ok(corners)
}

fn refuse_rolling(body: &BodyState, collider: &Collider) -> Result<(), CannotAdapt> {
    if collider.material.rolling > 0.0 || collider.material.spinning > 0.0 {
        return unsupported(format!("body \"{}\" has rolling or spinning friction", body.name));
    }
    Ok(())
}
