//! One servent shares a file, another one downloads it, and everything that
//! was recorded is told.

use servent_core::node::Config;
use servent_core::time::Duration;
use servent_sim::Bench;

pub(crate) fn main() {
    let mut bench = Bench::new(7);
    let alice = bench.node("alice", Config::default());
    let bob = bench.node("bob", Config::default());
    bench.share(alice, "song.ogg", 3_000_000);
    bench.get(bob, alice, "song.ogg");

    let whole = bench.run_until(Duration::from_secs(60), |bench| bench.fetched(bob) == 1);
    for record in bench.records() {
        println!("{:?} node {} {:?}", record.at, record.node.0, record.event);
    }
    println!("whole: {whole}, after {:?}, digest {:016x}", bench.now(), bench.digest());
    assert!(whole, "three megabytes at one a second take three seconds");
}
