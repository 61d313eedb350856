//! Rays, casts, overlaps and nearest points against closed forms and brute force, for every kind of shape.

use crate::common::{Complaints, Random, wxyz};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Geometry, Scene, Shape};
use linkwork::{Hit, Pose, QueryFilter, World};

const ALL: QueryFilter = QueryFilter { mask: u32::MAX, sensors: false, except: None };

/// A world with one static body that may lie anywhere.
fn one(geometry: Geometry, place: &Pose) -> World {
    let mut scene = Scene::new("one");
    scene.body(Body::fixed("it").at(place.position).oriented(wxyz(place.orientation)).shape(geometry));
    World::build(&scene).unwrap()
}

fn identity() -> Pose {
    Pose { position: DVec3::ZERO, orientation: DQuat::IDENTITY }
}

fn somewhere(random: &mut Random, far: f64) -> Pose {
    Pose { position: far * random.vector(), orientation: random.rotation() }
}

fn corners(half: DVec3) -> Vec<[f64; 3]> {
    let sign = |k: usize, bit: usize| if k & bit == 0 { -1.0 } else { 1.0 };
    (0..8).map(|k| (half * DVec3::new(sign(k, 1), sign(k, 2), sign(k, 4))).to_array()).collect()
}

/// Signed distance to a round shape about z, by its profile: distance from the axis and height.
fn signed_distance(geometry: &Geometry, p: DVec3) -> f64 {
    let rho = p.x.hypot(p.y);
    match *geometry {
        Geometry::Sphere { radius } => p.length() - radius,
        Geometry::Box { size } => {
            let over = p.abs() - 0.5 * DVec3::from(size);
            over.max(DVec3::ZERO).length() + over.max_element().min(0.0)
        }
        Geometry::Capsule { radius, length } => rho.hypot(p.z - p.z.clamp(-0.5 * length, 0.5 * length)) - radius,
        Geometry::Cylinder { radius, length } => {
            let (side, cap) = (rho - radius, p.z.abs() - 0.5 * length);
            side.max(0.0).hypot(cap.max(0.0)) + side.max(cap).min(0.0)
        }
        Geometry::Cone { radius, length } => {
            // nearest point of the segments (0, -l/2) (r, -l/2) (0, l/2), and the side by the two lines
            let segment = |a: (f64, f64), b: (f64, f64)| {
                let (u, v) = ((b.0 - a.0, b.1 - a.1), (rho - a.0, p.z - a.1));
                let s = ((u.0 * v.0 + u.1 * v.1) / (u.0 * u.0 + u.1 * u.1)).clamp(0.0, 1.0);
                (v.0 - s * u.0).hypot(v.1 - s * u.1)
            };
            let (base, tip) = (-0.5 * length, 0.5 * length);
            let distance = segment((0.0, base), (radius, base)).min(segment((radius, base), (0.0, tip)));
            let inside = p.z >= base && rho * length <= radius * (tip - p.z);
            if inside { -distance } else { distance }
        }
        _ => unreachable!(),
    }
}

/// Where a ray enters a convex solid: along a line the signed distance has one valley, whose floor is found by thirds, and the way
/// down to it by halves. `None` if it misses; NaN if it grazes.
fn by_halves(geometry: &Geometry, from: DVec3, along: DVec3, farthest: f64, size: f64) -> Option<f64> {
    ball_by_halves(geometry, 0.0, from, along, farthest, size)
}

/// The same of a ball.
fn ball_by_halves(
    geometry: &Geometry,
    radius: f64,
    from: DVec3,
    along: DVec3,
    farthest: f64,
    size: f64,
) -> Option<f64> {
    let at = |t: f64| signed_distance(geometry, from + along * t) - radius;
    if at(0.0) <= 0.0 {
        return Some(0.0);
    }
    let (mut low, mut high) = (0.0, farthest);
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if at(a) < at(b) { high = b } else { low = a }
    }
    let floor = at(low);
    if floor.abs() < 1e-6 * size {
        return Some(f64::NAN);
    }
    if floor > 0.0 {
        return None;
    }
    let (mut outside, mut inside) = (0.0, low);
    for _ in 0..200 {
        let middle = 0.5 * (outside + inside);
        if at(middle) > 0.0 { outside = middle } else { inside = middle }
    }
    Some(inside)
}

/// Symptom: rays hit cylinders and cones of a millimetre up to 0.16 mm beside their surface. Cause: the search for the surface stopped at
/// a tolerance that did not know the size.
#[test]
fn rays_meet_round_shapes_where_halving_finds_their_surface() {
    let mut random = Random(11);
    let mut complaints = Complaints::default();
    let mut hits = 0;
    for size in [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0] {
        for kind in 0..5 {
            for case in 0..20 {
                let (radius, length) = (size * random.between(0.2, 1.0), size * random.between(0.2, 2.0));
                let geometry = match kind {
                    0 => Geometry::Sphere { radius },
                    1 => Geometry::Box { size: [radius, length, size] },
                    2 => Geometry::Capsule { radius, length },
                    3 => Geometry::Cylinder { radius, length },
                    _ => Geometry::Cone { radius, length },
                };
                let world = one(geometry.clone(), &identity());
                for _ in 0..40 {
                    let from = random.direction() * size * random.between(0.0, 6.0);
                    let mut along = (0.8 * size * random.vector() - from).normalize_or(DVec3::X);
                    // along the axis, across it and along the side of a cone, too
                    match random.below(8) {
                        0 => along = DVec3::Z,
                        1 => along = -DVec3::Z,
                        2 => along = DVec3::new(along.x, along.y, 0.0).normalize_or(DVec3::X),
                        3 => along = DVec3::new(radius, 0.0, -length).normalize(),
                        _ => {}
                    }
                    let farthest = 12.0 * size;
                    let hit = world.cast_ray(from, along, farthest, &ALL).unwrap();
                    let expected = by_halves(&geometry, from, along, farthest, size);
                    let what =
                        || format!("{geometry:?} case {case} from {from} along {along}: {hit:?}, not {expected:?}");
                    match (hit, expected) {
                        (_, Some(t)) if t.is_nan() => {}
                        (None, None) => {}
                        (Some(Hit { distance, normal, .. }), Some(t)) => {
                            hits += 1;
                            complaints.unless((distance - t).abs() < 1e-9 * size, what);
                            let step = 1e-6 * size;
                            let around = |d: DVec3| {
                                let at = from + along * t;
                                signed_distance(&geometry, at + d * step) - signed_distance(&geometry, at - d * step)
                            };
                            let slope = DVec3::new(around(DVec3::X), around(DVec3::Y), around(DVec3::Z)) / (2.0 * step);
                            // not on edges, where there are two normals
                            if t > 0.0 && (slope.length() - 1.0).abs() < 1e-5 {
                                complaints.unless(normal.distance(slope) < 1e-3, what);
                            }
                        }
                        _ => complaints.unless(false, what),
                    }
                }
            }
        }
    }
    assert!(hits > 8000, "{hits} rays hit");
}

/// A convex solid twice: as itself and as the closed mesh of its surface.
fn twins(random: &mut Random, case: usize) -> (Geometry, Geometry) {
    let half = 0.2 + 0.8 * random.vector().abs();
    let count = 6 + random.below(20);
    let points = match case % 2 {
        0 => corners(half),
        _ => (0..count).map(|_| (half * random.direction()).to_array()).collect(),
    };
    let hull = Geometry::ConvexHull { points };
    let mesh = hull.hull_as_mesh().unwrap();
    match case % 2 {
        0 => (Geometry::Box { size: (2.0 * half).to_array() }, mesh),
        _ => (hull, mesh),
    }
}

fn probe(random: &mut Random) -> Geometry {
    let size = random.between(0.02, 0.4);
    match random.below(5) {
        0 => Geometry::Sphere { radius: size },
        1 => Geometry::Box { size: [size, 2.0 * size, 0.5 * size] },
        2 => Geometry::Capsule { radius: 0.3 * size, length: size },
        3 => Geometry::Cylinder { radius: size, length: size },
        _ => Geometry::ConvexHull { points: corners(DVec3::new(size, 0.7 * size, 0.4 * size)) },
    }
}

/// Symptom: rays, overlaps, casts and nearest points from inside a closed static mesh found nothing, or its far side. Cause: only its
/// triangles were asked, and those seen from behind were left out.
#[test]
fn a_closed_mesh_answers_like_the_solid_it_encloses() {
    let mut random = Random(3);
    let mut complaints = Complaints::default();
    let (mut inside, mut overlapping, mut cast) = (0, 0, 0);
    for case in 0..120 {
        let (solid, mesh) = twins(&mut random, case);
        let place = somewhere(&mut random, 2.0);
        let worlds = [one(solid, &place), one(mesh, &place)];
        for _ in 0..40 {
            let from = place.position + 1.2 * random.vector();
            let along = random.direction();
            let hits = worlds.each_ref().map(|w| w.cast_ray(from, along, 5.0, &ALL).unwrap());
            let what = || format!("case {case}: ray {hits:?}");
            match hits {
                [Some(a), Some(b)] => {
                    complaints.unless((a.distance - b.distance).abs() < 1e-9, what);
                    complaints.unless(a.normal.distance(b.normal) < 1e-6, what);
                    inside += usize::from(a.distance == 0.0);
                }
                [a, b] => complaints.unless(a.is_none() && b.is_none(), what),
            }
            let near = worlds.each_ref().map(|w| w.closest_point(from, 1.0, &ALL).unwrap());
            let what = || format!("case {case}: nearest {near:?}");
            match near {
                [Some(a), Some(b)] => {
                    complaints.unless((a.distance - b.distance).abs() < 1e-9, what);
                    complaints.unless(a.point.distance(b.point) < 1e-6, what);
                    complaints.unless(a.normal.distance(b.normal) < 1e-6, what);
                }
                [a, b] => complaints.unless(a.is_none() && b.is_none(), what),
            }
            let (shape, pose) = (probe(&mut random), Pose { position: from, orientation: random.rotation() });
            let found = worlds.each_ref().map(|w| w.overlaps(&shape, pose, &ALL).unwrap().len());
            complaints.unless(found[0] == found[1], || format!("case {case}: {shape:?} {pose:?} overlaps {found:?}"));
            overlapping += found[0];
            let met = worlds.each_ref().map(|w| w.cast_shape(&shape, pose, along, 3.0, &ALL).unwrap());
            let what = || format!("case {case}: cast {met:?}");
            match met {
                [Some(a), Some(b)] => {
                    complaints.unless((a.distance - b.distance).abs() < 1e-6, what);
                    cast += 1;
                }
                [a, b] => complaints.unless(a.is_none() && b.is_none(), what),
            }
        }
    }
    assert!(inside > 200 && overlapping > 200 && cast > 200, "{inside} {overlapping} {cast}");
}

/// A cube of two metres with a cubic cave of one in it: both surfaces are one mesh.
fn cave() -> Geometry {
    let shell = |half: f64| Geometry::ConvexHull { points: corners(DVec3::splat(half)) }.hull_as_mesh();
    let (
        Some(Geometry::Mesh { mut vertices, mut triangles }),
        Some(Geometry::Mesh { vertices: within, triangles: back }),
    ) = (shell(1.0), shell(0.5))
    else {
        unreachable!()
    };
    let first = vertices.len() as u32;
    vertices.extend(within);
    triangles.extend(back.into_iter().map(|[a, b, c]| [first + a, first + c, first + b]));
    Geometry::Mesh { vertices, triangles }
}

#[test]
fn what_is_in_a_cave_is_outside_and_an_open_mesh_has_no_inside() {
    let mut random = Random(8);
    let world = one(cave(), &identity());
    // corners, edges and middles of faces too, along which the mesh has its own edges
    let grid = [-0.75, -0.5, -0.25, 0.0, 0.3, 0.75, 1.2];
    let mut points: Vec<DVec3> = (0..2000).map(|_| 1.3 * random.vector()).collect();
    points.extend((0..343).map(|k| DVec3::new(grid[k % 7], grid[k / 7 % 7], grid[k / 49])));
    for p in points {
        let size = p.abs().max_element();
        if (size - 0.5).abs() < 1e-9 || (size - 1.0).abs() < 1e-9 {
            continue;
        }
        let solid = (0.5..1.0).contains(&size);
        let ray = world.cast_ray(p, DVec3::Z, 9.0, &ALL).unwrap();
        assert_eq!(ray.is_some_and(|hit| hit.distance == 0.0), solid, "{p}: {ray:?}");
        // walls are nearest straight on in a cave, at edges outside; both from inside
        let outer = signed_distance(&Geometry::Box { size: [2.0; 3] }, p);
        let inner = signed_distance(&Geometry::Box { size: [1.0; 3] }, p);
        let hit = world.closest_point(p, 9.0, &ALL).unwrap().unwrap();
        assert!((hit.distance - outer.max(-inner)).abs() < 1e-12, "{p}: {hit:?}");
        let pose = Pose { position: p, orientation: DQuat::IDENTITY };
        let found = world.overlaps(&Geometry::Sphere { radius: 1e-3 }, pose, &ALL).unwrap();
        assert_eq!(!found.is_empty(), outer.max(-inner) <= 1e-3, "{p}");
    }
    let Geometry::Mesh { vertices, mut triangles } = cave() else { unreachable!() };
    triangles.truncate(11);
    let open = one(Geometry::Mesh { vertices, triangles }, &identity());
    let inside = DVec3::new(0.1, 0.2, 0.75);
    assert!(open.closest_point(inside, 9.0, &ALL).unwrap().unwrap().distance > 0.2);
    let small = Geometry::Box { size: [0.1; 3] };
    assert!(open.overlaps(&small, Pose { position: inside, orientation: DQuat::IDENTITY }, &ALL).unwrap().is_empty());
}

/// A ball against every shape whose distance is known: nearest points, overlaps, casts and times of impact, with groups and sensors.
#[test]
fn balls_meet_every_shape_where_its_distance_says() {
    let mut random = Random(77);
    let mut complaints = Complaints::default();
    let (mut cast, mut met) = (0, 0);
    for size in [1e-2, 1.0, 50.0] {
        for case in 0..200 {
            let (r, l) = (size * random.between(0.2, 1.0), size * random.between(0.2, 2.0));
            let geometry = match case % 5 {
                0 => Geometry::Sphere { radius: r },
                1 => Geometry::Box { size: [r, l, size] },
                2 => Geometry::Capsule { radius: r, length: l },
                3 => Geometry::Cylinder { radius: r, length: l },
                _ => Geometry::Cone { radius: r, length: l },
            };
            let place = somewhere(&mut random, size);
            let radius = size * random.between(0.05, 0.5);
            let from = 3.0 * size * random.vector();
            let along = (size * random.vector() - from).normalize();
            let (start, way) = (place.transform(from), place.orientation * along);
            let mut scene = Scene { gravity: [0.0; 3], ..Scene::new("ball") };
            let shape = |group| Shape::new(geometry.clone()).groups(group, u32::MAX);
            let fixed = |name: &str| Body::fixed(name).at(place.position).oriented(wxyz(place.orientation));
            scene.body(fixed("target").placed_shape(shape(2)));
            scene.body(fixed("sensor").placed_shape(shape(4).sensor()));
            let spin = 100.0 * random.vector();
            scene.body(Body::new("ball").at(start).moving(3.0 * size * way, spin).shape(Geometry::Sphere { radius }));
            let world = World::build(&scene).unwrap();
            let id = |name: &str| world.body(name).unwrap();
            let others = QueryFilter { except: Some(id("ball")), ..ALL };
            let pose = Pose { position: start, orientation: DQuat::IDENTITY };
            let ball = Geometry::Sphere { radius };
            let what = |text: String| format!("{geometry:?} case {case}: {text}");

            let distance = signed_distance(&geometry, from);
            let near = world.closest_point(start, 10.0 * size, &others).unwrap().unwrap();
            complaints
                .unless((near.distance - distance).abs() < 1e-9 * size, || what(format!("{near:?} not {distance}")));
            let on = place.to_local(near.point);
            complaints.unless(signed_distance(&geometry, on).abs() < 1e-9 * size, || what(format!("{near:?} beside")));

            let found = world.overlaps(&ball, pose, &others).unwrap();
            let expected = if distance <= radius { vec![(id("target"), 0)] } else { vec![] };
            complaints.unless(found == expected, || what(format!("overlaps {found:?}, distance {distance}")));
            let seen = |mask: u32, sensors: bool| {
                world.overlaps(&ball, pose, &QueryFilter { mask, sensors, ..others }).unwrap().len()
            };
            let inside = usize::from(distance <= radius);
            let counts = [seen(2, false), seen(4, false), seen(4, true), seen(6, true), seen(1, true)];
            complaints.unless(counts == [inside, 0, inside, 2 * inside, 0], || what(format!("filters {counts:?}")));

            let expected = ball_by_halves(&geometry, radius, from, along, 9.0 * size, size);
            if expected.is_some_and(f64::is_nan) {
                continue;
            }
            let hit = world.cast_shape(&ball, pose, way, 9.0 * size, &others).unwrap();
            let agree = |t: Option<f64>, allowed: f64| match (t, expected) {
                (Some(t), Some(expected)) => (t - expected).abs() < allowed,
                (t, expected) => t.is_none() && expected.is_none(),
            };
            // casts stop a nanometre before the surface, and time of impact at a tenth of a micrometre: more along a slanting way
            complaints.unless(agree(hit.map(|h| h.distance), 2e-6 + 1e-6 * size), || {
                what(format!("{hit:?} not {expected:?}"))
            });
            let toi = world.time_of_impact(id("ball"), id("target"), 3.0).unwrap();
            let t = toi.map(|t| 3.0 * size * t.time);
            complaints
                .unless(agree(t, 1e-3 * size.min(1.0) + 1e-6 * size), || what(format!("{toi:?} not {expected:?}")));
            cast += usize::from(hit.is_some());
            met += usize::from(toi.is_some());
        }
    }
    assert!(cast > 100 && met > 100, "{cast} {met}");
}
