//! Explicit Runge–Kutta tableaux for the error-controlled mode.
//!
//! The coefficients of the 12-stage method of order 8 are those of Hairer, Nørsett and Wanner 1993 (*Solving Ordinary
//! Differential Equations I*, code DOP853); a test checks them by their order conditions.

/// A method: stage i is evaluated at y + h Σ a_ij k_j, the step is h Σ b_i k_i.
pub(crate) struct Tableau {
    /// Rows of a for stages 1, 2, …; stage 0 is the start.
    pub a: &'static [&'static [f64]],
    pub b: &'static [f64],
    pub estimate: Estimate,
    /// The step size follows the error to the power −1/order.
    pub order: f64,
}

/// How the local error is estimated.
pub(crate) enum Estimate {
    /// c·h(k_last − k_next), k_next the slope at the end of the step.
    LastSlope(f64),
    /// Hairer's blend of an estimate of order five and one of order three.
    FiveThree { e5: &'static [f64], e3: &'static [f64] },
}

/// The classical method of order four.
pub(crate) const RK4: Tableau = Tableau {
    a: &[&[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
    b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    estimate: Estimate::LastSlope(0.1),
    order: 4.0,
};

/// Order eight.
pub(crate) const DOP853: Tableau =
    Tableau { a: DOP853_A, b: DOP853_B, estimate: Estimate::FiveThree { e5: DOP853_E5, e3: DOP853_E3 }, order: 8.0 };

const DOP853_A: &[&[f64]] = &[
    &[0.05260015195876773],
    &[0.0197250569845379, 0.0591751709536137],
    &[0.02958758547680685, 0.0, 0.08876275643042054],
    &[0.2413651341592667, 0.0, -0.8845494793282861, 0.924834003261792],
    &[0.037037037037037035, 0.0, 0.0, 0.17082860872947386, 0.12546768756682242],
    &[0.037109375, 0.0, 0.0, 0.17025221101954405, 0.06021653898045596, -0.017578125],
    &[
        0.03709200011850479,
        0.0,
        0.0,
        0.17038392571223998,
        0.10726203044637328,
        -0.015319437748624402,
        0.008273789163814023,
    ],
    &[
        0.6241109587160757,
        0.0,
        0.0,
        -3.3608926294469414,
        -0.868219346841726,
        27.59209969944671,
        20.154067550477894,
        -43.48988418106996,
    ],
    &[
        0.47766253643826434,
        0.0,
        0.0,
        -2.4881146199716677,
        -0.590290826836843,
        21.230051448181193,
        15.279233632882423,
        -33.28821096898486,
        -0.020331201708508627,
    ],
    &[
        -0.9371424300859873,
        0.0,
        0.0,
        5.186372428844064,
        1.0914373489967295,
        -8.149787010746927,
        -18.52006565999696,
        22.739487099350505,
        2.4936055526796523,
        -3.0467644718982196,
    ],
    &[
        2.273310147516538,
        0.0,
        0.0,
        -10.53449546673725,
        -2.0008720582248625,
        -17.9589318631188,
        27.94888452941996,
        -2.8589982771350235,
        -8.87285693353063,
        12.360567175794303,
        0.6433927460157636,
    ],
];
const DOP853_B: &[f64] = &[
    0.054293734116568765,
    0.0,
    0.0,
    0.0,
    0.0,
    4.450312892752409,
    1.8915178993145003,
    -5.801203960010585,
    0.3111643669578199,
    -0.1521609496625161,
    0.20136540080403034,
    0.04471061572777259,
];
const DOP853_E3: &[f64] = &[
    -0.18980075407240762,
    0.0,
    0.0,
    0.0,
    0.0,
    4.450312892752409,
    1.8915178993145003,
    -5.801203960010585,
    -0.4226823213237919,
    -0.1521609496625161,
    0.20136540080403034,
    0.02265179219836082,
];
const DOP853_E5: &[f64] = &[
    0.01312004499419488,
    0.0,
    0.0,
    0.0,
    0.0,
    -1.2251564463762044,
    -0.4957589496572502,
    1.6643771824549864,
    -0.35032884874997366,
    0.3341791187130175,
    0.08192320648511571,
    -0.022355307863886294,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// One step of y' = f(t, y) for a scalar system of two unknowns, started at y(0).
    fn step(tableau: &Tableau, f: impl Fn([f64; 2]) -> [f64; 2], y: [f64; 2], h: f64) -> [f64; 2] {
        let mut k = vec![f(y)];
        for row in tableau.a {
            let at = |c: usize| y[c] + h * row.iter().zip(&k).map(|(a, k)| a * k[c]).sum::<f64>();
            k.push(f([at(0), at(1)]));
        }
        let end = |c: usize| y[c] + h * tableau.b.iter().zip(&k).map(|(b, k)| b * k[c]).sum::<f64>();
        [end(0), end(1)]
    }

    #[test]
    fn both_methods_have_their_order_on_a_nonlinear_pendulum() {
        let f = |y: [f64; 2]| [y[1], -y[0].sin()];
        for (tableau, order, h) in [(&RK4, 4, 0.1), (&DOP853, 8, 0.8)] {
            let run = |n: usize| (0..n).fold([1.0, 0.3], |y, _| step(tableau, f, y, h * 2.0 / n as f64));
            let truth = (0..400).fold([1.0, 0.3], |y, _| step(&DOP853, f, y, h * 2.0 / 400.0));
            let error = |n: usize| (run(n)[0] - truth[0]).hypot(run(n)[1] - truth[1]);
            let observed = (error(2) / error(4)).log2();
            assert!((observed - f64::from(order)).abs() < 0.7, "order {order}: observed {observed}");
        }
    }

    #[test]
    fn error_weights_vanish_on_a_constant_slope() {
        assert!((DOP853_B.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(DOP853_E5.iter().sum::<f64>().abs() < 1e-14);
        assert!(DOP853_E3.iter().sum::<f64>().abs() < 1e-14);
    }
}
