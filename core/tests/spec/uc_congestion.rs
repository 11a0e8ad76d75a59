//! UC-14: what a connection takes of a network it shares with others.

use crate::unicast_support;

use std::net::SocketAddr;

use servent_core::engine::{Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Endpoint, Input, Output, UnicastPayload,
};
use servent_core::wire::unicast::{ConnBlock, Packet};
use unicast_support::World;

/// Bytes of messages in the first breath towards an address, before anybody
/// has answered.
fn first_breath(config: &Config, peer: SocketAddr) -> usize {
    let mut end = Endpoint::new(config.clone(), Rng::new(1));
    let (now, mut fx) = (Instant::from_secs(1), Fx::new());
    for _ in 0..100 {
        let payload = UnicastPayload::from(vec![0; 1_000]);
        end.handle(now, Input::Send { peer, payload, order: DeliveryOrder::InOrder }, &mut fx);
    }
    end.handle(now, Input::Flush, &mut fx);
    let packets = fx.outputs().filter_map(|output| match output {
        Output::Packet { packet, .. } => Some(packet),
        _ => None,
    });
    packets.map(data_bytes).sum()
}

fn data_bytes(packet: &Packet) -> usize {
    let data = packet.blocks.iter().filter_map(|block| match block {
        ConnBlock::Data(data) => {
            Some(data.messages.iter().map(|it| it.payload.len()).sum::<usize>())
        }
        _ => None,
    });
    data.sum()
}

#[test]
fn uc_14_congestion_control_is_on_by_default_to_every_address() {
    let config = Config::default();
    assert_eq!(config.congestion, Congestion::Bbr);
    let ten = 10 * config.mtu as usize;
    let far = ["192.0.2.7:7000", "10.0.0.7:7000", "[2001:db8::7]:7000"];
    // The buffers of two sockets are a path too: on loopback a quarter was lost in them.
    let near = ["127.0.0.1:7000", "[::1]:7000", "[::ffff:127.0.0.1]:7000"];
    for peer in far.into_iter().chain(near) {
        let sent = first_breath(&config, peer.parse().unwrap());
        assert!((ten / 2..=ten).contains(&sent), "{peer}: {sent} bytes, ten datagrams");
    }
    let without = Config { congestion: Congestion::None, ..config };
    assert!(first_breath(&without, "192.0.2.7:7000".parse().unwrap()) > 3 * ten);
}

/// Sends 160 kB in datagrams of 200 bytes; the most that was under way.
fn most_under_way(loss: u64) -> u64 {
    let config = Config { mtu: 200, congestion: Congestion::Cubic, ..Config::default() };
    let mut world = World::new(config, 2, 5);
    world.link.loss = loss;
    world.send_all(0, 1, 0..20_000);
    let mut most = 0;
    while world.unacked(0, 1) > 0 {
        world.run_ms(1);
        most = most.max(world.sender(0, 1).unwrap().flight);
    }
    assert_eq!(world.numbers(1, 0), (0..20_000).collect::<Vec<_>>());
    most
}

#[test]
fn uc_14_where_something_is_lost_less_is_under_way() {
    let (clear, lossy) = (most_under_way(0), most_under_way(50));
    assert!(lossy * 3 < clear, "{lossy} bytes under way with loss, {clear} without");
}
