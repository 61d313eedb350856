//! Tests of what the engine does not reach yet; each names the symptom and its cause. Not part of the suite until it passes.

use crate::random_mechanism::Ingredients;
use crate::{invariants, scenes};

/// The table asks for 4 iterations in the mean; it takes 4.6.
#[test]
fn the_peaucellier_linkage_reaches_its_figures() {
    let (_, iterations) = scenes::line_error();
    assert!(iterations <= 4.0, "{iterations} iterations in the mean");
}

/// The last resort gains energy where springs, dampers, friction or limits act: their impulses, solved through the mechanism
/// (W), are put on single bodies in free flight without the joints' answer, and the projection starts far away. 2e17 J in
/// one step for the second of these; 550 of 3000 random mechanisms with things acting fail, 17 of 3000 without.
#[test]
fn the_last_resort_does_not_gain_energy() {
    let with = Ingredients {
        bodies: 2,
        loops: 0,
        decades: 6.0,
        grounded: true,
        acting: true,
        gears: false,
        gravity: 9.81,
        spin: 15.0,
    };
    invariants::check(13794361305318402045, with, 60);
    invariants::check(18199291954862530605, Ingredients { bodies: 7, ..with }, 60);
    invariants::check(11580534346490507395, Ingredients { gravity: 0.0, spin: 4.0, ..with }, 60);
    let bare = Ingredients { bodies: 4, loops: 3, grounded: false, acting: false, ..with };
    invariants::check(4271921324024560624, Ingredients { gravity: 0.0, ..bare }, 60);
    invariants::check(7286686247974928051, Ingredients { spin: 4.0, ..bare }, 60);
}
