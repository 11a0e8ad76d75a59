//! The oracles speak up when something waits too long for clients that may have
//! left.

use servent_core::node::WorldEvent;
use servent_core::queue::{Dialect, Event as Queue, QueuePolicy};
use servent_core::trace::Event;

use crate::oracles::{arrives, asks, starts, ticket, told, verdict_at};

fn restored(n: u8, position: u32) -> Event {
    Event::Queue(Queue::Restored { ticket: ticket(n), arrival: u64::from(n), position })
}

fn at(second: u64, events: impl IntoIterator<Item = Event>) -> Vec<(u64, Event)> {
    events.into_iter().map(|event| (second, event)).collect()
}

#[test]
fn a_slot_reserved_too_long_for_an_owner_that_was_restored_is_seen() {
    let story = |freed| {
        let adaptive = Event::Queue(Queue::Policy { policy: QueuePolicy::Adaptive });
        let given_on = Event::Queue(Queue::Unreserved { ticket: ticket(1), free: 1 });
        let begins = at(0, [adaptive, restored(1, 0)]);
        let waits = at(10, arrives(2, Dialect::Parq, 1, 1));
        verdict_at(1, [begins, waits, at(freed, [given_on, starts(2, 0)])].concat())
    };
    assert_eq!(story(15), [""; 0], "five seconds are a moment");
    assert_eq!(story(17), ["check.reserve_idle"]);
}

#[test]
fn a_slot_kept_for_the_place_of_a_client_that_is_gone_since_a_restart_is_seen() {
    let story = |asked| {
        let [accepted, request] = asks(1);
        let before = [vec![accepted, request, starts(1, 0)], arrives(2, Dialect::Parq, 1, 1)];
        let crash = [Event::World(WorldEvent::Crashed), restored(2, 1)];
        let newcomer = at(asked, arrives(3, Dialect::Parq, 2, 2));
        verdict_at(1, [at(0, before.concat()), at(20, crash), newcomer].concat())
    };
    assert_eq!(story(22), [""; 0], "it may come back in this moment");
    assert_eq!(story(26), ["check.idle_slot"]);
}

#[test]
fn one_that_was_told_to_disconnect_may_be_waited_for_as_long_as_it_was_told() {
    let crash = [Event::World(WorldEvent::Crashed), restored(2, 1)];
    let Event::Queue(Queue::Told {
        ticket, dialect, position, length, not_before, deadline, ..
    }) = told(2, 1, 1)
    else {
        unreachable!("it was told");
    };
    let keep = false;
    let told = Queue::Told { ticket, dialect, position, length, not_before, deadline, keep };
    let mut waits = arrives(2, Dialect::Parq, 1, 1);
    waits.pop();
    let before = [asks(1).to_vec(), vec![starts(1, 0)], waits, vec![Event::Queue(told)]].concat();
    let newcomer = at(100, arrives(3, Dialect::Parq, 2, 2));
    assert_eq!(verdict_at(1, [at(0, before), at(20, crash), newcomer].concat()), [""; 0]);
}
