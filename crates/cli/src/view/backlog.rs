//! What was ordered and is not done yet: steps while time stands still, and the orders that came after them.
//!
//! A page may order more steps than a frame has time for. They are made a few at a time, and what the page orders after them
//! waits here for its turn, so that the session hears everybody at any time.

use super::orders::Order;
use super::session::Client;
use std::collections::VecDeque;

/// Steps that may wait, of all pages together.
pub const MOST_STEPS_WAITING: u32 = 10_000;
/// Orders that may wait behind steps.
pub const MOST_ORDERS_WAITING: usize = 1024;

/// The next thing to do.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// A step.
    Step,
    /// An order of a page.
    Order(Client, Order),
}

#[derive(Debug)]
enum Waiting {
    Steps(u32),
    Order(Client, Order),
}

/// Steps and orders in the order in which they came.
#[derive(Debug, Default)]
pub struct Backlog {
    waiting: VecDeque<Waiting>,
    steps: u32,
    orders: usize,
}

impl Backlog {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// More steps to make; refused if too many wait already.
    pub fn add_steps(&mut self, count: u32) -> Result<(), String> {
        let steps = self.steps.saturating_add(count);
        if steps > MOST_STEPS_WAITING {
            let waiting = self.steps;
            return Err(format!(
                "{waiting} steps are still to be made, and at most {MOST_STEPS_WAITING} can wait; \"reset\" or \"play\" break them off"
            ));
        }
        self.steps = steps;
        match self.waiting.back_mut() {
            Some(Waiting::Steps(before)) => *before += count,
            _ => self.waiting.push_back(Waiting::Steps(count)),
        }
        Ok(())
    }

    /// An order that must not be carried out before the steps that wait; refused if too many wait already.
    pub fn add_order(&mut self, client: Client, order: Order) -> Result<(), String> {
        if self.orders >= MOST_ORDERS_WAITING {
            return Err(format!("{} orders wait for steps already; this one was dropped", self.orders));
        }
        self.orders += 1;
        self.waiting.push_back(Waiting::Order(client, order));
        Ok(())
    }

    /// What comes next.
    pub fn take(&mut self) -> Option<Next> {
        if let Some(Waiting::Steps(count)) = self.waiting.front_mut()
            && *count > 1
        {
            *count -= 1;
            self.steps -= 1;
            return Some(Next::Step);
        }
        match self.waiting.pop_front()? {
            Waiting::Steps(_) => {
                self.steps -= 1;
                Some(Next::Step)
            }
            Waiting::Order(client, order) => {
                self.orders -= 1;
                Some(Next::Order(client, order))
            }
        }
    }

    /// Forgets the steps; what was ordered besides them still has to be done.
    pub fn drop_steps(&mut self) {
        self.waiting.retain(|waiting| matches!(waiting, Waiting::Order(..)));
        self.steps = 0;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Backlog::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dt(value: f64) -> Order {
        Order::Dt { value }
    }

    #[test]
    fn everything_comes_in_its_turn() {
        let mut backlog = Backlog::default();
        backlog.add_steps(1).unwrap();
        backlog.add_steps(1).unwrap();
        backlog.add_order(7, dt(0.1)).unwrap();
        backlog.add_steps(1).unwrap();
        let order = Next::Order(7, dt(0.1));
        for wanted in [Some(Next::Step), Some(Next::Step), Some(order), Some(Next::Step), None] {
            assert_eq!(backlog.take(), wanted);
        }
        assert!(backlog.is_empty());
    }

    #[test]
    fn steps_that_are_broken_off_leave_orders_behind() {
        let mut backlog = Backlog::default();
        backlog.add_steps(1000).unwrap();
        backlog.add_order(7, dt(0.1)).unwrap();
        backlog.drop_steps();
        assert_eq!(backlog.take(), Some(Next::Order(7, dt(0.1))));
        assert_eq!(backlog.take(), None);
        backlog.add_steps(MOST_STEPS_WAITING).unwrap();
    }

    #[test]
    fn no_more_than_so_much_waits() {
        let mut backlog = Backlog::default();
        for _ in 0..10 {
            backlog.add_steps(MOST_STEPS_WAITING / 10).unwrap();
        }
        assert!(backlog.add_steps(1).unwrap_err().contains("10000 steps"));
        assert_eq!(backlog.take(), Some(Next::Step));
        backlog.add_steps(1).unwrap();
        for k in 0..MOST_ORDERS_WAITING {
            backlog.add_order(k as Client, dt(0.1)).unwrap();
        }
        assert!(backlog.add_order(1, dt(0.1)).is_err());
    }
}
