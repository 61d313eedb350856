//! How large and small numbers may be. Beyond these nobody means them, and squares and quotients of them leave the range of numbers some steps
//! later: they are refused where they are given, with their place.

use std::ops::RangeInclusive;

/// Largest coordinate and length, m.
pub(crate) const FARTHEST: f64 = 1e9;
/// Largest speed, m/s and rad/s.
pub(crate) const FASTEST: f64 = 1e7;
/// Masses, kg: from far less than an atom to that of the sun.
pub(crate) const MASSES: RangeInclusive<f64> = 1e-30..=1e31;
/// Moments of inertia, kg m²: of such masses, smaller than a nanometre and as large as coordinates go.
pub(crate) const MOMENTS: RangeInclusive<f64> = 1e-60..=1e50;
/// Largest force, torque, impulse, stiffness and damping, in SI units.
pub(crate) const STRONGEST: f64 = 1e15;
