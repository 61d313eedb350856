//! Work shared among threads. Every piece is done by itself and in any order, so results do not depend on how many there are.

/// Calls `work` once for every piece, with its number; among threads if there are `many` bodies in them, which waking the
/// threads is worth.
#[cfg(feature = "parallel")]
pub(crate) fn for_each<T: Send>(pieces: &mut [T], many: bool, work: impl Fn(usize, &mut T) + Sync + Send) {
    use rayon::prelude::*;
    if many && pieces.len() > 1 && rayon::current_num_threads() > 1 {
        // few at a time: one piece may take as long as many others
        let most = pieces.len().div_ceil(8 * rayon::current_num_threads());
        pieces.par_iter_mut().enumerate().with_max_len(most).for_each(|(k, piece)| work(k, piece));
    } else {
        pieces.iter_mut().enumerate().for_each(|(k, piece)| work(k, piece));
    }
}

/// Calls `work` once for every piece, with its number.
#[cfg(not(feature = "parallel"))]
pub(crate) fn for_each<T>(pieces: &mut [T], _many: bool, work: impl Fn(usize, &mut T)) {
    pieces.iter_mut().enumerate().for_each(|(k, piece)| work(k, piece));
}

/// Does work that shares parts of itself among threads on one of these, if there are `many` bodies in it. From outside, every
/// part would have to wake all of them, and wait.
#[cfg(feature = "parallel")]
pub(crate) fn on_a_thread<R: Send>(many: bool, work: impl FnOnce() -> R + Send) -> R {
    match many && rayon::current_num_threads() > 1 {
        true => rayon::scope(|_| work()),
        false => work(),
    }
}

/// Does the work.
#[cfg(not(feature = "parallel"))]
pub(crate) fn on_a_thread<R>(_many: bool, work: impl FnOnce() -> R) -> R {
    work()
}

/// Among how many threads work is shared.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Bodies from which on there are many.
pub(crate) const MANY: usize = 200;
