//! Every limit and interval of the router, by name.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// How a push finds its servent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PushRouting {
    /// Back along the way the hit came (RT-3).
    #[default]
    Standard,
    /// To everybody who ever brought a hit of that servent (RT-4).
    Broadcast,
}

/// Limits and intervals of the router. Intervals are at full scale;
/// [`Config::time_scale`] shortens all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Queries of others are passed on. Who does not is a leaf.
    pub relay: bool,
    /// Searches of ours and of our leaves go farther step by step until enough
    /// is found (RT-18); without this they flood.
    pub dynamic: bool,
    /// Results with which a dynamic search is content.
    pub enough: u32,
    /// Results with which a dynamic search for a leaf is content when its words
    /// turn out rare.
    pub enough_rare: u32,
    /// The largest TTL of a dynamic search.
    pub deep_ttl: u8,
    /// Neighbours that a dynamic search asks first: those whose keywords promise
    /// something.
    pub probe_links: u32,
    /// Time a dynamic search gives each neighbour it asked, before it goes on.
    pub step_every: Duration,
    /// A dynamic search ends after so long.
    pub search_life: Duration,
    /// Dynamic searches at one time.
    pub deepenings: u32,
    /// Dynamic searches of one leaf at one time.
    pub deepenings_per_leaf: u32,
    /// Keywords of leaves are told to other ultrapeers at most so often.
    pub merge_every: Duration,
    /// How a push finds its servent.
    pub push_routing: PushRouting,
    /// Neighbours at one time; at most 4 000.
    pub links: u32,
    /// A query is remembered at least so long, and at most twice (RT-1).
    pub query_life: Duration,
    /// The way to a servent, for pushes, is remembered at least so long, and at
    /// most twice (RT-3).
    pub push_life: Duration,
    /// What must not come twice is remembered at least so long, and at most
    /// twice (RT-12).
    pub duplicate_life: Duration,
    /// Queries remembered for one neighbour within [`Config::query_life`]. More
    /// of them are not passed on: what others were promised is never forgotten for
    /// somebody who floods (RT-5).
    pub queries_per_link: u32,
    /// Whatever else is remembered for one neighbour: ways of pushes, hits,
    /// pings.
    pub entries_per_link: u32,
    /// TTL and hops together are clamped to this.
    pub max_ttl: u8,
    /// A message with a TTL or hops above this is dropped.
    pub hard_ttl: u8,
    /// Payload bytes of a message that is passed on.
    pub relayed: u32,
    /// Payload bytes of a query that is passed on.
    pub relayed_query: u32,
    /// Payload bytes of a hit that is passed on.
    pub relayed_hit: u32,
    /// Hits for one query that one neighbour brings and somebody else gets
    /// (RT-21).
    pub hits_per_query: u32,
    /// Bytes of the hits for one query that one neighbour brings and somebody
    /// else gets (RT-21).
    pub hit_bytes_per_query: u32,
    /// Bytes given to the host for one neighbour that have not left.
    pub window: u32,
    /// Bytes for one neighbour that wait until it takes them.
    pub queue: u32,
    /// A neighbour that takes nothing for so long is given up.
    pub stall: Duration,
    /// Pongs remembered of one neighbour.
    pub pongs: u32,
    /// Pongs that answer one ping.
    pub pongs_per_ping: u32,
    /// A neighbour's pings are answered at most so often.
    pub ping_answer: Duration,
    /// Each neighbour is pinged so often; never when this is zero, and then
    /// nobody is given up for its silence.
    pub ping_every: Duration,
    /// A neighbour silent for so long is given up.
    pub silence: Duration,
    /// Improper messages after which a neighbour is given up.
    pub strikes: u32,
    /// Pushes obeyed for one target in [`Config::push_window`].
    pub pushes_per_target: u32,
    /// Time within which the pushes for one target are counted.
    pub push_window: Duration,
    /// Targets whose pushes are counted; when there are more, no further one
    /// is obeyed for that time.
    pub push_targets: u32,
    /// Entries of a neighbour's keyword table.
    pub keyword_entries: u32,
    /// Searches of ours at one time.
    pub searches: u32,
    /// An event for every message, not only for what went wrong.
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
            searches: 64,
            trace_messages: false,
            time_scale: 1,
        }
    }
}
