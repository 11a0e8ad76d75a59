//! The limits and intervals of the upload queue.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// How waiting clients are scheduled to ask. Order, ids, what is remembered and
/// the penalties for faults are the same under both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum QueuePolicy {
    /// By position alone, as in the specifications.
    #[default]
    Text,
    /// By measurement: as soon as a slot is expected (QA-1).
    Adaptive,
}

/// Limits and intervals of the upload queue. Intervals are at full scale;
/// [`Config::time_scale`] shortens all of them together for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// How waiting clients are scheduled to ask.
    pub policy: QueuePolicy,
    /// Uploads that may run at once.
    pub slots: u32,
    /// The share of one address (an IPv6 /64 network is one): the slots it may
    /// hold while others wait. 0: half of all slots, rounded up. While no other client
    /// else wants a slot it may hold more; a client that comes then is served
    /// beside it, so that for a while the number of uploads exceeds `slots` by
    /// what the address holds beyond its share.
    pub slots_per_ip: u32,
    /// Maximum length of the queue; beyond it a plain 503 (AQ-10).
    pub capacity: u32,
    /// Maximum places of one address; an IPv6 /64 network is one.
    pub per_ip: u32,
    /// How long an adaptive server holds back its answer to a client that
    /// announced that it waits for it (QA-3).
    pub hold: Duration,
    /// How long an adaptive server holds back its answer to a client without a
    /// queueing dialect (QA-3).
    pub hold_plain: Duration,
    /// Maximum number of requests held at once.
    pub holds: u32,
    /// Maximum number held for one address; an IPv6 /64 network is one.
    pub holds_per_ip: u32,
    /// How many of the first places keep their connection: PARQ's Sq (PQ-1).
    pub sync_places: u32,
    /// How much too early a request may come (decision §2.6).
    pub early_tolerance: Duration,
    /// How long a place is remembered: of a client in the synchronous part
    /// whose connection broke, of a passive client, or after a restart (PQ-10,
    /// PQ-11).
    pub remanence: Duration,
    /// Disconnections allowed in the synchronous part; at least 1 (PARQ §4).
    pub breaks_allowed: u8,
    /// Time between the earliest and the latest instant that a client is told
    /// that may wake only once a minute: longer than that minute (WB-7).
    pub sleep_window: Duration,
    /// Disconnections of such a client that are allowed in the synchronous part.
    pub sleep_breaks: u8,
    /// Maximum number of lost places whose clients are told why, when they come
    /// back.
    pub losses_remembered: u32,
    /// How long a slot is reserved for the owner of a broken transfer (PQ-14).
    pub slot_reserve: Duration,
    /// How long an adaptive server reserves a slot for the owner of a broken
    /// transfer while others wait; then the owner is put at the front of the
    /// queue (QA-6).
    pub slot_reserve_contested: Duration,
    /// How long a free slot is reserved for an entitled client inside its
    /// window before other clients of the queue may be served, newcomers still
    /// not (decision §2.5). A client that was passed and then asked in time is
    /// not passed again.
    pub entitled_reserve: Duration,
    /// How long a slot waits for the next range on the same connection after a
    /// range that did not reach the end of the file (AQ-9).
    pub continue_hold: Duration,
    /// Bytes of one turn of an adaptive server: a client that downloads one
    /// small file after another on one connection keeps its slot for the next
    /// file, as long as they are no more than this in total. 0: a turn is one
    /// file (QA-7).
    pub turn_bytes: u64,
    /// How long such a turn may last; a file requested later belongs to the
    /// next turn.
    pub turn_time: Duration,
    /// How long a slot waits for the next file of a turn on the same connection.
    pub turn_hold: Duration,
    /// Maximum number of ranges in one stay in a slot; then the client goes to
    /// the end of the queue, so that no client can stay forever by never
    /// requesting the end of a file.
    pub ranges_per_slot: u32,
    /// Broken transfers in one stay in a slot that do not cost the slot
    /// (PQ-14).
    pub slot_breaks: u8,
    /// `QUEUE` calls without an answer until the place is lost (§2.9).
    pub calls: u8,
    /// Time between two calls to one place.
    pub call_spacing: Duration,
    /// Calls to one address within [`Config::call_spacing`].
    pub calls_per_ip: u32,
    /// Calls in total within one second.
    pub calls_per_second: u32,
    /// Requests of one address within a minute until it exceeds its rate limit.
    pub hammer_requests: u32,
    /// How long an address beyond its rate limit is refused.
    pub hammer_pause: Duration,
    /// Maximum number of addresses whose requests are counted.
    pub hammer_table: u32,
    /// Upload bandwidth in bytes per second for the ETA (PQ-15); 0: it is
    /// measured, and no ETA is given until it is known.
    pub bandwidth: u64,
    /// Divides every interval of the schedule, announced and enforced alike.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: QueuePolicy::Text,
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
            sleep_window: Duration::from_secs(180),
            sleep_breaks: 32,
            losses_remembered: 1_024,
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
