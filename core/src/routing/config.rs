//! The limits and intervals of the router.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// How a push is routed to its servent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PushRouting {
    /// Along the route the hit came by, backwards (RT-3).
    #[default]
    Standard,
    /// To every neighbour that ever forwarded a hit of that servent (RT-4).
    Broadcast,
}

/// Limits and intervals of the router. Intervals are at full scale;
/// [`Config::time_scale`] shortens all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// Forward the queries of others. A node that does not is a leaf.
    pub relay: bool,
    /// Dynamic queries: searches of ours and of our leaves are extended step by
    /// step until enough is found (RT-18); without this they flood.
    pub dynamic: bool,
    /// Results after which a dynamic query ends.
    pub enough: u32,
    /// Results after which a dynamic query for a leaf ends when its words turn
    /// out to be rare.
    pub enough_rare: u32,
    /// The largest TTL of a dynamic query.
    pub deep_ttl: u8,
    /// Neighbours that a dynamic query asks first: those whose keyword tables
    /// match.
    pub probe_links: u32,
    /// Time a dynamic query waits for each neighbour it asked before it
    /// continues.
    pub step_every: Duration,
    /// Maximum duration of a dynamic query.
    pub search_life: Duration,
    /// Maximum number of concurrent dynamic queries.
    pub deepenings: u32,
    /// Maximum number of concurrent dynamic queries of one leaf.
    pub deepenings_per_leaf: u32,
    /// Minimum time between two updates of other ultrapeers about the keywords
    /// of our leaves.
    pub merge_every: Duration,
    /// How a push is routed to its servent.
    pub push_routing: PushRouting,
    /// Maximum number of neighbours; at most 4 000.
    pub links: u32,
    /// A query is remembered for at least this time, and at most twice that
    /// (RT-1).
    pub query_life: Duration,
    /// The route to a servent, for pushes, is remembered for at least this
    /// time, and at most twice that (RT-3).
    pub push_life: Duration,
    /// Ids for detecting duplicates are remembered for at least this time, and
    /// at most twice that (RT-12).
    pub duplicate_life: Duration,
    /// Maximum number of queries remembered for one neighbour within
    /// [`Config::query_life`]. Further ones are not forwarded: a neighbour that
    /// floods never makes us forget what others rely on (RT-5).
    pub queries_per_link: u32,
    /// How many of those one neighbour may send at once; the others are spread
    /// evenly over [`Config::query_life`]. So a flood costs neither memory nor
    /// the time of others for long. Zero: all of them at once.
    pub queries_at_once: u32,
    /// Maximum number of other entries remembered for one neighbour: routes of
    /// pushes, hits, pings.
    pub entries_per_link: u32,
    /// The sum of TTL and hops is clamped to this.
    pub max_ttl: u8,
    /// A message with a TTL or hops above this is dropped.
    pub hard_ttl: u8,
    /// Maximum payload bytes of a message that is forwarded.
    pub relayed: u32,
    /// Maximum payload bytes of a query that is forwarded.
    pub relayed_query: u32,
    /// Maximum payload bytes of a hit that is forwarded.
    pub relayed_hit: u32,
    /// Maximum number of hits for one query of another servent that one neighbour
    /// may send (RT-21).
    pub hits_per_query: u32,
    /// Maximum bytes of the hits for one query of another servent that one
    /// neighbour may send (RT-21).
    pub hit_bytes_per_query: u32,
    /// Maximum bytes given to the host for one neighbour and not sent yet.
    pub window: u32,
    /// Maximum bytes queued for one neighbour.
    pub queue: u32,
    /// A neighbour that reads nothing for this long is disconnected.
    pub stall: Duration,
    /// Pongs remembered per neighbour.
    pub pongs: u32,
    /// Maximum number of pongs that answer one ping.
    pub pongs_per_ping: u32,
    /// Minimum time between two answered pings of a neighbour.
    pub ping_answer: Duration,
    /// Interval of pings to each neighbour; zero: never, and then no neighbour
    /// is disconnected for being silent.
    pub ping_every: Duration,
    /// A neighbour that is silent for this long is disconnected.
    pub silence: Duration,
    /// Improper messages after which a neighbour is disconnected.
    pub strikes: u32,
    /// Maximum number of pushes obeyed for one target within
    /// [`Config::push_window`].
    pub pushes_per_target: u32,
    /// Time within which the pushes for one target are counted.
    pub push_window: Duration,
    /// Maximum number of targets whose pushes are counted; when there are more,
    /// no further one is obeyed for that time.
    pub push_targets: u32,
    /// Maximum number of entries of a neighbour's keyword table.
    pub keyword_entries: u32,
    /// How many keyword tables and changes of its table a neighbour may send at
    /// once; a neighbour that goes on sending more is disconnected. Zero: no limit.
    pub tables_at_once: u32,
    /// The time in which it may send one more.
    pub tables_every: Duration,
    /// Maximum number of our own concurrent searches.
    pub searches: u32,
    /// Connect to neighbours that ask whether others can, and say so (`BEAR/7`, RT-14).
    pub dial_back: bool,
    /// Emit an event for every message, not only for faults.
    pub trace_messages: bool,
    /// Divides every interval.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            relay: true,
            dynamic: false,
            enough: 150,
            enough_rare: 10,
            deep_ttl: 4,
            probe_links: 10,
            step_every: Duration::from_millis(2_400),
            search_life: Duration::from_secs(200),
            deepenings: 512,
            deepenings_per_leaf: 16,
            merge_every: Duration::from_secs(10),
            push_routing: PushRouting::Standard,
            links: 64,
            query_life: Duration::from_secs(600),
            push_life: Duration::from_secs(1_800),
            duplicate_life: Duration::from_secs(600),
            queries_per_link: 131_072,
            queries_at_once: 0,
            entries_per_link: 32_768,
            max_ttl: 7,
            hard_ttl: 15,
            relayed: 4_096,
            relayed_query: 256,
            relayed_hit: 65_536,
            hits_per_query: 100,
            hit_bytes_per_query: 50_000,
            window: 32 * 1_024,
            queue: 128 * 1_024,
            stall: Duration::from_secs(30),
            pongs: 10,
            pongs_per_ping: 10,
            ping_answer: Duration::from_secs(1),
            ping_every: Duration::from_secs(30),
            silence: Duration::from_secs(120),
            strikes: 32,
            pushes_per_target: 5,
            push_window: Duration::from_secs(30),
            push_targets: 256,
            keyword_entries: 1 << 20,
            tables_at_once: 0,
            tables_every: Duration::from_secs(10),
            searches: 64,
            dial_back: false,
            trace_messages: false,
            time_scale: 1,
        }
    }
}
