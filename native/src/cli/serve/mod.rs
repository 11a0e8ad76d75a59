//! Sharing: a servent that others download from, and what it says about itself.

pub(super) mod access_log;
pub(super) mod certificate;
pub(super) mod private;
pub(super) mod reach;
pub(super) mod received;
pub(super) mod rescan;
pub(super) mod service;
pub(super) mod share;
pub(super) mod shares;
pub(super) mod site;
pub(super) mod standby;
pub(super) mod wide;
