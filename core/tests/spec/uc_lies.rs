//! UC-2: acknowledgements that cannot be true.

use crate::unicast_support;

use servent_core::unicast::{ConnEnding, DeliveryOrder, Event, Profile, Side};
use servent_core::wire::unicast::{
    Ack, AckCounts, ConnBlock, Data, MessageFragment, Packet, UnicastConnId,
};
use unicast_support::{World, addr, message};

fn deceived(event: &Event) -> bool {
    matches!(event, Event::Closed { side: Side::Sender, why: ConnEnding::Deceived, .. })
}

/// One message, in the name of the sender.
fn forged(conn: UnicastConnId, seq: u64) -> Packet {
    let order = DeliveryOrder::InOrder;
    let messages =
        vec![MessageFragment { order, continues: false, more: false, payload: message(seq) }];
    let (first, again, token) = (false, false, None);
    Packet { blocks: vec![ConnBlock::Data(Data { conn, seq, first, again, token, messages })] }
}

#[test]
fn uc_2_a_peer_that_has_what_was_never_sent_is_left_soon_and_told_so() {
    let mut world = World::pair(Profile::Adaptive);
    world.send_all(0, 1, 1..=20);
    world.run_secs(1);
    let conn = world.sender(0, 1).unwrap().conn;
    for seq in [500, 700] {
        world.inject(1, addr(0), forged(conn, seq));
    }
    world.send_all(0, 1, 21..=100);
    world.run_secs(2);
    assert_eq!(world.count(0, deceived), 1);
    let told = |event: &Event| matches!(event, Event::Closed { side: Side::Receiver, .. });
    assert_eq!(world.count(1, told), 1);
}

#[test]
fn uc_2_false_acknowledgements_among_true_ones_end_nothing() {
    let mut world = World::pair(Profile::Adaptive);
    world.send(0, 1, 1);
    world.run_secs(1);
    let conn = world.sender(0, 1).unwrap().conn;
    for n in 2..=200 {
        world.send(0, 1, n);
        for _ in 0..5 {
            world.run_ms(10);
            let counts = AckCounts::default();
            let (upto, delay, messages, bytes) = (1, 0, 100, 100_000);
            let (newest, wanted) = (10_000, vec![]);
            let ack = Ack { conn, upto, newest, delay, messages, bytes, wanted, counts };
            world.inject(0, addr(1), Packet { blocks: vec![ConnBlock::Ack(ack)] });
        }
    }
    world.run_secs(1);
    assert_eq!(world.numbers(1, 0), (1..=200).collect::<Vec<_>>());
    assert_eq!(world.count(0, |event| matches!(event, Event::Closed { .. })), 0);
}
