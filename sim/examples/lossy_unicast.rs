//! A hundred messages over a link that loses a fifth of all datagrams: each
//! arrives, once, and in its order.

use servent_core::node::Config;
use servent_core::time::Duration;
use servent_core::unicast;
use servent_sim::Bench;
use servent_sim::unicast::DatagramLink;

pub(crate) fn main() {
    let config = || Config { datagrams: Some(unicast::Config::default()), ..Config::default() };
    let mut bench = Bench::new(7);
    let alice = bench.node("alice", config());
    let bob = bench.node("bob", config());
    bench.datagrams(DatagramLink {
        loss: (1, 5),
        jitter: Duration::from_millis(5),
        ..DatagramLink::default()
    });
    for n in 0..100_u8 {
        bench.send(alice, bob, vec![n; 1_000]);
    }

    let done = |bench: &Bench| bench.delivered(bob).len() == 100;
    assert!(bench.run_until(Duration::from_secs(60), done), "losses are mended");
    let order: Vec<u8> = bench.delivered(bob).iter().map(|message| message[0]).collect();
    assert_eq!(order, (0..100).collect::<Vec<u8>>());
    println!("100 messages, one after the other, in {:?}", bench.now());
}
