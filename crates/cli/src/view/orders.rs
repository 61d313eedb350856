//! What a page may ask for.

use linkwork::scene::Motor;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A particle: which system, and which of its particles. Particles that another page makes are the last of their system, so that
/// this stays the same particle.
pub type ParticlePlace = [usize; 2];

/// A message of a page, as JSON. Bodies and joints are numbered as in the scene that the page was sent; `scene` is that
/// scene's number, so that an order which was on its way while the scene changed does nothing. `revision` is that of the joints and
/// particles that the page knew, for orders that are refused if these have changed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// Lets time run or stand still.
    Play {
        /// Whether it runs.
        on: bool,
    },
    /// Makes steps while time stands still.
    Step {
        /// How many.
        count: u32,
    },
    /// Goes back to the start.
    Reset {},
    /// Simulated seconds per second.
    Speed {
        /// As fast as possible if absent.
        value: Option<f64>,
    },
    /// Step size, s.
    Dt {
        /// s.
        value: f64,
    },
    /// Error control.
    Tolerance {
        /// Off if absent.
        value: Option<f64>,
    },
    /// How joints are held.
    Method {
        /// Its name on the command line.
        name: String,
    },
    /// How time passes within a step.
    Stepper {
        /// Its name on the command line.
        name: String,
    },
    /// How contacts are solved.
    Contact {
        /// Its name on the command line.
        name: String,
    },
    /// Lets what has come to rest sleep.
    Sleep {
        /// Whether it may.
        on: bool,
    },
    /// Propagates shocks through heaps.
    Shock {
        /// Whether it does.
        on: bool,
    },
    /// Gravity.
    Gravity {
        /// m/s².
        value: [f64; 3],
    },
    /// Another scene of the registry.
    Scene {
        /// Its name.
        name: String,
        /// Its parameters; defaults for those absent.
        #[serde(default)]
        parameters: BTreeMap<String, f64>,
    },
    /// Pulls a point of a body towards a point of the world.
    Drag {
        /// Number of the scene.
        scene: u32,
        /// Number of the body.
        body: usize,
        /// Point in the body's frame, m.
        point: [f64; 3],
        /// Point in the world, m.
        target: [f64; 3],
    },
    /// Pulls a particle towards a point of the world.
    DragParticle {
        /// Number of the scene.
        scene: u32,
        /// The particle.
        particle: ParticlePlace,
        /// Point in the world, m.
        target: [f64; 3],
    },
    /// Holds a particle where it is, or lets it go.
    NailParticle {
        /// Number of the scene.
        scene: u32,
        /// Revision of its particles.
        revision: u32,
        /// The particle.
        particle: ParticlePlace,
    },
    /// Makes a particle, in the system of another if one is named and joined to that by a spring.
    CreateParticle {
        /// Number of the scene.
        scene: u32,
        /// Revision of its particles.
        revision: u32,
        /// Where, in the world, m.
        target: [f64; 3],
        /// The other.
        to: Option<ParticlePlace>,
    },
    /// Joins a particle to another by a spring, or to a body.
    AttachParticle {
        /// Number of the scene.
        scene: u32,
        /// Revision of its particles.
        revision: u32,
        /// The particle.
        particle: ParticlePlace,
        /// The other.
        to: Option<ParticlePlace>,
        /// Number of the body.
        body: Option<usize>,
    },
    /// Lets go.
    Release {},
    /// Holds a point of a body where it is.
    Nail {
        /// Number of the scene.
        scene: u32,
        /// Number of the body.
        body: usize,
        /// Point in the body's frame, m.
        point: [f64; 3],
    },
    /// Takes nails out.
    PullNails {
        /// Number of the scene.
        scene: u32,
        /// Those of this body; all if absent.
        body: Option<usize>,
    },
    /// Changes a motor.
    Motor {
        /// Number of the scene.
        scene: u32,
        /// Number of the joint.
        joint: usize,
        /// The coordinate it drives.
        coordinate: String,
        /// What drives it from now on.
        motor: Motor,
    },
    /// What this page looks at; the rest is not sent.
    Watch(Watch),
}

/// What a page looks at besides poses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watch {
    /// Bodies whose velocities are shown as numbers.
    pub bodies: Vec<usize>,
    /// Joints whose coordinates and forces are shown as numbers.
    pub joints: Vec<usize>,
    /// Velocities of all bodies.
    pub velocities: bool,
    /// Reactions of all joints.
    pub reactions: bool,
    /// Contacts.
    pub contacts: bool,
    /// Which bodies sleep.
    pub sleeping: bool,
}

/// A page shows numbers of a few things at once.
const MOST_WATCHED: usize = 64;
/// At once; more is what `play` is for.
const MOST_STEPS: u32 = 1000;
/// Names in messages are short.
const LONGEST_NAME: usize = 200;
/// No scene is so large; also keeps forces of the mouse in the range of numbers.
const FARTHEST: f64 = 1e6;

impl Order {
    /// Reads a message; says what is wrong with it otherwise.
    pub fn read(text: &str) -> Result<Order, String> {
        let order: Order = serde_json::from_str(text).map_err(|error| format!("not understood: {error}"))?;
        order.check()?;
        Ok(order)
    }

    /// Whether steps that were ordered before must be made before it: it changes what they would do. What breaks them off, what
    /// the mouse does and what a page looks at must not wait.
    pub fn follows_steps(&self) -> bool {
        match self {
            Order::Play { .. }
            | Order::Step { .. }
            | Order::Reset {}
            | Order::Speed { .. }
            | Order::Scene { .. }
            | Order::Drag { .. }
            | Order::DragParticle { .. }
            | Order::Release {}
            | Order::Watch(_) => false,
            Order::Dt { .. }
            | Order::Tolerance { .. }
            | Order::Method { .. }
            | Order::Stepper { .. }
            | Order::Contact { .. }
            | Order::Sleep { .. }
            | Order::Shock { .. }
            | Order::Gravity { .. }
            | Order::NailParticle { .. }
            | Order::CreateParticle { .. }
            | Order::AttachParticle { .. }
            | Order::Nail { .. }
            | Order::PullNails { .. }
            | Order::Motor { .. } => true,
        }
    }

    fn check(&self) -> Result<(), String> {
        let near = |point: &[f64; 3]| match point.iter().all(|c| c.abs() <= FARTHEST) {
            true => Ok(()),
            false => Err(format!("a point farther away than {FARTHEST:e} m")),
        };
        match self {
            Order::Step { count } if !(1..=MOST_STEPS).contains(count) => {
                Err(format!("{count} steps at once; 1 to {MOST_STEPS} are possible"))
            }
            Order::Speed { value: Some(value) } if !(1e-4..=1e4).contains(value) => {
                Err(format!("a speed of {value} is not between 0.0001 and 10000"))
            }
            Order::Dt { value } => crate::number::valid_step(*value).map(drop),
            Order::Tolerance { value: Some(value) } if !(1e-12..1.0).contains(value) => {
                Err(format!("a tolerance of {value} is not between 1e-12 and 1"))
            }
            Order::Method { name } | Order::Stepper { name } | Order::Contact { name } | Order::Scene { name, .. }
                if name.len() > LONGEST_NAME =>
            {
                Err(format!("a name of {} bytes", name.len()))
            }
            Order::Scene { parameters, .. } if parameters.len() > MOST_WATCHED => {
                Err(format!("{} parameters", parameters.len()))
            }
            Order::Drag { point, target, .. } => near(point).and(near(target)),
            Order::DragParticle { target, .. } | Order::CreateParticle { target, .. } => near(target),
            Order::AttachParticle { to, body, .. } if to.is_some() == body.is_some() => {
                Err("a particle is attached to another or to a body".to_string())
            }
            Order::Nail { point, .. } => near(point),
            Order::Watch(watch) if watch.bodies.len().max(watch.joints.len()) > MOST_WATCHED => {
                Err(format!("more than {MOST_WATCHED} bodies or joints watched at once"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_read() {
        assert_eq!(Order::read(r#"{"type":"play","on":true}"#), Ok(Order::Play { on: true }));
        assert_eq!(Order::read(r#"{"type":"speed","value":null}"#), Ok(Order::Speed { value: None }));
        let motor = r#"{"type":"motor","scene":1,"joint":2,"coordinate":"angle","motor":{"velocity":{"target":1.5}}}"#;
        assert!(matches!(Order::read(motor), Ok(Order::Motor { motor: Motor::Velocity { target: 1.5, .. }, .. })));
        let watch = r#"{"type":"watch","bodies":[1],"velocities":true}"#;
        assert!(matches!(Order::read(watch), Ok(Order::Watch(Watch { velocities: true, .. }))));
        let nail = r#"{"type":"nail_particle","scene":1,"revision":2,"particle":[3,4]}"#;
        assert_eq!(Order::read(nail), Ok(Order::NailParticle { scene: 1, revision: 2, particle: [3, 4] }));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"type":"fly"}"#,
            r#"{"type":"play"}"#,
            r#"{"type":"play","on":1}"#,
            r#"{"type":"play","on":true,"more":1}"#,
            r#"{"type":"step","count":0}"#,
            r#"{"type":"step","count":100000}"#,
            r#"{"type":"speed","value":-1}"#,
            r#"{"type":"dt","value":0}"#,
            r#"{"type":"dt","value":1e999}"#,
            r#"{"type":"gravity","value":[0,0]}"#,
            r#"{"type":"drag","scene":1,"body":-1,"point":[0,0,0],"target":[0,0,0]}"#,
            r#"{"type":"drag","scene":1,"body":0,"point":[0,0,0],"target":[0,1e300,0]}"#,
            r#"{"type":"drag_particle","scene":1,"particle":[0,0],"target":[0,1e300,0]}"#,
            r#"{"type":"drag_particle","scene":1,"particle":0,"target":[0,1,0]}"#,
            r#"{"type":"nail_particle","scene":1,"revision":0,"particle":[0,-1]}"#,
            r#"{"type":"nail_particle","scene":1,"particle":[0,1]}"#,
            r#"{"type":"create_particle","scene":1,"revision":0,"target":[0,1e300,0]}"#,
            r#"{"type":"attach_particle","scene":1,"revision":0,"particle":[0,0]}"#,
            r#"{"type":"attach_particle","scene":1,"revision":0,"particle":[0,0],"to":[0,1],"body":1}"#,
        ] {
            assert!(Order::read(text).is_err(), "{text}");
        }
        let many = format!(r#"{{"type":"watch","bodies":[{}0]}}"#, "0,".repeat(100));
        assert!(Order::read(&many).is_err());
        assert!(Order::read(&format!(r#"{{"type":"scene","name":"{}"}}"#, "x".repeat(1000))).is_err());
        assert!(Order::read(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in ".{0,200}") {
            let _ = Order::read(&text);
        }

        #[test]
        fn no_value_does_harm(kind in "play|step|speed|dt|stepper|contact|sleep|shock|drag|nail|motor|watch|scene", key in "on|count|value|body|name", value in ".{0,20}") {
            let _ = Order::read(&format!(r#"{{"type":"{kind}","{key}":{value}}}"#));
        }
    }
}
