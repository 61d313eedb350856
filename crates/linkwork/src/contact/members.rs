//! Islands that are advanced by themselves, several at once: each with the mechanisms that are in it.

use super::{Contacts, Island, NONE};
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use crate::parallel::{MANY, for_each};
use std::ops::{Index, IndexMut};

/// The mechanisms of an island, by their numbers in the world.
pub(super) struct Members<'a> {
    /// In the order of their numbers.
    pub list: Vec<&'a mut Mechanism>,
    /// Of every unit: its place in its island.
    place: &'a [u32],
}

impl Index<u32> for Members<'_> {
    type Output = Mechanism;

    #[inline]
    fn index(&self, number: u32) -> &Mechanism {
        self.list[self.place[number as usize] as usize]
    }
}

impl IndexMut<u32> for Members<'_> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Mechanism {
        self.list[self.place[number as usize] as usize]
    }
}

impl Contacts {
    /// Works on islands, several at once.
    pub(super) fn work_on(
        &mut self,
        numbers: &[usize],
        mechanisms: &mut [Mechanism],
        herds: &Herds,
        work: impl Fn(&Contacts, &mut Island, &mut Members) + Sync + Send,
    ) {
        if let &[k] = numbers {
            let mut island = self.lend(k);
            let list = members_of(mechanisms, &island.mechanisms);
            work(self, &mut island, &mut Members { list, place: &self.place });
            return self.give_back(k, island);
        }
        let mut islands: Vec<_> = numbers.iter().map(|&k| self.lend(k)).collect();
        let contacts = &*self;
        let mut tasks: Vec<_> =
            islands.iter_mut().map(|island| (island, Members { list: Vec::new(), place: &contacts.place })).collect();
        let mut island_of = vec![NONE; mechanisms.len()];
        for (task, (island, _)) in tasks.iter().enumerate() {
            island.mechanisms.iter().for_each(|&m| island_of[m as usize] = task as u32);
        }
        for (mechanism, task) in mechanisms.iter_mut().zip(&island_of).filter(|(_, task)| **task != NONE) {
            tasks[*task as usize].1.list.push(mechanism);
        }
        let bodies: usize = tasks.iter().map(|(island, _)| island.body_count(herds)).sum();
        for_each(&mut tasks, bodies > MANY, |_, (island, members)| work(contacts, island, members));
        for (island, &k) in islands.into_iter().zip(numbers) {
            self.give_back(k, island);
        }
    }

    /// Where what belongs to a unit stands in lists of its island: mechanisms first, then bodies without joints.
    #[inline]
    pub(super) fn place_in(&self, island: &Island, unit: u32) -> usize {
        let place = self.place[unit as usize] as usize;
        if (unit as usize) < self.mechanism_count { place } else { island.mechanisms.len() + place }
    }
}

/// The mechanisms with these numbers, which rise.
fn members_of<'a>(mechanisms: &'a mut [Mechanism], numbers: &[u32]) -> Vec<&'a mut Mechanism> {
    let (mut rest, mut passed) = (mechanisms, 0);
    let mut next = |m: &u32| {
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(*m as usize + 1 - passed);
        (rest, passed) = (tail, *m as usize + 1);
        head.last_mut()
    };
    numbers.iter().filter_map(&mut next).collect()
}
