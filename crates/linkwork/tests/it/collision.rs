//! Collision by integration against closed forms.

use crate::common::{Random, assert_close, assert_near};
use linkwork::collision::collide;
use linkwork::glam::{DMat3, DVec3};

#[test]
fn a_ball_follows_newton_and_coulomb() {
    // no coupling between normal and tangential: p_z = (1 + e)|u_z|/k_z; sliding takes μ k_t p_z, sticking takes all
    let (kt, kz) = (1.75, 0.5);
    let k = DMat3::from_diagonal(DVec3::new(kt, kt, kz));
    for mu in [0.0, 0.1, 0.5] {
        for e in [0.0, 0.4, 1.0] {
            for sideways in [DVec3::ZERO, DVec3::new(0.3, -0.4, 0.0), DVec3::new(-6.0, 8.0, 0.0)] {
                let u = sideways - DVec3::Z * 3.0;
                let done = collide(k, u, mu, e).unwrap();
                let pz = (1.0 + e) * 3.0 / kz;
                let left = (sideways.length() - mu * kt * pz).max(0.0);
                let expected = sideways.normalize_or_zero() * left + DVec3::Z * (3.0 * e);
                assert_near(&format!("μ {mu} e {e} {sideways}"), done.velocity, expected, 1e-8);
                assert_close("normal impulse", done.impulse.z, pz, 1e-8);
                assert_near("impulse and velocity", k * done.impulse, done.velocity - u, 1e-8);
            }
        }
    }
}

/// The planar collision in pieces, each linear in the impulse: Stronge's hypothesis in closed form.
fn planar(kxx: f64, kxz: f64, kzz: f64, u: (f64, f64), mu: f64, e: f64) -> (f64, f64) {
    let (mut ux, mut uz) = u;
    let (mut work, mut compression) = (0.0, None);
    loop {
        // direction of the friction, by sliding, or at rest by what is needed
        let need = -kxz / kxx;
        let s = if ux != 0.0 {
            -mu * ux.signum()
        } else if need.abs() <= mu {
            need
        } else {
            mu * need.signum()
        };
        let (rx, rz) = (kxx * s + kxz, kxz * s + kzz);
        let to_rest = if ux != 0.0 && rx * ux < 0.0 { -ux / rx } else { f64::INFINITY };
        let to_end = match compression {
            None => -uz / rz,
            Some(at) => {
                let left: f64 = at * (1.0 - e * e) - work;
                (-uz + (uz * uz + 2.0 * rz * left).sqrt()) / rz
            }
        };
        let dp = to_rest.min(to_end);
        work += dp * (uz + 0.5 * dp * rz);
        ux = if to_rest <= to_end { 0.0 } else { ux + rx * dp };
        uz += rz * dp;
        if to_end <= to_rest {
            if compression.is_some() || e == 0.0 {
                return (ux, uz);
            }
            compression = Some(work);
            uz = 0.0;
        }
    }
}

#[test]
fn a_rod_slides_sticks_and_slides_back_as_in_the_plane() {
    let mut reversed = 0;
    for angle in [0.3_f64, 0.8, 1.2] {
        // a slender rod of mass 1 and length 2 that hits with its end: K = 1/m + levers/I
        let (c, s) = (angle.cos(), angle.sin());
        let inertia = 1.0 / 3.0;
        let (kxx, kxz, kzz) = (1.0 + s * s / inertia, -s * c / inertia, 1.0 + c * c / inertia);
        let k = DMat3::from_cols(DVec3::new(kxx, 0.0, kxz), DVec3::new(0.0, 1.0, 0.0), DVec3::new(kxz, 0.0, kzz));
        for ux in [-2.0, -0.3, 0.0, 0.2, 1.0, 4.0] {
            for mu in [0.05, 0.3, 0.9] {
                for e in [0.0, 0.5, 1.0] {
                    let (x, z) = planar(kxx, kxz, kzz, (ux, -2.0), mu, e);
                    let done = collide(k, DVec3::new(ux, 0.0, -2.0), mu, e).unwrap();
                    assert_near(&format!("{angle} {ux} {mu} {e}"), done.velocity, DVec3::new(x, 0.0, z), 1e-6);
                    reversed += usize::from(x * ux < -1e-6);
                }
            }
        }
    }
    assert!(reversed > 5, "{reversed} cases slide back");
}

#[test]
fn no_collision_gains_energy_and_all_end_apart() {
    let mut random = Random(5);
    for case in 0..2000 {
        // K = Σ of random positive parts
        let mut k = DMat3::from_diagonal(DVec3::splat(0.05));
        for _ in 0..3 {
            let v = random.vector();
            k += DMat3::from_cols(v * v.x, v * v.y, v * v.z);
        }
        let u = DVec3::new(random.between(-3.0, 3.0), random.between(-3.0, 3.0), -random.between(0.1, 3.0));
        let (mu, e) = (random.between(0.0, 0.6), random.unit());
        // wedged cases may jam; they are told
        let Ok(done) = collide(k, u, mu, e) else { continue };
        let energy = |u: DVec3| 0.5 * u.dot(k.inverse() * u);
        assert!(done.velocity.z >= -1e-9, "case {case}: {done:?}");
        assert!(energy(done.velocity) <= energy(u) * (1.0 + 1e-9), "case {case}: {done:?}");
        let (t, n) = (done.impulse.truncate().length(), done.impulse.z);
        assert!(t <= mu * n * (1.0 + 1e-6) + 1e-9, "case {case}: outside the cone, {t} {n}");
        assert_near(&format!("case {case}"), k * done.impulse, done.velocity - u, 1e-7 * (1.0 + u.length()));
    }
}

#[test]
fn bad_collisions_are_refused() {
    let k = DMat3::IDENTITY;
    assert!(collide(k, DVec3::new(0.0, 0.0, f64::NAN), 0.1, 0.5).is_err());
    assert!(collide(k, -DVec3::Z, -0.1, 0.5).is_err());
    assert!(collide(k, -DVec3::Z, 0.1, 1.5).is_err());
    assert!(collide(DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.0)), -DVec3::Z, 0.1, 0.5).is_err());
    let apart = collide(k, DVec3::Z, 0.1, 0.5).unwrap();
    assert_eq!(apart.impulse, DVec3::ZERO);
}
