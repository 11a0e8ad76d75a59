//! Connections that we open: names with several addresses, proxies, and what servers
//! want to know.

pub(super) mod credentials;
pub(crate) mod dial;
pub(super) mod eyeballs;
pub(super) mod names;
pub(super) mod proxy;
pub(super) mod tunnel;
