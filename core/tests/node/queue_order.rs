//! The order of what a node reports and saves about its queue.

use crate::node_support;

use node_support::{Host, config, get, status};
use servent_core::engine::Effect;
use servent_core::node::{HttpCommand, Input, NodeCommand};
use servent_core::queue::{Event as Queue, QueuePolicy};
use servent_core::trace::Event;

/// The transfer of an empty file ends the moment its slot is granted.
#[test]
fn what_follows_from_one_grant_comes_after_the_grants_of_the_same_moment() {
    let mut config = config();
    config.queue.policy = QueuePolicy::Adaptive;
    let mut host = Host::new(config, &[100_000, 0]);
    host.stalled = true;
    let (_, reply) = host.ask("9.9.9.1:1", "");
    assert_eq!(status(&reply), 200);
    let waiting = ["9.9.9.2:1", "9.9.9.3:1"].map(|peer| {
        let conn = host.accept(peer);
        assert_eq!(host.say(conn, &get(1, "")), "", "the answer is held back");
        conn
    });
    host.log.clear();
    host.input(Input::Command(NodeCommand::Http(HttpCommand::Slots { slots: 3 })));
    for conn in waiting {
        assert_eq!(status(&host.heard(conn)), 200);
    }

    // The free slots that are reported are those that the events leave.
    let mut free = 2;
    let mut granted = 0;
    for effect in &host.log {
        match effect {
            Effect::Event(Event::Queue(Queue::Started { free: said, .. })) => {
                (free, granted) = (free - 1, granted + 1);
                assert_eq!(*said, free, "after {granted} grants");
            }
            Effect::Event(Event::Queue(Queue::Finished { free: said, .. })) => {
                free += 1;
                assert_eq!(*said, free, "after {granted} grants");
            }
            _ => {}
        }
    }
    assert_eq!((granted, free), (2, 2));
}
