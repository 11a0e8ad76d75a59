//! What a sender offers: whether there is room for it, and how it is shown to the user.

use std::fmt::Display;

use servent::transfer::{OfferEntry, Quota, Shortage, TransferInbox, total};
use servent_core::text::Shown;

use crate::progress::{bytes, count};

/// How many names of an offer are shown.
const NAMES: usize = 10;

/// Why something has no room, and what to do about it.
pub(crate) struct NoRoom {
    pub(crate) why: String,
    pub(crate) next: &'static str,
}

/// Whether there is room for what of these entries is not there yet. A stream has no
/// known length; it is cut off when the room ends. Blocks.
pub(crate) fn room(
    inbox: &TransferInbox,
    quota: Option<&Quota>,
    entries: &[OfferEntry],
) -> Result<(), NoRoom> {
    if let Some(Shortage { wanted, free }) = inbox.lacks_room(entries) {
        let why = format!(
            "the disk is full: {} more are needed, {} are free",
            bytes(wanted),
            bytes(free)
        );
        return Err(NoRoom { why, next: "make room on that disk, and have it sent again" });
    }
    let (Some(quota), (_, Some(wanted))) = (quota, total(entries)) else { return Ok(()) };
    if quota.has_room(wanted) || quota.has_room(wanted.saturating_sub(inbox.exists(entries))) {
        return Ok(());
    }
    Err(NoRoom {
        why: String::from("the folder is full, it has no room for it by its --inbox-limit"),
        next: "take something out of it, or allow more with --inbox-limit",
    })
}

/// That an offer was refused, for the user of the receiver; `why` follows at once.
pub(crate) fn not_taken(title: &str, sender: impl Display, why: &str) -> String {
    format!("nothing was taken of {} from {sender}{why}", Shown(title))
}

/// The offer, as shown to the user.
pub(crate) fn offered(entries: &[OfferEntry], sender: impl Display) -> String {
    let (files, size) = total(entries);
    let size = size.map_or_else(|| String::from("of unknown size"), bytes);
    let mut text = format!("{sender} sends {}, {size}:\n", count(files as u64, "file"));
    let named = || entries.iter().filter(|entry| !entry.is_folder());
    for entry in named().take(NAMES) {
        let name = entry.text();
        let name = if name.is_empty() { "a stream without a name" } else { &name };
        let size = entry.length.map_or_else(|| String::from("of unknown size"), bytes);
        text.push_str(&format!("  {}  {size}\n", Shown(name)));
    }
    if files > NAMES {
        text.push_str(&format!("  and {} more\n", files - NAMES));
    }
    text
}
