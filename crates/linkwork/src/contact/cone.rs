//! Coulomb's cone: all impulses (n, t) with |t| ≤ μ n, and the projection onto it.

/// Normal part first.
pub(super) type Triple = [f64; 3];

/// The nearest point of the cone.
pub(super) fn project(z: &Triple, mu: f64) -> Triple {
    let t = (z[1] * z[1] + z[2] * z[2]).sqrt();
    if z[0] >= 0.0 && t <= mu * z[0] {
        return *z;
    }
    if mu * t <= -z[0] {
        return [0.0; 3];
    }
    let n = (mu * t + z[0]) / (1.0 + mu * mu);
    let slide = mu * n / t;
    [n, slide * z[1], slide * z[2]]
}

/// The derivative of [`project`]: symmetric, with eigenvalues between 0 and 1.
pub(super) fn derivative(z: &Triple, mu: f64) -> [Triple; 3] {
    let t = (z[1] * z[1] + z[2] * z[2]).sqrt();
    if z[0] >= 0.0 && t <= mu * z[0] {
        return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    }
    if mu * t <= -z[0] {
        return [[0.0; 3]; 3];
    }
    let c = 1.0 / (1.0 + mu * mu);
    let n = (mu * t + z[0]) * c;
    let d = [z[1] / t, z[2] / t];
    let (along, across) = (mu * mu * c, mu * n / t);
    let tt = |i: usize, j: usize| along * d[i] * d[j] + across * (f64::from(i == j) - d[i] * d[j]);
    let tn = [mu * c * d[0], mu * c * d[1]];
    [[c, tn[0], tn[1]], [tn[0], tt(0, 0), tt(0, 1)], [tn[1], tt(1, 0), tt(1, 1)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> impl Iterator<Item = (Triple, f64)> {
        let mut seed = 7_u64;
        std::iter::repeat_with(move || {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
            };
            ([next(), next(), next()], 0.01 + next().abs())
        })
        .take(2000)
        // without friction, and nothing along the surface: pulling must not pass for sticking
        .chain([([-1.0, 0.0, 0.0], 0.0), ([1.0, 0.0, 0.0], 0.0), ([-1.0, 0.5, 0.0], 0.0)])
    }

    #[test]
    fn the_projection_is_the_nearest_point_of_the_cone() {
        for (z, mu) in samples() {
            let p = project(&z, mu);
            assert!(p[1].hypot(p[2]) <= mu * p[0] + 1e-12);
            // Moreau: what is left over is orthogonal to the point, and in the polar cone
            let rest = [z[0] - p[0], z[1] - p[1], z[2] - p[2]];
            let product: f64 = (0..3).map(|k| rest[k] * p[k]).sum();
            assert!(product.abs() < 1e-12);
            assert!(mu * rest[1].hypot(rest[2]) <= -rest[0] + 1e-12);
        }
    }

    #[test]
    fn the_derivative_is_that_of_the_projection() {
        for (z, mu) in samples() {
            let t = z[1].hypot(z[2]);
            let at_an_edge = (t - mu * z[0]).abs() < 1e-4 || (mu * t + z[0]).abs() < 1e-4 || t < 1e-3;
            if at_an_edge {
                continue;
            }
            let d = derivative(&z, mu);
            for k in 0..3 {
                let (mut ahead, mut behind) = (z, z);
                ahead[k] += 1e-6;
                behind[k] -= 1e-6;
                let (ahead, behind) = (project(&ahead, mu), project(&behind, mu));
                for i in 0..3 {
                    let slope = (ahead[i] - behind[i]) / 2e-6;
                    assert!((slope - d[i][k]).abs() < 1e-6, "{z:?} {mu}: {slope} for {}", d[i][k]);
                }
            }
        }
    }
}
