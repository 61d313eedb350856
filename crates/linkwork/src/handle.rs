//! Generational ids: an id of something removed never finds what came after it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// What an id can name.
pub mod kinds {
    /// Marks ids of bodies.
    #[derive(Clone, Copy, Debug)]
    pub enum Body {}
    /// Marks ids of joints.
    #[derive(Clone, Copy, Debug)]
    pub enum Joint {}
}

/// Names a body.
pub type BodyId = Id<kinds::Body>;
/// Names a joint.
pub type JointId = Id<kinds::Joint>;

/// Names one `T` of a world; stays valid until it is removed, and is never reused.
pub struct Id<T> {
    slot: u32,
    generation: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    pub(crate) fn slot(self) -> usize {
        self.slot as usize
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.slot, self.generation) == (other.slot, other.generation)
    }
}
impl<T> Eq for Id<T> {}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.slot, self.generation).hash(state);
    }
}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.slot, self.generation).cmp(&(other.slot, other.generation))
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.slot, self.generation)
    }
}

#[derive(Clone, Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Values by generational id, iterated in slot order.
#[derive(Clone, Debug)]
pub(crate) struct Arena<T, K> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    kind: PhantomData<fn() -> K>,
}

impl<T, K> Default for Arena<T, K> {
    fn default() -> Self {
        Arena { slots: Vec::new(), free: Vec::new(), kind: PhantomData }
    }
}

impl<T, K> Arena<T, K> {
    pub fn insert(&mut self, value: T) -> Id<K> {
        if let Some(slot) = self.free.pop() {
            let s = &mut self.slots[slot as usize];
            s.value = Some(value);
            return Id { slot, generation: s.generation, kind: PhantomData };
        }
        self.slots.push(Slot { generation: 0, value: Some(value) });
        Id { slot: (self.slots.len() - 1) as u32, generation: 0, kind: PhantomData }
    }

    pub fn remove(&mut self, id: Id<K>) -> Option<T> {
        let slot = self.slots.get_mut(id.slot()).filter(|s| s.generation == id.generation)?;
        let value = slot.value.take()?;
        slot.generation += 1;
        self.free.push(id.slot);
        Some(value)
    }

    pub fn get(&self, id: Id<K>) -> Option<&T> {
        self.slots.get(id.slot()).filter(|s| s.generation == id.generation)?.value.as_ref()
    }

    pub fn get_mut(&mut self, id: Id<K>) -> Option<&mut T> {
        self.slots.get_mut(id.slot()).filter(|s| s.generation == id.generation)?.value.as_mut()
    }

    pub fn at(&self, slot: usize) -> Option<&T> {
        self.slots.get(slot)?.value.as_ref()
    }

    pub fn at_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.slots.get_mut(slot)?.value.as_mut()
    }

    /// Slots in use, and those that were.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    pub fn id_at(&self, slot: usize) -> Option<Id<K>> {
        let s = self.slots.get(slot).filter(|s| s.value.is_some())?;
        Some(Id { slot: slot as u32, generation: s.generation, kind: PhantomData })
    }

    pub fn iter(&self) -> impl Iterator<Item = (Id<K>, &T)> {
        self.slots.iter().enumerate().filter_map(|(slot, s)| {
            let id = Id { slot: slot as u32, generation: s.generation, kind: PhantomData };
            s.value.as_ref().map(|v| (id, v))
        })
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Id<K>, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(slot, s)| {
            let id = Id { slot: slot as u32, generation: s.generation, kind: PhantomData };
            s.value.as_mut().map(|v| (id, v))
        })
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_id_does_not_find_the_new_tenant_of_its_slot() {
        let mut arena: Arena<char, kinds::Body> = Arena::default();
        let a = arena.insert('a');
        assert_eq!(arena.remove(a), Some('a'));
        let b = arena.insert('b');
        assert_eq!((arena.get(a), arena.get(b)), (None, Some(&'b')));
        assert_eq!(arena.remove(a), None);
        assert_eq!(arena.len(), 1);
    }
}
