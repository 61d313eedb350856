//! Poses and velocities as a table: one row per sample and body.

use linkwork::{BodyId, World};
use std::io::{self, Write};

/// Names the columns. Positions and velocities are those of the body's origin, in world axes.
const HEADER: &str = "time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n";

/// Writes the motion of all bodies of a world.
#[derive(Debug)]
pub struct Csv<W> {
    writer: W,
    bodies: Vec<(BodyId, String)>,
}

impl<W: Write> Csv<W> {
    /// Starts a table with its header.
    pub fn start(mut writer: W, world: &World) -> io::Result<Self> {
        writer.write_all(HEADER.as_bytes())?;
        let label = |(index, id)| {
            let name = world.body_name(id).filter(|name| !name.is_empty());
            (id, name.map_or_else(|| format!("body {index}"), field))
        };
        Ok(Csv { writer, bodies: world.body_ids().enumerate().map(label).collect() })
    }

    /// Adds the present state.
    pub fn sample(&mut self, world: &World) -> io::Result<()> {
        let time = world.time();
        for (id, label) in &self.bodies {
            let (Some(pose), Some(twist)) = (world.pose(*id), world.velocity(*id)) else {
                continue;
            };
            let (x, q, v, w) = (pose.position, pose.orientation, twist.linear, twist.angular);
            // Debug notation is the shortest that is read as the same number.
            write!(self.writer, "{time:?},{label}")?;
            for number in [x.x, x.y, x.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z] {
                write!(self.writer, ",{number:?}")?;
            }
            self.writer.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Gives back what was written to.
    pub fn into_inner(self) -> W {
        self.writer
    }

    /// What is written to.
    pub fn writer(&self) -> &W {
        &self.writer
    }
}

/// Quoted where commas, quotes or line ends would be taken for the table's own.
fn field(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn names_cannot_break_the_table() {
        assert_eq!(field("arm"), "arm");
        assert_eq!(field("left, upper"), "\"left, upper\"");
        assert_eq!(field("3\" pipe"), "\"3\"\" pipe\"");
        assert_eq!(field("a\nb"), "\"a\nb\"");
    }
}
