//! How the other side is found: a meeting place, the local network, a name with several
//! addresses; and what this network lets through.

pub(super) mod anywhere;
mod diagnosis;
pub(super) mod dial;
pub(super) mod doctor;
pub(super) mod lan;
pub(super) mod link;
pub(super) mod map_port;
pub(super) mod mdns;
pub(super) mod meet;
pub(super) mod near;
mod no_path;
pub(super) mod place;
pub(super) mod via;
pub(super) mod visitors;
