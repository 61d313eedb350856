//! Shapes: mass properties against closed forms and sampling, bad shapes refused by name, queries against closed forms.

use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, BodyKind, Geometry, Scene, Shape, Softness};
use linkwork::{Pose, QueryFilter, World};

fn world(bodies: Vec<Body>) -> World {
    let mut scene = Scene::new("shapes");
    scene.bodies = bodies;
    World::build(&scene).unwrap_or_else(|e| panic!("{e}"))
}

/// Mass, centre of mass in the body frame and kinetic energies at 1 rad/s about x, y, z: twice them are the moments.
fn properties(body: Body) -> (f64, DVec3, [f64; 3]) {
    let moments = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| {
        let mut w = world(vec![body.clone()]);
        let id = w.body_ids().next().unwrap();
        let lever = w.center_of_mass(id).unwrap();
        w.set_velocity(id, linkwork::Twist { linear: -axis.cross(lever), angular: axis }).unwrap();
        2.0 * w.energy().kinetic
    });
    let w = world(vec![body]);
    let id = w.body_ids().next().unwrap();
    (w.mass(id).unwrap(), w.center_of_mass(id).unwrap(), moments)
}

fn same(a: &(f64, DVec3, [f64; 3]), b: &(f64, DVec3, [f64; 3]), relative: f64) {
    let largest = a.2.iter().fold(0.0_f64, |m, x| m.max(*x));
    assert!((a.0 - b.0).abs() < relative * a.0, "{a:?} {b:?}");
    assert!(a.1.distance(b.1) < relative * (largest / a.0).sqrt(), "{a:?} {b:?}");
    assert!((0..3).all(|k| (a.2[k] - b.2[k]).abs() < relative * largest), "{a:?} {b:?}");
}

fn corners(half: DVec3) -> Vec<[f64; 3]> {
    (0..8)
        .map(|k| [1, 2, 4].map(|bit| if k & bit == 0 { -1.0 } else { 1.0 }))
        .map(|s: [f64; 3]| (DVec3::from(s) * half).to_array())
        .collect()
}

/// A box as a mesh, its corners numbered as in `corners`.
fn box_triangles() -> Vec<[u32; 3]> {
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    faces.iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]).collect()
}

/// An L-shaped prism, closed and not convex: a square of 2 with a quarter missing, 1 high.
fn l_shape() -> Geometry {
    let outline = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]];
    let vertices = [0.0, 1.0].iter().flat_map(|&z| outline.map(|[x, y]| [x, y, z])).collect();
    let top: [[u32; 3]; 4] = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]];
    let mut triangles: Vec<[u32; 3]> = top.iter().flat_map(|t| [t.map(|i| i + 6), [t[0], t[2], t[1]]]).collect();
    for i in 0..6 {
        let j = (i + 1) % 6;
        triangles.extend([[i, j, j + 6], [i, j + 6, i + 6]]);
    }
    Geometry::Mesh { vertices, triangles }
}

#[test]
fn hulls_meshes_and_cones_have_the_mass_of_their_volume() {
    let half = DVec3::new(0.3, 0.5, 0.2);
    let body = |geometry: Geometry| {
        let shape = Shape::new(geometry).at([1.0, -2.0, 3.0]).oriented([0.5, 0.5, -0.5, 0.5]);
        properties(Body::new("body").placed_shape(shape))
    };
    let whole = body(Geometry::Box { size: (2.0 * half).to_array() });
    same(&whole, &body(Geometry::ConvexHull { points: corners(half) }), 1e-10);
    same(&whole, &body(Geometry::Mesh { vertices: corners(half), triangles: box_triangles() }), 1e-10);
    let inside_out = box_triangles().iter().map(|t| [t[0], t[2], t[1]]).collect();
    same(&whole, &body(Geometry::Mesh { vertices: corners(half), triangles: inside_out }), 1e-10);

    // an L is three cubes
    let cubes = [[0.5, 0.5, 0.5], [1.5, 0.5, 0.5], [0.5, 1.5, 0.5]];
    let compound = cubes
        .iter()
        .fold(Body::new("cubes"), |body, at| body.placed_shape(Shape::new(Geometry::Box { size: [1.0; 3] }).at(*at)));
    same(&properties(compound), &properties(Body::new("L").shape(l_shape())), 1e-10);

    // a cone of many sides is nearly round, and discs add up to it
    let (radius, length) = (0.4, 0.9);
    let sides = 2000;
    let rim = (0..sides).map(|k| std::f64::consts::TAU * f64::from(k) / f64::from(sides));
    let mut points: Vec<[f64; 3]> = rim.map(|a| [radius * a.cos(), radius * a.sin(), -length / 2.0]).collect();
    points.push([0.0, 0.0, length / 2.0]);
    let cone = properties(Body::new("cone").shape(Geometry::Cone { radius, length }));
    same(&cone, &properties(Body::new("hull").shape(Geometry::ConvexHull { points })), 1e-5);
    let (mut volume, mut first, mut along) = (0.0, 0.0, 0.0);
    for k in 0..100_000 {
        let s = (f64::from(k) + 0.5) / 1e5;
        let r2 = (radius * (1.0 - s)).powi(2);
        let slice = std::f64::consts::PI * r2 * length / 1e5;
        (volume, first, along) = (volume + slice, first + slice * (s - 0.5) * length, along + 0.5 * slice * r2);
    }
    assert!((cone.0 / 1000.0 - volume).abs() < 1e-8 && (cone.1.z - first / volume).abs() < 1e-8);
    assert!((cone.2[2] / 1000.0 - along).abs() < 1e-8);
}

#[test]
fn a_random_hull_has_the_mass_that_sampling_finds() {
    let mut seed = 12345_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    let points: Vec<[f64; 3]> = (0..40).map(|_| [random(), 0.7 * random(), 0.5 * random()]).collect();
    let body = Body::new("rock").with_density(1.0).shape(Geometry::ConvexHull { points });
    let (mass, center, moments) = properties(body.clone());
    let world = world(vec![Body { kind: BodyKind::Static, density: None, ..body }]);
    let (mut inside, mut sum, mut squares) = (0.0, DVec3::ZERO, DVec3::ZERO);
    let samples = 40_000;
    for _ in 0..samples {
        let p = DVec3::new(random(), 0.7 * random(), 0.5 * random());
        let hit = world.closest_point(p, 0.0, &QueryFilter::default()).unwrap();
        if hit.is_some_and(|h| h.distance <= 0.0) {
            inside += 1.0;
            sum += p;
            squares += p * p;
        }
    }
    let volume = 8.0 * 0.7 * 0.5 * inside / f64::from(samples);
    assert!((volume - mass).abs() < 0.02 * mass, "{volume} {mass}");
    assert!((sum / inside).distance(center) < 0.01, "{} {center}", sum / inside);
    let spread = squares / inside - (sum / inside) * (sum / inside);
    let sampled = [spread.y + spread.z, spread.x + spread.z, spread.x + spread.y].map(|s| s * mass);
    assert!((0..3).all(|k| (sampled[k] - moments[k]).abs() < 0.03 * moments[k]), "{sampled:?} {moments:?}");
}

#[test]
fn a_concave_mesh_on_a_moving_body_collides_as_pieces_and_says_so() {
    let moving = world(vec![Body::new("bracket").shape(l_shape())]);
    let warnings: Vec<&str> = moving.shape_warnings().collect();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("bracket") && warnings[0].contains("convex pieces"), "{}", warnings[0]);
    // the missing quarter is empty, the arms are solid
    let probe = Geometry::Sphere { radius: 0.1 };
    let at = |x: f64, y: f64| Pose { position: DVec3::new(x, y, 0.5), orientation: DQuat::IDENTITY };
    let seen = |x: f64, y: f64| !moving.overlaps(&probe, at(x, y), &QueryFilter::default()).unwrap().is_empty();
    assert!(seen(0.5, 0.5) && seen(1.7, 0.5) && seen(0.5, 1.7) && !seen(1.6, 1.6));
    let held = world(vec![Body::fixed("bracket").shape(l_shape())]);
    assert_eq!(held.shape_warnings().count(), 0);
}

#[test]
fn bodies_that_overlap_are_told_by_how_much() {
    let ball = |name: &str, x: f64| Body::new(name).at([x, 0.0, 0.0]).shape(Geometry::Sphere { radius: 0.5 });
    let far = ball("far", 9.0);
    // 0.3 m deep, 0.1 m deep, touching
    let crowd = world(vec![ball("a", 0.0), ball("b", 0.7), ball("c", 1.6), ball("d", 2.6), far]);
    let told: Vec<_> = crowd
        .deep_overlaps(1e-3)
        .iter()
        .map(|o| (crowd.body_name(o.a).unwrap(), crowd.body_name(o.b).unwrap(), (o.depth * 1e6).round()))
        .collect();
    assert_eq!(told, [("a", "b", 3e5), ("b", "c", 1e5)]);
    assert_eq!(crowd.deep_overlaps(0.2).len(), 1);
    let mut apart = Scene::new("apart");
    apart.bodies = vec![ball("a", 0.0), ball("b", 0.7)];
    apart.collisions = false;
    assert!(World::build(&apart).unwrap().deep_overlaps(1e-3).is_empty());
}

#[test]
fn the_surface_of_a_hull_is_closed_and_weighs_the_same() {
    let mut points = corners(DVec3::new(1.0, 2.0, 3.0));
    points.extend([[0.0, 0.0, 5.0], [0.1, 0.2, 0.3]]); // a tip, and a point inside
    let hull = Geometry::ConvexHull { points };
    let mesh = hull.hull_as_mesh().unwrap();
    let weighed = |geometry: Geometry| properties(Body::new("solid").with_density(1.0).shape(geometry));
    same(&weighed(hull), &weighed(mesh.clone()), 1e-9);
    assert_eq!(mesh.hull_as_mesh(), None);
    assert_eq!(Geometry::ConvexHull { points: vec![[0.0; 3]; 4] }.hull_as_mesh(), None);
}

#[test]
fn what_a_body_collides_as_is_told() {
    let cube = Geometry::Box { size: [1.0; 3] };
    let turned = Body::new("bracket")
        .placed_shape(Shape { orientation: [0.6, 0.0, 0.8, 0.0], ..Shape::new(l_shape()).at([0.3, -0.2, 1.0]) })
        .shape(cube.clone());
    let moving = world(vec![turned.clone(), Body { name: "held".to_owned(), kind: BodyKind::Static, ..turned }]);
    assert!(moving.collides());
    let pieces = moving.collision_shapes(moving.body("bracket").unwrap()).unwrap();
    let (cubes, hulls): (Vec<_>, Vec<_>) = pieces.iter().partition(|piece| piece.geometry == cube);
    assert!(cubes.len() == 1 && hulls.len() > 1, "{} pieces", hulls.len());
    assert!(hulls.iter().all(|piece| piece.position == [0.3, -0.2, 1.0] && piece.orientation == [0.6, 0.0, 0.8, 0.0]));
    // a solid of density 1 made of the pieces alone weighs what the mesh does, as far as cutting it into pieces is exact
    let alone = |piece: &&&Shape| properties(Body::new("p").with_density(1.0).shape(piece.geometry.clone())).0;
    let (whole, _, _) = properties(Body::new("whole").with_density(1.0).shape(l_shape()));
    let sum: f64 = hulls.iter().map(|piece| alone(&piece)).sum();
    assert!((sum - whole).abs() < 0.1 * whole, "{sum} {whole}");
    // what does not move keeps its mesh
    let held = moving.collision_shapes(moving.body("held").unwrap()).unwrap();
    assert_eq!(held.iter().map(|piece| piece.geometry.clone()).collect::<Vec<_>>(), [l_shape(), cube]);
}

#[test]
fn bad_shapes_are_refused_by_their_path() {
    let cube = || corners(DVec3::ONE);
    let mesh = |vertices: Vec<[f64; 3]>, triangles: Vec<[u32; 3]>| Geometry::Mesh { vertices, triangles };
    let mut nan = cube();
    nan[3][1] = f64::NAN;
    let mut far = cube();
    far[2][0] = f64::INFINITY;
    let mut open = box_triangles();
    open.pop();
    let mut flipped = box_triangles();
    flipped[0].swap(0, 1);
    let mut thin = cube();
    thin.iter_mut().for_each(|p| p[2] = 1.0);
    let mut degenerate = box_triangles();
    degenerate[4] = [1, 1, 5];
    let mut outside = box_triangles();
    outside[2] = [0, 1, 8];
    let field = |heights: Vec<Vec<f64>>| Geometry::HeightField { heights, size: [1.0, 1.0] };
    let flat = vec![vec![0.0; 3]; 3];
    let dynamic: Vec<(&str, Geometry, &str)> = vec![
        ("cone.radius", Geometry::Cone { radius: 0.0, length: 1.0 }, "positive"),
        ("cone.length", Geometry::Cone { radius: 1.0, length: f64::INFINITY }, "positive"),
        ("convex_hull.points[3]", Geometry::ConvexHull { points: nan.clone() }, "not a point"),
        ("convex_hull.points[2]", Geometry::ConvexHull { points: far.clone() }, "not a point"),
        ("convex_hull.points", Geometry::ConvexHull { points: thin.clone() }, "plane"),
        ("convex_hull.points", Geometry::ConvexHull { points: vec![[0.0; 3]; 10] }, "plane"),
        ("convex_hull.points", Geometry::ConvexHull { points: cube()[..3].to_vec() }, "volume"),
        ("convex_hull.points", Geometry::ConvexHull { points: vec![] }, "volume"),
        ("mesh.vertices[3]", mesh(nan, box_triangles()), "not a point"),
        ("mesh.triangles[2]", mesh(cube(), outside), "no vertex 8"),
        ("mesh.triangles[4]", mesh(cube(), degenerate), "no area"),
        ("mesh.triangles", mesh(cube(), open.clone()), "open mesh"),
        ("mesh.triangles", mesh(cube(), flipped), "open mesh"),
        ("mesh.triangles", mesh(cube(), vec![]), "0 triangles"),
        ("", field(flat.clone()), "height field"),
        ("", Geometry::Plane, "plane"),
    ];
    let refused = |body: Body, path: &str, problem: &str| {
        let mut scene = Scene::new("bad");
        scene.body(Body::fixed("first")).body(body.clone());
        let error = World::build(&scene).err().unwrap_or_else(|| panic!("accepted {body:?}"));
        let dot = if path.is_empty() { "" } else { "." };
        let full = format!("bodies[1].shapes[0].{path}").replace("geometry..", "geometry.");
        assert_eq!(error.problems[0].path.trim_end_matches('.'), full.trim_end_matches('.'), "{dot}{error}");
        assert!(error.to_string().contains(problem), "{error}");
        // and so in a running world, which stays as it is
        let mut running = World::build(&Scene::new("running")).unwrap();
        assert!(running.add_body(&body).unwrap_err().path.starts_with("body.shapes[0]"));
        assert_eq!(running.body_ids().count(), 0);
    };
    for (path, geometry, problem) in dynamic {
        refused(
            Body::new("bad").with_mass(1.0).with_inertia([1.0; 3]).shape(geometry),
            &format!("geometry.{path}"),
            problem,
        );
    }
    let ragged = vec![vec![0.0; 3], vec![0.0; 2]];
    let mut hole = flat.clone();
    hole[1][2] = f64::NAN;
    for (path, geometry, problem) in [
        ("height_field.heights[1]", field(ragged), "2 heights"),
        ("height_field.heights[1][2]", field(hole), "not a height"),
        ("height_field.heights", field(vec![vec![0.0; 3]]), "1 rows"),
        ("height_field.heights", field(vec![]), "0 rows"),
        ("height_field.size", Geometry::HeightField { heights: flat, size: [1.0, -1.0] }, "positive"),
    ] {
        refused(Body::fixed("bad").shape(geometry), &format!("geometry.{path}"), problem);
    }
    refused(Body::kinematic("bad").shape(Geometry::Plane), "geometry", "static");
    let surface = |change: fn(&mut Shape)| {
        let mut shape = Shape::new(Geometry::Sphere { radius: 1.0 });
        change(&mut shape);
        Body::new("bad").placed_shape(shape)
    };
    refused(surface(|s| s.friction = -0.1), "friction", "between");
    refused(surface(|s| s.friction = f64::NAN), "friction", "between");
    refused(surface(|s| s.restitution = 1.1), "restitution", "between");
    refused(surface(|s| s.rolling_friction = f64::INFINITY), "rolling_friction", "between");
    refused(surface(|s| s.spinning_friction = -1.0), "spinning_friction", "between");
    let soft = |stiffness, damping| Some(Softness { stiffness, damping });
    let mut body = surface(|_| {});
    body.shapes[0].softness = soft(0.0, 1.0);
    refused(body.clone(), "softness.stiffness", "positive");
    body.shapes[0].softness = soft(1e5, -1.0);
    refused(body, "softness.damping", "between");
    // what is wrong only on a moving body is right on one that is held
    world(vec![Body::fixed("open").shape(mesh(cube(), open))]);
}

fn zoo() -> World {
    let at = |k: usize, geometry: Geometry| Body::fixed(format!("{k}")).at([3.0 * k as f64, 0.0, 0.0]).shape(geometry);
    let mesh = Geometry::Mesh { vertices: corners(DVec3::splat(0.5)), triangles: box_triangles() };
    world(vec![
        at(0, Geometry::Sphere { radius: 0.5 }),
        at(1, Geometry::Box { size: [1.0; 3] }),
        at(2, Geometry::Capsule { radius: 0.5, length: 1.0 }),
        at(3, Geometry::Cylinder { radius: 0.5, length: 1.0 }),
        at(4, Geometry::Cone { radius: 0.5, length: 1.0 }),
        at(5, Geometry::ConvexHull { points: corners(DVec3::splat(0.5)) }),
        at(6, mesh),
        at(7, Geometry::HeightField { heights: vec![vec![0.5; 4]; 4], size: [1.0, 1.0] }),
    ])
}

/// Height of the top of each body of the zoo on its axis.
const TOPS: [f64; 8] = [0.5, 0.5, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5];

#[test]
fn rays_and_casts_stop_at_the_surface() {
    let world = zoo();
    let filter = QueryFilter::default();
    for (k, top) in TOPS.iter().enumerate() {
        let above = DVec3::new(3.0 * k as f64 + 0.01, 0.02, 5.0);
        let top = match k {
            0 | 2 => top - 0.5 + (0.25_f64 - 0.01 * 0.01 - 0.02 * 0.02).sqrt(),
            // down the side of the cone
            4 => top - f64::hypot(0.01, 0.02) / 0.5,
            _ => *top,
        };
        let hit = world.cast_ray(above, -3.0 * DVec3::Z, 10.0, &filter).unwrap().unwrap();
        assert_eq!(world.body_name(hit.body), Some(format!("{k}").as_str()));
        assert!((hit.distance - (5.0 - top)).abs() < 1e-6, "{k}: {hit:?}");
        assert!(hit.normal.z > 0.3 && (hit.point.z - top).abs() < 1e-6, "{k}: {hit:?}");
        assert!(world.cast_ray(above, DVec3::Z, 10.0, &filter).unwrap().is_none());
        assert!(world.cast_ray(above, -DVec3::Z, 4.0 - 0.5 * top, &filter).unwrap().is_none() || k == 2);

        // a ball of 0.2 on the axis comes to rest 0.2 higher, on a tip a little lower beside nothing
        let pose = Pose { position: DVec3::new(3.0 * k as f64, 0.0, 5.0), orientation: DQuat::IDENTITY };
        let ball = Geometry::Sphere { radius: 0.2 };
        let hit = world.cast_shape(&ball, pose, -DVec3::Z, 10.0, &filter).unwrap().unwrap();
        assert!((hit.distance - (5.0 - TOPS[k] - 0.2)).abs() < 1e-6, "{k}: {hit:?}");
        assert!(hit.point.distance(DVec3::new(3.0 * k as f64, 0.0, TOPS[k])) < 1e-3, "{k}: {hit:?}");
        assert!(world.cast_shape(&ball, pose, DVec3::Z, 10.0, &filter).unwrap().is_none());
    }
    assert!(world.cast_ray(DVec3::NAN, DVec3::Z, 1.0, &filter).is_err());
    assert!(world.cast_ray(DVec3::ZERO, DVec3::ZERO, 1.0, &filter).is_err());
    assert!(world.cast_ray(DVec3::ZERO, DVec3::Z, f64::NAN, &filter).is_err());
}

#[test]
fn nearest_points_and_overlaps_agree_with_closed_forms() {
    let world = zoo();
    let filter = QueryFilter::default();
    for (k, top) in TOPS.iter().enumerate() {
        let p = DVec3::new(3.0 * k as f64, 0.0, top + 0.3);
        let hit = world.closest_point(p, 1.0, &filter).unwrap().unwrap();
        assert_eq!(world.body_name(hit.body), Some(format!("{k}").as_str()));
        assert!((hit.distance - 0.3).abs() < 1e-9, "{k}: {hit:?}");
        assert!(hit.point.distance(p - 0.3 * DVec3::Z) < 1e-6 && hit.normal.distance(DVec3::Z) < 1e-6, "{k}: {hit:?}");
        assert!(world.closest_point(p, 0.2, &filter).unwrap().is_none());
        let pose = |z: f64| Pose { position: DVec3::new(3.0 * k as f64, 0.0, top + z), orientation: DQuat::IDENTITY };
        let block = Geometry::Box { size: [0.2; 3] };
        assert_eq!(world.overlaps(&block, pose(0.0999), &filter).unwrap().len(), 1, "{k}");
        assert!(world.overlaps(&block, pose(0.1001), &filter).unwrap().is_empty(), "{k}");
        let except = QueryFilter { except: Some(hit.body), ..filter };
        assert!(world.overlaps(&block, pose(0.0), &except).unwrap().is_empty());
    }
}

#[test]
fn the_time_of_impact_is_distance_over_speed() {
    let world = world(vec![
        Body::new("ball").moving([2.0, 0.0, 0.0], [0.0, 0.0, 3.0]).shape(Geometry::Sphere { radius: 0.5 }),
        Body::fixed("wall").at([5.0, 0.0, 0.0]).shape(Geometry::Box { size: [1.0, 4.0, 4.0] }),
        Body::new("rod")
            .at([0.0, 5.0, 0.0])
            .moving([0.0; 3], [0.0, 0.0, 1.0])
            .shape(Geometry::Box { size: [2.0, 0.1, 0.1] }),
        Body::fixed("peg").at([0.0, 6.0, 0.0]).shape(Geometry::Sphere { radius: 0.1 }),
    ]);
    let id = |name: &str| world.body(name).unwrap();
    let hit = world.time_of_impact(id("ball"), id("wall"), 10.0).unwrap().unwrap();
    assert!((hit.time - 2.0).abs() < 1e-6 && hit.normal.distance(DVec3::X) < 1e-6, "{hit:?}");
    assert!(world.time_of_impact(id("ball"), id("wall"), 1.9).unwrap().is_none());
    // the rod's end face comes to the peg: its corner is at hypot(1, 0.05), the peg 0.1 around (0, 1)
    let hit = world.time_of_impact(id("rod"), id("peg"), 10.0).unwrap().unwrap();
    let gap = |angle: f64| {
        let local = DQuat::from_rotation_z(-angle) * DVec3::Y;
        (local.abs() - DVec3::new(1.0, 0.05, 0.05)).max(DVec3::ZERO).length() - 0.1
    };
    assert!(gap(hit.time).abs() < 1e-5 && gap(0.9 * hit.time) > 0.0, "{hit:?} {}", gap(hit.time));
}

/// Symptom: a shallow dent was filled up without a word. Cause: the mesh was cut into a single piece, its hull.
#[test]
fn a_mesh_with_a_dent_that_is_filled_up_is_told() {
    let corner = |x: f64, y: f64, z: f64| [x, y, z];
    let mut vertices: Vec<[f64; 3]> = Vec::new();
    for z in [-1.0, 1.0] {
        vertices.extend([corner(-1.0, -1.0, z), corner(1.0, -1.0, z), corner(1.0, 1.0, z), corner(-1.0, 1.0, z)]);
    }
    vertices.push([0.0, 0.0, 0.95]);
    let mut triangles = vec![[0, 2, 1], [0, 3, 2]];
    for k in 0..4_u32 {
        let next = (k + 1) % 4;
        triangles.extend([[k, next, 4 + next], [k, 4 + next, 4 + k], [4 + k, 4 + next, 8]]);
    }
    let mut scene = Scene::new("dent");
    scene.body(Body::new("tray").with_mass(1.0).shape(Geometry::Mesh { vertices, triangles }));
    let world = World::build(&scene).unwrap();
    let warnings: Vec<String> = world.shape_warnings().map(|w| w.to_string()).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("tray") && warnings[0].contains("% more"), "{warnings:?}");
}
