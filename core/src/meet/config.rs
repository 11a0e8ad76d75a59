//! What a meeting may cost.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Limits and intervals of meetings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// Be a place at which others meet (PA-10).
    pub place: bool,
    /// Bytes a second that a place passes on for all meetings together; 0: it
    /// passes on nothing (PA-13).
    pub relay_rate: u64,
    /// How long a place remembers a visitor that says nothing more.
    pub forget_after: Duration,
    /// The same once it has received its introduction.
    pub settled_for: Duration,
    /// Meetings that a place remembers.
    pub meetings: u32,
    /// Those that the visitors of one address may take part in. An IPv6 /64
    /// network counts as one address.
    pub meetings_per_ip: u32,
    /// Seats that one address may take in [`Config::seat_window`], so that names
    /// of meetings cannot be tried one after the other.
    pub seats_per_ip: u32,
    /// The time over which these seats are counted.
    pub seat_window: Duration,
    /// How often an introduction is sent until it is confirmed.
    pub introductions: u32,
    /// The time between two of them.
    pub introduce_again: Duration,
    /// How long a side of a relayed meeting may be silent until that is forgotten.
    pub relay_silence: Duration,
    /// The same while the other side goes on sending: longer than a line may fail and a
    /// connection go on.
    pub relay_unanswered: Duration,
    /// How long what a side has sent last is passed on after it has left; then the other
    /// side is told.
    pub relay_farewell: Duration,
    /// When a visitor repeats what was not answered; it doubles each time.
    pub ask_again: Duration,
    /// How long a place may be silent until a visitor gives it up.
    pub place_silence: Duration,
    /// How often a visitor keeps its seat, and its router's mapping.
    pub keep_seat: Duration,
    /// The time between the first two knocks; it grows by half each time.
    pub knock_again: Duration,
    /// The longest time between two knocks.
    pub knock_slowest: Duration,
    /// How long both sides knock (PA-12).
    pub knock_for: Duration,
    /// Addresses of the other side at which a visitor knocks, whatever it is told in however
    /// many visits.
    pub candidates: u32,
    /// After so long it knocks at one more: the other side may have been started anew.
    pub candidate_again: Duration,
    /// Knocks at one of them, and choices of it.
    pub knocks: u32,
    /// Knocks that a visitor answers, wherever they seem to come from, in however many
    /// visits; what proved itself does not count.
    pub answers: u32,
    /// After so long it answers one more.
    pub answer_again: Duration,
    /// How long the caller waits until the listener agrees to what it has chosen; then the
    /// next address that answers is chosen.
    pub choose_for: Duration,
    /// How long ordinary knocks are tried before ports are guessed.
    pub guess_after: Duration,
    /// Sockets from which a visitor knocks whose router gives every destination
    /// another port.
    pub sockets: u32,
    /// Ports that the other side guesses; fewer than there are (64 512), or it never
    /// ends.
    pub guesses: u32,
    /// How many of them at once.
    pub volley: u32,
    /// The time between two volleys.
    pub guess_pause: Duration,
    /// The time in which a visitor may guess so many ports once more. Each socket from
    /// which it knocks counts as one.
    pub resort_again: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            place: false,
            relay_rate: 0,
            forget_after: Duration::from_secs(60),
            settled_for: Duration::from_secs(6),
            meetings: 4_096,
            meetings_per_ip: 64,
            seats_per_ip: 60,
            seat_window: Duration::from_secs(60),
            introductions: 4,
            introduce_again: Duration::from_millis(200),
            relay_silence: Duration::from_secs(300),
            relay_unanswered: Duration::from_secs(75),
            relay_farewell: Duration::from_secs(1),
            ask_again: Duration::from_millis(200),
            place_silence: Duration::from_secs(4),
            keep_seat: Duration::from_secs(5),
            knock_again: Duration::from_millis(40),
            knock_slowest: Duration::from_millis(400),
            knock_for: Duration::from_secs(4),
            candidates: 12,
            candidate_again: Duration::from_secs(3),
            // As many as there is time for in `knock_for`, and two more.
            knocks: 16,
            // All knocks that an other side sends to one address of ours, from twelve of its own.
            answers: 192,
            answer_again: Duration::from_millis(200),
            choose_for: Duration::from_secs(1),
            guess_after: Duration::from_millis(500),
            // If no datagram is lost one of them is hit by all guesses but 3 in 10 000 times.
            sockets: 256,
            guesses: 2_048,
            volley: 16,
            guess_pause: Duration::from_millis(20),
            resort_again: Duration::from_secs(60),
        }
    }
}
