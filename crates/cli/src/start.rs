//! What there is to say of a world before its first step.

use crate::table::{figure, plural};
use linkwork::World;

/// Overlap where a scene begins that is told, m. What rests overlaps by less.
const TOLD: f64 = 1e-3;
/// Pairs that are named.
const NAMED: usize = 5;

/// Shapes that collide as something else, and bodies that overlap.
pub fn warnings(world: &World) -> Vec<String> {
    let mut warnings: Vec<String> = world.shape_warnings().map(str::to_owned).collect();
    let overlaps = world.deep_overlaps(TOLD);
    let name = |body| world.body_name(body).unwrap_or("?");
    for o in overlaps.iter().take(NAMED) {
        warnings.push(format!(
            "bodies \"{}\" and \"{}\" overlap by {} m where the scene begins and will be pushed apart; move them apart, or give \
             their shapes groups and masks that do not meet",
            name(o.a),
            name(o.b),
            figure(o.depth)
        ));
    }
    if overlaps.len() > NAMED {
        warnings.push(format!("{} more overlap", plural((overlaps.len() - NAMED) as u64, "pair")));
    }
    warnings
}
