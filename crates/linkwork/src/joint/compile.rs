//! From a joint's description to its model: checks everything and names what is wrong by its path.

use super::JointModel;
use super::coordinate::{CoordinateKind, coordinates_of};
use super::drive::Drive;
use crate::body::BodyState;
use crate::error::SceneError;
use crate::math::{Placed, Pose};
use crate::range::{FARTHEST, STRONGEST};
use crate::scene::{Coordinate, Frame, Joint, JointKind, Limit, Motor, Spring};
use glam::{DMat3, DVec3};

type Checked<T> = Result<T, SceneError>;

fn needs_axis(kind: JointKind) -> bool {
    use JointKind::*;
    matches!(kind, Hinge | Slider | Cylindrical | Planar | Universal | PointOnLine | PointOnPlane | Screw)
}

/// Kinds whose frames must be parallel as a whole, not only in their axes.
fn keeps_orientation(kind: JointKind) -> bool {
    matches!(kind, JointKind::Fixed | JointKind::Orientation | JointKind::Slider)
}

/// The model of a joint between two bodies (`None`: the world) at their present poses.
pub(crate) fn model(joint: &Joint, path: &str, a: Option<&BodyState>, b: Option<&BodyState>) -> Checked<JointModel> {
    check_fields(joint, path)?;
    let pose = |body: Option<&BodyState>| body.map_or(Pose::IDENTITY, BodyState::pose);
    let (pose_a, pose_b) = (pose(a), pose(b));
    let (anchors, frames) = match (&joint.frame_a, &joint.frame_b) {
        (Some(fa), Some(fb)) => by_frames(joint, path, fa, fb, &pose_a, &pose_b)?,
        (None, None) => by_world(joint, path, &pose_a, &pose_b)?,
        (Some(_), None) => return Err(missing(path, "frame_b", "frame_a is given: give the frame on b too")),
        (None, Some(_)) => return Err(missing(path, "frame_a", "frame_b is given: give the frame on a too")),
    };
    let inward = |body: Option<&BodyState>, point: DVec3, frame: DMat3| match body {
        None => (point, frame),
        Some(body) => {
            let turn = |v: DVec3| body.direction_to_principal(v);
            let frame = DMat3::from_cols(turn(frame.x_axis), turn(frame.y_axis), turn(frame.z_axis));
            (body.to_principal(point), frame)
        }
    };
    let (anchor_a, frame_a) = inward(a, anchors.0, frames.0);
    let (anchor_b, frame_b) = inward(b, anchors.1, frames.1);
    let mut model = JointModel::new(joint.kind, anchor_a, frame_a, anchor_b, frame_b);
    let placed = |body: Option<&BodyState>| body.map_or(Placed::WORLD, BodyState::placed);
    finish(joint, path, &mut model, &placed(a), &placed(b))?;
    Ok(model)
}

fn missing(path: &str, key: &str, hint: &str) -> SceneError {
    SceneError::new(format!("{path}.{key}"), "missing").hint(hint)
}

/// Refuses keys that this kind of joint has no use for, and demands those it needs.
fn check_fields(joint: &Joint, path: &str) -> Checked<()> {
    let kind = joint.kind;
    let refuse = |given: bool, key: &str, for_what: &str| match given {
        true => Err(SceneError::new(format!("{path}.{key}"), format!("has no meaning here: only {for_what} has it"))),
        false => Ok(()),
    };
    refuse(joint.ratio.is_some() && kind != JointKind::Gear, "ratio", "a gear")?;
    refuse(joint.radius.is_some() && kind != JointKind::Rack, "radius", "a rack")?;
    refuse(joint.pitch.is_some() && kind != JointKind::Screw, "pitch", "a screw")?;
    refuse(joint.length.is_some() && kind != JointKind::Distance, "length", "a distance joint")?;
    refuse(joint.second_axis.is_some() && kind != JointKind::Universal, "second_axis", "a universal joint")?;
    refuse(!joint.joints.is_empty() && !is_coupling(kind), "joints", "a gear, rack or differential")?;
    if is_coupling(kind) {
        refuse(joint.a.is_some(), "a", "a joint between bodies")?;
        refuse(joint.b.is_some(), "b", "a joint between bodies")?;
        refuse(joint.at.is_some(), "at", "a joint between bodies")?;
        refuse(joint.axis.is_some(), "axis", "a joint between bodies")?;
        refuse(joint.frame_a.is_some(), "frame_a", "a joint between bodies")?;
        refuse(joint.frame_b.is_some(), "frame_b", "a joint between bodies")?;
        refuse(!joint.coordinates.is_empty(), "coordinates", "a joint between bodies")?;
        let wanted = if kind == JointKind::Differential { 3 } else { 2 };
        if joint.joints.len() != wanted {
            let count = joint.joints.len();
            return Err(SceneError::new(format!("{path}.joints"), format!("names {count} joints, needs {wanted}")));
        }
    }
    Ok(())
}

pub(crate) fn is_coupling(kind: JointKind) -> bool {
    matches!(kind, JointKind::Gear | JointKind::Rack | JointKind::Differential)
}

/// Three numbers, large ones without a row of zeros.
pub(crate) fn shown(v: DVec3) -> String {
    format!("[{:?}, {:?}, {:?}]", v.x, v.y, v.z)
}

fn vector(path: &str, key: &str, v: [f64; 3]) -> Checked<DVec3> {
    let v = DVec3::from(v);
    if !v.is_finite() {
        return Err(SceneError::new(format!("{path}.{key}"), format!("{v} is not finite")).hint("give three numbers"));
    }
    if v.abs().max_element() > FARTHEST {
        let problem = format!("{} is beyond {FARTHEST:e}", shown(v));
        return Err(SceneError::new(format!("{path}.{key}"), problem).hint("use metres"));
    }
    Ok(v)
}

fn direction(path: &str, key: &str, v: [f64; 3]) -> Checked<DVec3> {
    vector(path, key, v)?
        .try_normalize()
        .ok_or_else(|| SceneError::new(format!("{path}.{key}"), "zero length").hint("give a direction, any length"))
}

/// A frame with this z. Its x points as far towards a direction as z allows; without one towards X, so that a joint whose axis
/// is Z counts along X and Y, and towards Y where the axis itself is close to X.
fn frame_of(z: DVec3, towards: Option<DVec3>) -> DMat3 {
    let across = |t: DVec3| (t - z * z.dot(t)).try_normalize();
    let usual = if z.x.abs() < CLOSE_TO_X { DVec3::X } else { DVec3::Y };
    let x = towards.and_then(across).or(across(usual)).unwrap_or_else(|| z.any_orthonormal_vector());
    DMat3::from_cols(x, z.cross(x), z)
}

/// Cosine of the angle to X, about 8°, below which X says little about the directions across an axis.
const CLOSE_TO_X: f64 = 0.99;

type Placement = ((DVec3, DVec3), (DMat3, DMat3));

fn by_world(joint: &Joint, path: &str, a: &Pose, b: &Pose) -> Checked<Placement> {
    use JointKind::{Distance, Fixed, Orientation, Rope};
    let at = match (joint.at, joint.kind) {
        (Some(at), _) => vector(path, "at", at)?,
        (None, Fixed | Orientation) => b.position,
        (None, Distance | Rope) => {
            return Err(missing(
                path,
                "frame_a",
                "give frame_a and frame_b: the two points, each in its body's coordinates",
            ));
        }
        (None, _) => {
            return Err(missing(path, "at", "give the joint's point in world coordinates, or frame_a and frame_b"));
        }
    };
    if matches!(joint.kind, Distance | Rope) {
        return Err(SceneError::new(format!("{path}.at"), "one point cannot place two ends")
            .hint("give frame_a and frame_b: the two points, each in its body's coordinates"));
    }
    let z = match joint.axis {
        Some(axis) => direction(path, "axis", axis)?,
        None if needs_axis(joint.kind) => return Err(missing(path, "axis", "give a direction in world coordinates")),
        None => DVec3::Z,
    };
    let world_a = frame_of(z, None);
    let world_b = match (joint.kind, joint.second_axis) {
        (JointKind::Universal, Some(second)) => frame_of(direction(path, "second_axis", second)?, Some(z)),
        (JointKind::Universal, None) => return Err(missing(path, "second_axis", "the axis fixed to b")),
        _ => world_a,
    };
    let turn = |pose: &Pose, f: DMat3| DMat3::from_quat(pose.orientation).transpose() * f;
    Ok(((a.to_local(at), b.to_local(at)), (turn(a, world_a), turn(b, world_b))))
}

fn by_frames(joint: &Joint, path: &str, fa: &Frame, fb: &Frame, a: &Pose, b: &Pose) -> Checked<Placement> {
    for (key, given) in
        [("at", joint.at.is_some()), ("axis", joint.axis.is_some()), ("second_axis", joint.second_axis.is_some())]
    {
        if given {
            return Err(SceneError::new(format!("{path}.{key}"), "given beside frame_a and frame_b")
                .hint("place the joint in one way"));
        }
    }
    let points = (vector(path, "frame_a.position", fa.position)?, vector(path, "frame_b.position", fb.position)?);
    let za = direction(path, "frame_a.axis", fa.axis)?;
    let zb = direction(path, "frame_b.axis", fb.axis)?;
    let reference = |key: &str, r: Option<[f64; 3]>, z: DVec3| -> Checked<Option<DVec3>> {
        let Some(r) = r else { return Ok(None) };
        let r = direction(path, key, r)?;
        match (r - z * z.dot(r)).length() > 1e-6 {
            true => Ok(Some(r)),
            false => {
                Err(SceneError::new(format!("{path}.{key}"), "parallel to the axis").hint("give a direction across it"))
            }
        }
    };
    let xa = reference("frame_a.reference", fa.reference, za)?;
    let xb = reference("frame_b.reference", fb.reference, zb)?;
    let (ra, rb) = (DMat3::from_quat(a.orientation), DMat3::from_quat(b.orientation));
    let frame_a = frame_of(za, xa);
    let plain = fa.axis == Frame::default().axis && fb.axis == fa.axis && xa.is_none() && xb.is_none();
    let frame_b = if plain && keeps_orientation(joint.kind) && joint.kind != JointKind::Slider {
        // only points given: the orientation of the start pose is kept
        rb.transpose() * ra * frame_a
    } else if xa.is_some() && xb.is_some() {
        frame_of(zb, xb)
    } else {
        // coordinate zero is the start pose
        frame_of(zb, Some(rb.transpose() * (ra * frame_a.x_axis)))
    };
    Ok((points, (frame_a, frame_b)))
}

/// Lengths, angles and zeros that depend on the kind and the start pose.
fn finish(joint: &Joint, path: &str, m: &mut JointModel, a: &Placed, b: &Placed) -> Checked<()> {
    match joint.kind {
        JointKind::Distance => {
            let length = joint.length.unwrap_or_else(|| m.gap(a, b).length());
            if !(length <= FARTHEST && length > 1e-9) {
                let problem = format!("{length:?} m is not a positive length up to {FARTHEST:e} m");
                return Err(SceneError::new(format!("{path}.length"), problem)
                    .hint("use a ball joint to hold two points together"));
            }
            m.length = length;
        }
        JointKind::Screw => {
            let pitch = joint.pitch.ok_or_else(|| missing(path, "pitch", "metres of displacement per turn"))?;
            if !pitch.is_finite() || pitch.abs() > 1e6 {
                return Err(SceneError::new(format!("{path}.pitch"), format!("{pitch} m per turn is out of range")));
            }
            m.lead = pitch / std::f64::consts::TAU;
        }
        JointKind::Universal => {
            let by_frames = joint.frame_a.is_some();
            let cos = (a.r * m.frame_a.z_axis).dot(b.r * m.frame_b.z_axis);
            m.cos_angle = if by_frames { 0.0 } else { cos };
            if m.cos_angle.abs() > 0.99 {
                let angle = cos.abs().min(1.0).acos().to_degrees();
                return Err(SceneError::new(
                    format!("{path}.second_axis"),
                    format!("the axes of a universal joint are {angle:.2}° apart, too nearly parallel"),
                )
                .hint("a right angle is usual"));
            }
            let referenced = [&joint.frame_a, &joint.frame_b].iter().all(|f| f.is_some_and(|f| f.reference.is_some()));
            if !referenced {
                m.zero_a = CoordinateKind::AngleA.raw(m, a, b);
                m.zero_b = -CoordinateKind::AngleB.raw(m, a, b);
            }
        }
        _ => {}
    }
    Ok(())
}

/// The drives of a joint's coordinates, values not yet read.
pub(crate) fn drives(kind: JointKind, given: &[Coordinate], path: &str) -> Checked<Vec<Drive>> {
    let known = coordinates_of(kind);
    let mut drives = vec![Drive::default(); known.len()];
    let mut taken = vec![false; known.len()];
    for (i, c) in given.iter().enumerate() {
        let path = format!("{path}.coordinates[{i}]");
        let names = known.iter().map(|k| k.0).collect::<Vec<_>>().join(", ");
        let index = match &c.of {
            None => 0,
            Some(name) => known.iter().position(|k| k.0 == name).ok_or_else(|| {
                SceneError::new(format!("{path}.of"), format!("this joint has no coordinate `{name}`"))
                    .hint(if names.is_empty() { "it has none".into() } else { format!("it has: {names}") })
            })?,
        };
        let Some((name, coordinate)) = known.get(index) else {
            return Err(SceneError::new(path, "this kind of joint leaves nothing to act on"));
        };
        if std::mem::replace(&mut taken[index], true) {
            return Err(SceneError::new(path, format!("coordinate `{name}` is described twice")).hint("join the two"));
        }
        drives[index] = drive(*coordinate, name, c, &path)?;
    }
    Ok(drives)
}

fn drive(kind: CoordinateKind, name: &str, c: &Coordinate, path: &str) -> Checked<Drive> {
    let at = |key: &str| format!("{path}.{key}");
    let drive = Drive {
        limit: c.limit,
        friction: c.friction,
        damping: c.damping,
        spring: c.spring,
        motor: c.motor,
        ..Drive::default()
    };
    if !kind.can_be_driven() && (drive.friction != 0.0 || drive.is_soft() || drive.motor.is_some()) {
        return Err(
            SceneError::new(path, format!("`{name}` can be limited, not driven")).hint("drive x, y and z instead")
        );
    }
    let units = if kind.is_angle() { &OF_ANGLES } else { &OF_LENGTHS };
    not_negative(&at("friction"), c.friction, units.force)?;
    not_negative(&at("damping"), c.damping, units.damping)?;
    if let Some(limit) = &c.limit {
        check_limit(&at("limit"), limit, units)?;
    }
    if let Some(spring) = &c.spring {
        check_spring(&at("spring"), spring, units)?;
    }
    if let Some(motor) = &c.motor {
        check_motor(&at("motor"), motor, units)?;
    }
    Ok(drive)
}

/// What the numbers about a coordinate are measured in.
struct Units {
    value: &'static str,
    velocity: &'static str,
    force: &'static str,
    stiffness: &'static str,
    damping: &'static str,
    integral: &'static str,
}

const OF_ANGLES: Units = Units {
    value: "rad",
    velocity: "rad/s",
    force: "N m",
    stiffness: "N m/rad",
    damping: "N m s/rad",
    integral: "N m/(rad s)",
};
const OF_LENGTHS: Units =
    Units { value: "m", velocity: "m/s", force: "N", stiffness: "N/m", damping: "N s/m", integral: "N/(m s)" };

fn not_negative(path: &str, value: f64, unit: &str) -> Checked<()> {
    match value {
        _ if (0.0..=STRONGEST).contains(&value) => Ok(()),
        _ if value.is_finite() && value > 0.0 => {
            Err(SceneError::new(path, format!("{value:?} {unit} is beyond {STRONGEST:e}"))
                .hint("use SI units; leave a bound that never counts out"))
        }
        _ => Err(SceneError::new(path, format!("{value:?} {unit} must be finite and not negative"))
            .hint("0 switches it off")),
    }
}

fn finite(path: &str, value: f64, unit: &str) -> Checked<()> {
    match value.is_finite() && value.abs() <= STRONGEST {
        true => Ok(()),
        false => {
            Err(SceneError::new(path, format!("{value:?} {unit} is not a usable number")).hint("magnitudes up to 1e15"))
        }
    }
}

fn check_limit(path: &str, limit: &Limit, units: &Units) -> Checked<()> {
    let unit = units.value;
    if let Some(min) = limit.min {
        finite(&format!("{path}.min"), min, unit)?;
    }
    if let Some(max) = limit.max {
        finite(&format!("{path}.max"), max, unit)?;
    }
    if let (Some(min), Some(max)) = (limit.min, limit.max)
        && min > max
    {
        return Err(SceneError::new(path, format!("min {min} {unit} is above max {max} {unit}")).hint("swap them"));
    }
    if !(0.0..=1.0).contains(&limit.restitution) {
        return Err(SceneError::new(
            format!("{path}.restitution"),
            format!("{} is not between 0 and 1", limit.restitution),
        )
        .hint("0 stops the coordinate at its limit, 1 sends it back as fast as it came"));
    }
    Ok(())
}

fn check_spring(path: &str, spring: &Spring, units: &Units) -> Checked<()> {
    not_negative(&format!("{path}.stiffness"), spring.stiffness, units.stiffness)?;
    not_negative(&format!("{path}.damping"), spring.damping, units.damping)?;
    finite(&format!("{path}.rest"), spring.rest, units.value)
}

fn check_motor(path: &str, motor: &Motor, units: &Units) -> Checked<()> {
    let limit = |f: Option<f64>| f.map_or(Ok(()), |f| not_negative(&format!("{path}.max_force"), f, units.force));
    match *motor {
        Motor::Force { value } => finite(&format!("{path}.value"), value, units.force),
        Motor::Velocity { target, max_force } => {
            finite(&format!("{path}.target"), target, units.velocity)?;
            limit(max_force)
        }
        Motor::Servo { target, target_velocity, stiffness, damping, integral, max_force } => {
            finite(&format!("{path}.target"), target, units.value)?;
            finite(&format!("{path}.target_velocity"), target_velocity, units.velocity)?;
            not_negative(&format!("{path}.stiffness"), stiffness, units.stiffness)?;
            not_negative(&format!("{path}.damping"), damping, units.damping)?;
            not_negative(&format!("{path}.integral"), integral, units.integral)?;
            limit(max_force)
        }
    }
}

/// The (empty) model of a coupling, its keys checked.
pub(crate) fn model_of_coupling(joint: &Joint, path: &str) -> Checked<JointModel> {
    check_fields(joint, path)?;
    Ok(JointModel::without_bodies(joint.kind))
}
