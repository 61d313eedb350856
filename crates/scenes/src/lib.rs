//! Named scenes.
