//! Explicit Runge–Kutta tableaux.
