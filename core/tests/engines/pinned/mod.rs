//! Lives drawn from seeds, and the digest of everything an engine said in each
//! of them, pinned. A person who changes what an engine decides sees it here in a
//! second; a recording of yesterday replays only while these stand.

mod queue;
mod queue_client;
mod routing;
mod swarm;
mod swarm_client;
mod unicast;

/// Compares lines of lives and digests with those in `NAME.txt` beside this
/// file.
fn compare(name: &str, pinned: &str, now: &str) {
    if std::env::var_os("PIN").is_some() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engines/pinned");
        return std::fs::write(format!("{folder}/{name}.txt"), now).expect("a file to write");
    }
    let pin = "PIN=1 cargo test -p servent-core --test engines pinned";
    assert_eq!(now, pinned, "if this change is meant: {pin}");
}
