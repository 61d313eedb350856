//! From the description of particles in a scene to a system in a world, with all checks.

use super::couple::{Anchor, SystemState};
use super::{
    AngleSpring, AngleSprings, Bend, Bends, ClothMaterial, Constraint, Drag, Gravity, Method, Neighbours,
    ParticleSystem, Pendulum, Ring, Spline, Spring, Springs, grid,
};
use crate::error::SceneError;
use crate::scene::{Fabric, ParametricObject, ParticleMethod, Particles, Pattern, Rope, WORLD, Wire};
use crate::world::World;
use glam::DVec3;
use std::sync::Arc;

type Checked<T> = Result<T, SceneError>;

/// More points in a system than anyone has use for are a mistake.
const MOST_POINTS: usize = 5_000_000;

/// Puts the path of the thing in front of the path of what is wrong with it.
fn within<T>(path: String, result: Checked<T>) -> Checked<T> {
    result.map_err(|e| SceneError { path: if e.path.is_empty() { path } else { format!("{path}: {}", e.path) }, ..e })
}

fn number(path: String, value: f64, least: f64) -> Checked<f64> {
    match value.is_finite() && value >= least && value <= 1e15 {
        true => Ok(value),
        false => Err(SceneError::new(path, format!("{value:e} is not between {least} and 1e15"))),
    }
}

struct Builder<'a> {
    path: &'a str,
    world: &'a World,
    system: ParticleSystem,
    anchors: Vec<Anchor>,
    lines: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
}

pub(crate) fn system(world: &World, p: &Particles, path: &str) -> Checked<SystemState> {
    let mut system = ParticleSystem::new();
    let gravity = system.add_force(Gravity(world.gravity))?;
    let mut b = Builder { path, world, system, anchors: Vec::new(), lines: Vec::new(), triangles: Vec::new() };
    let at = |key: &str| format!("{path}.{key}");
    b.system.set_radius(p.radius).map_err(|e| SceneError { path: format!("{path}.radius"), ..e })?;
    number(at("friction"), p.friction, 0.0)?;
    if !(0.0..=1.0).contains(&p.restitution) {
        return Err(SceneError::new(at("restitution"), format!("{} is not between 0 and 1", p.restitution)));
    }
    b.points(p)?;
    for (k, rope) in p.ropes.iter().enumerate() {
        b.rope(rope, &at(&format!("ropes[{k}]")))?;
    }
    for (k, object) in p.parametric.iter().enumerate() {
        within(at(&format!("parametric[{k}]")), b.parametric(object))?;
    }
    for (k, cloth) in p.cloths.iter().enumerate() {
        within(at(&format!("cloths[{k}]")), b.cloth(&cloth.pattern, &cloth.fabric, p.wind.into()))?;
    }
    b.forces(p)?;
    b.constraints(p)?;
    for (k, &i) in p.nails.iter().enumerate() {
        within(at(&format!("nails[{k}]")), b.system.nail(i))?;
    }
    for (k, a) in p.attachments.iter().enumerate() {
        within(at(&format!("attachments[{k}]")), b.attach(a.point, &a.body))?;
    }
    b.system.set_method(match p.method {
        ParticleMethod::Implicit => Method::Implicit,
        ParticleMethod::Verlet => Method::Verlet,
        ParticleMethod::RungeKutta => Method::RungeKutta4,
    });
    if p.method != ParticleMethod::RungeKutta && !p.parametric.is_empty() {
        return Err(SceneError::new(at("method"), "parametric objects are stepped by Runge–Kutta")
            .hint("say method = \"runge_kutta\""));
    }
    if p.method != ParticleMethod::Implicit && !b.anchors.is_empty() {
        return Err(SceneError::new(at("method"), "particles attached to bodies are stepped implicitly")
            .hint("leave the method out"));
    }
    if p.method != ParticleMethod::Implicit && !p.cloths.is_empty() {
        return Err(SceneError::new(at("method"), "cloth is stepped implicitly").hint("leave the method out"));
    }
    Ok(SystemState {
        name: p.name.clone(),
        system: b.system,
        gravity,
        anchors: b.anchors,
        collides: p.collides,
        friction: p.friction,
        restitution: p.restitution,
        lines: b.lines,
        triangles: b.triangles,
        given: Vec::new(),
        owed: Vec::new(),
    })
}

impl Builder<'_> {
    fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    fn room(&self, more: usize, path: &str) -> Checked<()> {
        match self.system.len().saturating_add(more) <= MOST_POINTS {
            true => Ok(()),
            false => Err(SceneError::new(path, format!("{more} points are more than fit: {MOST_POINTS} in all"))),
        }
    }

    fn points(&mut self, p: &Particles) -> Checked<()> {
        self.room(p.points.len(), &self.at("points"))?;
        for (k, point) in p.points.iter().enumerate() {
            let path = self.at(&format!("points[{k}]"));
            let added = self.system.add_particle(point.position.into(), point.velocity.into(), point.mass);
            let i = added.map_err(|e| SceneError { path, ..e })?;
            if point.nailed {
                self.system.nail(i)?;
            }
        }
        Ok(())
    }

    fn distance(&self, a: usize, b: usize) -> Checked<f64> {
        let x = self.system.positions();
        match (x.get(a), x.get(b)) {
            (Some(_), Some(_)) if a == b => Err(SceneError::new("", format!("joins point {a} to itself"))),
            (Some(p), Some(q)) => Ok(p.distance(*q)),
            _ => Err(SceneError::new("", format!("points {a} and {b} do not both exist: there are {}", x.len()))),
        }
    }

    fn forces(&mut self, p: &Particles) -> Checked<()> {
        let mut springs = Vec::new();
        for (k, s) in p.springs.iter().enumerate() {
            let path = self.at(&format!("springs[{k}]"));
            let apart = within(path.clone(), self.distance(s.a, s.b))?;
            let length = number(format!("{path}.length"), s.length.unwrap_or(apart), 0.0)?;
            number(format!("{path}.stiffness"), s.stiffness, 0.0)?;
            number(format!("{path}.damping"), s.damping, 0.0)?;
            springs.push(Spring { a: s.a, b: s.b, length, stiffness: s.stiffness, damping: s.damping });
            self.lines.push([s.a as u32, s.b as u32]);
        }
        if !springs.is_empty() {
            self.system.add_force(Springs(springs))?;
        }
        let mut bends = Vec::new();
        for (k, s) in p.bends.iter().enumerate() {
            let path = self.at(&format!("bends[{k}]"));
            within(path.clone(), self.distance(s.a, s.b).and(self.distance(s.b, s.c)))?;
            number(format!("{path}.stiffness"), s.stiffness, 0.0)?;
            number(format!("{path}.damping"), s.damping, 0.0)?;
            bends.push(Bend { a: s.a, b: s.b, c: s.c, stiffness: s.stiffness, damping: s.damping });
        }
        if !bends.is_empty() {
            self.system.add_force(Bends(bends))?;
        }
        let mut angles = Vec::new();
        for (k, s) in p.angles.iter().enumerate() {
            let path = self.at(&format!("angles[{k}]"));
            within(path.clone(), self.distance(s.a, s.b).and(self.distance(s.b, s.c)))?;
            number(format!("{path}.stiffness"), s.stiffness, 0.0)?;
            number(format!("{path}.damping"), s.damping, 0.0)?;
            let angle = number(format!("{path}.angle"), s.angle, 0.0)?;
            angles.push(AngleSpring { a: s.a, b: s.b, c: s.c, angle, stiffness: s.stiffness, damping: s.damping });
        }
        if !angles.is_empty() {
            self.system.add_force(AngleSprings(angles))?;
        }
        let drag = number(self.at("drag"), p.drag, 0.0)?;
        let wind = DVec3::from(p.wind);
        if !(wind.is_finite() && wind.length() < 1e6) {
            return Err(SceneError::new(self.at("wind"), format!("{wind} m/s is not a wind")));
        }
        if drag > 0.0 {
            self.system.add_force(Drag { coefficient: drag, wind })?;
        }
        if let Some(n) = &p.neighbours {
            let path = self.at("neighbours");
            number(format!("{path}.strength"), n.strength, 0.0)?;
            number(format!("{path}.damping"), n.damping, 0.0)?;
            number(format!("{path}.cutoff"), n.cutoff, 1e-9)?;
            number(format!("{path}.rest"), n.rest, 1e-9)?;
            let (strength, rest, cutoff, damping) = (n.strength, n.rest, n.cutoff, n.damping);
            self.system.add_force(Neighbours { strength, rest, cutoff, damping })?;
        }
        Ok(())
    }

    fn constraints(&mut self, p: &Particles) -> Checked<()> {
        for (k, rod) in p.rods.iter().enumerate() {
            let path = self.at(&format!("rods[{k}]"));
            let apart = within(path.clone(), self.distance(rod.a, rod.b))?;
            let length = rod.length.unwrap_or(apart);
            within(path, self.system.add_constraint(Constraint::Distance { a: rod.a, b: rod.b, length }))?;
            self.lines.push([rod.a as u32, rod.b as u32]);
        }
        for (k, wire) in p.wires.iter().enumerate() {
            let path = self.at(&format!("wires[{k}]"));
            let constraint = match wire {
                Wire::Line { point, through, direction } => {
                    Constraint::OnLine { a: *point, point: (*through).into(), direction: (*direction).into() }
                }
                Wire::Circle { point, center, normal, radius } => Constraint::OnCircle {
                    a: *point,
                    center: (*center).into(),
                    normal: (*normal).into(),
                    radius: *radius,
                },
                Wire::Plane { point, through, normal } => {
                    Constraint::OnPlane { a: *point, point: (*through).into(), normal: (*normal).into() }
                }
                Wire::Sphere { point, center, radius } => {
                    Constraint::OnSphere { a: *point, center: (*center).into(), radius: *radius }
                }
                Wire::Spline { point, through, closed } => {
                    let places = through.iter().map(|&p| p.into()).collect();
                    let spline = Spline::new(places, *closed).ok_or_else(|| {
                        SceneError::new(format!("{path}.through"), "is not a curve")
                            .hint("give at least two places, three for a closed curve, each apart from the next")
                    })?;
                    Constraint::OnSpline { a: *point, spline: Arc::new(spline) }
                }
            };
            within(path, self.system.add_constraint(constraint))?;
        }
        Ok(())
    }

    fn rope(&mut self, rope: &Rope, path: &str) -> Checked<()> {
        let places: Vec<DVec3> = rope.through.iter().map(|&p| p.into()).collect();
        let course: f64 = places.windows(2).map(|p| p[0].distance(p[1])).sum();
        if !(course.is_finite() && course > 1e-9) {
            let problem = format!("its course is {course} m long");
            return Err(SceneError::new(format!("{path}.through"), problem).hint("give at least two places"));
        }
        if rope.segments == 0 {
            return Err(SceneError::new(format!("{path}.segments"), "there must be at least one"));
        }
        self.room(rope.segments, path)?;
        let n = rope.segments;
        let length = number(format!("{path}.length"), rope.length.unwrap_or(course), 1e-9)?;
        let mass = number(format!("{path}.mass"), rope.mass, 1e-12)?;
        let ea = number(format!("{path}.stiffness"), rope.stiffness, 0.0)?;
        number(format!("{path}.damping"), rope.damping, 0.0)?;
        number(format!("{path}.bend"), rope.bend, 0.0)?;
        let first = self.system.len();
        for i in 0..=n {
            let share = if i == 0 || i == n { 0.5 } else { 1.0 };
            let x = along(&places, course * i as f64 / n as f64);
            within(path.to_string(), self.system.add_particle(x, DVec3::ZERO, mass * share / n as f64))?;
        }
        let piece = length / n as f64;
        let stiffness = ea / piece;
        let damping = rope.damping * stiffness;
        let spring = |i: usize| Spring { a: first + i, b: first + i + 1, length: piece, stiffness, damping };
        self.system.add_force(Springs((0..n).map(spring).collect()))?;
        self.lines.extend((0..n).map(|i| [(first + i) as u32, (first + i + 1) as u32]));
        if rope.bend > 0.0 {
            let k = rope.bend / (piece * piece * piece);
            let bend = |i: usize| {
                let (a, b, c) = (first + i - 1, first + i, first + i + 1);
                Bend { a, b, c, stiffness: k, damping: k * rope.damping }
            };
            self.system.add_force(Bends((1..n).map(bend).collect()))?;
        }
        for (key, end, body) in [("start", first, &rope.start), ("end", first + n, &rope.end)] {
            if let Some(body) = body {
                within(format!("{path}.{key}"), self.attach(end, body))?;
            }
        }
        Ok(())
    }

    fn parametric(&mut self, object: &ParametricObject) -> Checked<()> {
        match object {
            ParametricObject::Bead { center, normal, radius, mass, start, rate } => {
                let ring = Ring::new((*center).into(), (*normal).into(), *radius, (*start).into())?;
                self.system.add_parametric(Arc::new(ring), &[*mass], &[0.0], &[*rate])?;
            }
            ParametricObject::Pendulum { pivot, lengths, masses, angles } => {
                if masses.len() != lengths.len() {
                    let problem = format!("{} for {} rods", masses.len(), lengths.len());
                    return Err(SceneError::new("masses", problem));
                }
                let first = self.system.len() as u32;
                let shape = Pendulum::new((*pivot).into(), lengths.clone())?;
                let rates = vec![0.0; lengths.len()];
                self.system.add_parametric(Arc::new(shape), masses, angles, &rates)?;
                self.lines.extend((1..lengths.len() as u32).map(|k| [first + k - 1, first + k]));
            }
        }
        Ok(())
    }

    fn cloth(&mut self, pattern: &Pattern, f: &Fabric, wind: DVec3) -> Checked<()> {
        let (vertices, triangles) = match pattern {
            Pattern::Grid { corner, along, across, columns, rows } => {
                if *columns == 0 || *rows == 0 {
                    return Err(SceneError::new("pattern.grid", "needs at least one column and one row"));
                }
                self.room(columns.saturating_add(1).saturating_mul(rows.saturating_add(1)), "pattern.grid")?;
                grid((*corner).into(), (*along).into(), (*across).into(), *columns, *rows)
            }
            Pattern::Mesh { vertices, triangles } => {
                self.room(vertices.len(), "pattern.mesh")?;
                (vertices.iter().map(|&v| v.into()).collect(), triangles.clone())
            }
        };
        let warp = match pattern {
            Pattern::Grid { along, .. } => DVec3::from(*along).normalize_or(DVec3::X),
            Pattern::Mesh { .. } => DVec3::X,
        };
        let material = ClothMaterial {
            density: f.density,
            stretch: f.stretch,
            shear: f.shear,
            bend: f.bend,
            damping: f.damping,
            air: f.air,
            wind,
            thickness: f.thickness,
            friction: f.friction,
            warp,
            self_collision: f.self_collision,
        };
        let added = self.system.add_cloth(&vertices, &triangles, material)?;
        self.triangles.extend(triangles.iter().map(|t| t.map(|i| i + added.start as u32)));
        Ok(())
    }

    fn attach(&mut self, i: usize, body: &str) -> Checked<()> {
        if body == WORLD {
            return self.system.nail(i);
        }
        let Some(id) = self.world.body(body) else {
            return Err(SceneError::new("body", format!("there is no body \"{body}\"")));
        };
        let anchor = Anchor::here(self.world, &self.system, i, id)?;
        self.system.free(i)?;
        self.anchors.retain(|a| a.particle != i);
        self.anchors.push(anchor);
        Ok(())
    }
}

/// The place at a length along straight pieces.
fn along(places: &[DVec3], mut length: f64) -> DVec3 {
    for p in places.windows(2) {
        let piece = p[0].distance(p[1]);
        if length <= piece {
            return p[0].lerp(p[1], if piece > 0.0 { length / piece } else { 0.0 });
        }
        length -= piece;
    }
    places.last().copied().unwrap_or_default()
}
