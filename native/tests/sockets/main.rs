//! The driver on real sockets, called as a library.

#[path = "../support/common/mod.rs"]
mod common;
#[path = "../support/recorded/mod.rs"]
mod recorded;

mod arrivals;
mod caches;
mod door;
mod foreign;
mod foreign_peers;
mod foreign_proxies;
mod handover;
mod loopback;
#[cfg(target_os = "linux")] // Elsewhere no datagram says that it may be marked.
mod marks;
mod parity;
mod proofs;
mod relay;
mod websocket;
