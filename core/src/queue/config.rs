//! Every limit and interval of the upload queue, by name.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// When those in line are told to ask. Order, ids, what is remembered and what
/// a fault costs are the same in both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// By position alone, as the texts have it.
    #[default]
    Text,
    /// By what is measured: as soon as a slot is expected (QA-1).
    Adaptive,
}

/// Limits and intervals of the upload queue. Intervals are at full scale;
/// [`Config::time_scale`] shortens all of them together for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// When those in line are told to ask.
    pub policy: Policy,
    /// Uploads that may run at once.
    pub slots: u32,
    /// Slots that one address may keep from others, its share; a /64 network of
    /// IPv6 is one address. 0: half of them, rounded up. While nobody else wants
    /// one it may have more; whoever comes then is served beside it, so that for a
    /// while as many uploads more run than it has beyond its share.
    pub slots_per_ip: u32,
    /// Places in the line; beyond it a plain 503 (AQ-10).
    pub capacity: u32,
    /// Places in the line for one address; a /64 network of IPv6 is one.
    pub per_ip: u32,
    /// How long an adaptive server holds the request of a client that said it
    /// waits for the answer (QA-3).
    pub hold: Duration,
    /// How long an adaptive server holds the request of a client that knows of
    /// no queues (QA-3).
    pub hold_plain: Duration,
    /// Requests held at once.
    pub holds: u32,
    /// Requests held at once for one address; a /64 network of IPv6 is one.
    pub holds_per_ip: u32,
    /// How many first places keep their connection: PARQ's Sq (PQ-1).
    pub sync_places: u32,
    /// How much too early a request may be (decision §2.6).
    pub early_tolerance: Duration,
    /// How long a broken connection of the synchronous part, a passive client
    /// or a place after a restart is remembered (PQ-10, PQ-11).
    pub remanence: Duration,
    /// Disconnections allowed in the synchronous part; at least 1 (PARQ §4).
    pub breaks_allowed: u8,
    /// How long a slot waits for the owner of a broken transfer (PQ-14).
    pub slot_reserve: Duration,
    /// How long an adaptive server lets a slot wait for the owner of a broken
    /// transfer while others stand in line; then the owner is first of the line
    /// again (QA-6).
    pub slot_reserve_contested: Duration,
    /// How long a free slot is kept for an entitled client inside its window
    /// before others of the line may be served, newcomers still not (decision
    /// §2.5). Whoever asks in its time after it was passed so is not passed
    /// again.
    pub entitled_reserve: Duration,
    /// How long a slot waits for the next range on the same connection after
    /// one that did not reach the end of the file (AQ-9).
    pub continue_hold: Duration,
    /// Bytes that one turn of an adaptive server has for small files: whoever takes
    /// file after file on one connection gets the next one in the same slot, as
    /// long as they are no more than this together. 0: a turn is one file (QA-7).
    pub turn_bytes: u64,
    /// How long such a turn may last; a file that is asked for later belongs to the
    /// next turn.
    pub turn_time: Duration,
    /// How long a slot waits for the next file of a turn on the same connection.
    pub turn_hold: Duration,
    /// Ranges one stay in a slot may have; then it goes to the end of the
    /// line, so that nobody stays for ever by never asking for the end.
    pub ranges_per_slot: u32,
    /// Transfers of one stay in a slot that may break and keep it (PQ-14).
    pub slot_breaks: u8,
    /// `QUEUE` calls without an answer before the place is lost (§2.9).
    pub calls: u8,
    /// Time between two calls to one place.
    pub call_spacing: Duration,
    /// Calls to one address within [`Config::call_spacing`].
    pub calls_per_ip: u32,
    /// Calls in all within one second.
    pub calls_per_second: u32,
    /// Requests of one address within a minute before it is hammering.
    pub hammer_requests: u32,
    /// How long a hammering address is refused.
    pub hammer_pause: Duration,
    /// Addresses whose requests are counted, at most.
    pub hammer_table: u32,
    /// Upload bandwidth in bytes a second for the ETA (PQ-15); 0: it is
    /// measured, and no ETA is told until it is.
    pub bandwidth: u64,
    /// Divides every interval of the schedule, told and enforced alike.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: Policy::Text,
            slots: 4,
            slots_per_ip: 0,
            capacity: 5_000,
            per_ip: 32,
            hold: Duration::from_secs(25),
            hold_plain: Duration::from_secs(20),
            holds: 256,
            holds_per_ip: 32,
            sync_places: 50,
            early_tolerance: Duration::from_secs(1),
            remanence: Duration::from_secs(300),
            breaks_allowed: 1,
            slot_reserve: Duration::from_secs(300),
            slot_reserve_contested: Duration::from_secs(5),
            entitled_reserve: Duration::from_secs(60),
            continue_hold: Duration::from_secs(5),
            turn_bytes: 4 << 20,
            turn_time: Duration::from_secs(30),
            turn_hold: Duration::from_millis(500),
            ranges_per_slot: 65_536,
            slot_breaks: 3,
            calls: 2,
            call_spacing: Duration::from_secs(60),
            calls_per_ip: 4,
            calls_per_second: 20,
            hammer_requests: 60,
            hammer_pause: Duration::from_secs(60),
            hammer_table: 65_536,
            bandwidth: 0,
            time_scale: 1,
        }
    }
}
