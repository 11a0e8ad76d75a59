//! Send and receive: files and streams from one person to others.

pub(super) mod code;
pub(super) mod many;
pub(super) mod offered;
pub(super) mod other_side;
pub(super) mod questions;
pub(super) mod receive;
pub(super) mod receive_door;
pub(super) mod receive_failed;
pub(super) mod receive_from;
pub(super) mod receive_place;
pub(super) mod seats;
pub(super) mod send;
pub(super) mod silence;
pub(super) mod tally;
pub(super) mod unicast;
