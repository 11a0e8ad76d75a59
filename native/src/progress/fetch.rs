//! Progress of a download: queue position and estimated wait while it waits,
//! bytes and rate while it runs.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;

use serde_json::json;
use servent_core::node::{FetchView, SourceView};
use servent_core::text::{Lines, Shown};
use servent_core::time::Instant;

use super::bars::{BottomLine, above_bars, beside_bars};
use super::fit::{ProgressLine, columns};
use super::named::in_names;
use super::speed::RecentRate;
use super::unanswered::{HELD, UnansweredRequest};
use super::{Voice, bytes, length};
use crate::exit::Failure;

/// The downloads of one command, side by side.
pub(crate) struct Bars {
    voice: Voice,
    /// There are several, so each line names its download.
    named: bool,
}

impl Bars {
    /// For a single download.
    pub(crate) const fn new(voice: Voice) -> Self {
        Self { voice, named: false }
    }

    /// For several.
    pub(crate) const fn named(voice: Voice) -> Self {
        Self { voice, named: true }
    }

    /// Adds one of them.
    pub(crate) fn download(&self, name: &str) -> FetchProgress {
        let bar = (self.voice == Voice::Terminal).then(BottomLine::add);
        let shown = Shown(name).to_string();
        let about = if self.named { format!("{shown}: ") } else { String::new() };
        FetchProgress {
            voice: self.voice,
            name: name.to_owned(),
            shown,
            about,
            bar,
            said: String::new(),
            tenth: 0,
            speed: RecentRate::default(),
            request: UnansweredRequest::default(),
        }
    }

    /// One of several has failed; the others go on.
    pub(crate) fn failed(&self, name: &str, failure: &Failure) {
        match self.voice {
            Voice::Json => {
                let Failure { exit, what, next, status, .. } = failure;
                let why = failure.to_string();
                let fact = json!({
                    "event": "failed", "name": name, "why": why, "kind": exit.name(),
                    "exit": *exit as u8, "status": status, "what": what, "next": next,
                });
                print_line(&fact.to_string());
            }
            Voice::Terminal | Voice::Lines | Voice::Quiet => {
                eprint_line(&format!("{}: {failure}", Shown(name)))
            }
        }
    }
}

/// Shows one download as its view changes.
pub(crate) struct FetchProgress {
    voice: Voice,
    name: String,
    /// The same, safe to print.
    shown: String,
    /// Prefix of each line when there are several downloads.
    about: String,
    bar: Option<BottomLine>,
    /// The last line, so that nothing is repeated.
    said: String,
    /// The last tenth of the file that was reported.
    tenth: u64,
    speed: RecentRate,
    request: UnansweredRequest,
}

/// While nothing comes, there is no rate: the time until something comes again is
/// not part of it, nor are bytes that are found to be there already.
fn recent(speed: &mut RecentRate, now: Instant, view: &FetchView) -> u64 {
    if receives(view) {
        return speed.update(now, view.have);
    }
    *speed = RecentRate::default();
    0
}

impl FetchProgress {
    /// Shows the current state.
    pub(crate) fn show(&mut self, now: Instant, view: &FetchView) {
        let per_second = recent(&mut self.speed, now, view);
        let speed = self.speed.words(view.size.map(|size| size.saturating_sub(view.have)));
        if let Some(at) = self.request.look(now, view) {
            self.trouble(at, HELD);
        }
        match self.voice {
            Voice::Quiet => {}
            Voice::Terminal => self.draw(now, view, &speed),
            Voice::Json => {
                let text = changes(view);
                if text != self.said || self.passed_a_tenth(view) {
                    let at = now.as_micros();
                    print_line(&json!({ "event": "progress", "at": at, "rate": per_second, "download": view }).to_string());
                    self.said = text;
                }
            }
            Voice::Lines => {
                let text = changes(view);
                if !text.is_empty() && (text != self.said || self.passed_a_tenth(view)) {
                    let mut told = view.clone();
                    told.sources.retain(matters);
                    eprint_line(&format!("{}{}", self.about, line(now, &told, &speed)));
                    self.said = text;
                }
            }
        }
    }

    /// Reports a problem with a source.
    pub(crate) fn trouble(&self, at: SocketAddr, what: &str) {
        match self.voice {
            Voice::Terminal | Voice::Lines => eprint_line(&format!("{}{at} {what}", self.about)),
            Voice::Json => {
                let name = &self.name;
                let line = json!({ "event": "trouble", "name": name, "source": at, "what": what });
                print_line(&line.to_string());
            }
            Voice::Quiet => {}
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.remove();
        }
    }

    fn draw(&self, now: Instant, view: &FetchView, speed: &str) {
        let Some(bar) = &self.bar else { return };
        let said = FetchLine::of_view(now, view, speed);
        let line = ProgressLine {
            name: &self.shown,
            share: &share(view),
            amount: &said.amount,
            speed: &said.speed,
            others: &said.others,
        };
        bar.show(line.fit(columns()));
    }

    fn passed_a_tenth(&mut self, view: &FetchView) -> bool {
        let tenth =
            view.size.filter(|s| *s > 0).map_or(0, |size| view.have.saturating_mul(10) / size);
        let passed = tenth > self.tenth;
        self.tenth = self.tenth.max(tenth);
        passed
    }
}

/// How much of a file is downloaded, in percent, once its size is known. Never
/// 100 % for an incomplete file.
fn share(view: &FetchView) -> String {
    let whole = view.state == "verifying" || view.state == "done";
    match view.size.filter(|size| *size > 0) {
        Some(size) => {
            let percent = (u128::from(view.have) * 100 / u128::from(size)) as u64;
            let most = if whole { 100 } else { 99 };
            format!("{:>3} %", percent.min(most))
        }
        None => "    –".to_owned(),
    }
}

/// What must change for a new line to be printed: positions and transfers, but
/// not bytes or how a connection is set up.
fn changes(view: &FetchView) -> String {
    let told = view.sources.iter().filter(|s| matters(s));
    let one = |s: &SourceView| format!("{} {} {:?}", s.at, s.state, s.position);
    told.map(one).collect::<Vec<_>>().join(", ")
}

/// True for a source whose state deserves a line.
fn matters(source: &SourceView) -> bool {
    matches!(&source.state[..], "receiving" | "queued")
}

/// True while what has come is hashed and nothing more is to come.
fn verifies(view: &FetchView) -> bool {
    let all = view.size.is_some_and(|size| size > 0 && view.have >= size);
    view.state == "verifying" || (view.state == "running" && all && !receives(view))
}

/// True while some source sends.
fn receives(view: &FetchView) -> bool {
    view.sources.iter().any(|source| source.state == "receiving")
}

/// What a line says about a download.
#[derive(Debug, Default, PartialEq, Eq)]
struct FetchLine {
    amount: String,
    /// Rate and the time left, once they are known.
    speed: String,
    others: String,
}

impl FetchLine {
    /// While some source sends, others are told of only if we stand in line there.
    fn of_view(now: Instant, view: &FetchView, speed: &str) -> Self {
        // All of it is here, and its sources are done with us.
        if verifies(view) {
            return Self { others: String::from("verifying what has arrived"), ..Self::default() };
        }
        let mut said = Self::default();
        let receives = receives(view);
        if receives {
            let of = view.size.map_or_else(String::new, |size| format!(" of {}", bytes(size)));
            said.amount = format!("{}{of}", bytes(view.have));
            said.speed = speed.to_owned();
        }
        let others = view.sources.iter().filter(|s| s.state != "receiving");
        let told = others.filter(|s| !receives || matters(s));
        said.others = told.map(|s| source(now, s)).collect::<Vec<_>>().join("; ");
        said
    }
}

/// One line about a download.
fn line(now: Instant, view: &FetchView, speed: &str) -> String {
    let FetchLine { amount, speed, others } = FetchLine::of_view(now, view, speed);
    let own = [amount, speed].into_iter().filter(|part| !part.is_empty());
    let own = own.collect::<Vec<_>>().join(", ");
    let all = [own, others].into_iter().filter(|part| !part.is_empty());
    all.collect::<Vec<_>>().join("; ")
}

fn source(now: Instant, source: &SourceView) -> String {
    let mut text = format!("{} {}", in_names(&source.at), source.state);
    if let Some(position) = source.position {
        text.push_str(&format!(", position {position}"));
        if let Some(length) = source.length {
            text.push_str(&format!(" of {length}"));
        }
    }
    // The estimate counts the bytes ahead in the queue: it is 0 for the first,
    // who still waits for a slot.
    if let Some(eta) = source.eta.filter(|eta| *eta > 0) {
        text.push_str(&format!(", a slot in about {}", length(eta)));
    }
    if let Some(at) = source.ask_at {
        let wait = Instant::from_micros(at).since(now).as_secs_ceil();
        text.push_str(&format!(", asking in {}", length(wait)));
    }
    text
}

/// A line on standard output, above the bars.
pub(crate) fn print_line(text: &str) {
    let text = in_names(text);
    beside_bars(std::io::stdout().is_terminal(), || {
        let mut out = std::io::stdout().lock();
        // A closed pipe does not stop the download.
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    });
}

/// The same on standard error, safe to show.
pub(crate) fn eprint_line(text: &str) {
    above_bars(|| _ = writeln!(std::io::stderr(), "{}", Lines(&in_names(text))));
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn view(state: &str, have: u64) -> FetchView {
        FetchView {
            fetch: 1,
            name: "a".into(),
            size: Some(10_240),
            have,
            front: have,
            sources: vec![SourceView {
                lost: None,
                at: "10.0.0.1:6346".into(),
                state: state.into(),
                position: (state == "queued").then_some(3),
                length: Some(5),
                ask_at: (state == "queued").then_some(9_000_000),
                deadline: None,
                trouble: None,
                eta: None,
            }],
            state: "running".into(),
        }
    }

    #[test]
    fn a_queued_download_tells_its_place() {
        let text = line(Instant::from_secs(4), &view("queued", 0), "");
        assert_eq!(text, "10.0.0.1:6346 queued, position 3 of 5, asking in 5 s");
    }

    #[test]
    fn an_estimate_is_told_where_there_is_one() {
        let mut view = view("queued", 0);
        view.sources[0].eta = Some(65);
        let text = line(Instant::from_secs(4), &view, "");
        assert!(text.contains(", a slot in about 1 min 05 s, "), "{text}");
        view.sources[0].eta = Some(0);
        let text = line(Instant::from_secs(4), &view, "");
        assert!(!text.contains("about"), "nothing ahead is not now: {text}");
    }

    #[test]
    fn a_running_download_tells_rate_and_rest() {
        let text = line(Instant::ZERO, &view("receiving", 5_120), "1.0 KiB/s, 5 s left");
        assert_eq!(text, "5.0 KiB of 10.0 KiB, 1.0 KiB/s, 5 s left");
    }

    #[test]
    fn all_of_it_is_said_of_a_whole_file_only() {
        let mut waiting = view("queued", 10_239);
        assert_eq!(share(&waiting), " 99 %");
        waiting.have = 10_240;
        assert_eq!(share(&waiting), " 99 %");
        waiting.state = "verifying".into();
        assert_eq!(share(&waiting), "100 %");
        waiting.size = None;
        assert_eq!(share(&waiting), "    –", "no percentage of an unknown size");
    }

    #[test]
    fn while_it_is_checked_its_sources_are_not_called_idle() {
        let mut view = view("idle", 10_240);
        for state in ["verifying", "running"] {
            view.state = state.into();
            assert_eq!(line(Instant::ZERO, &view, ""), "verifying what has arrived", "{state}");
        }
        view.have -= 1;
        assert_eq!(line(Instant::ZERO, &view, ""), "10.0.0.1:6346 idle");
    }

    #[test]
    fn how_a_connection_is_made_is_no_news() {
        for quiet in ["dialing", "idle", "asking", "waiting", "lost"] {
            assert_eq!(changes(&view(quiet, 0)), "", "{quiet}");
        }
        assert_ne!(changes(&view("queued", 0)), changes(&view("receiving", 0)));
    }

    #[test]
    fn while_bytes_come_sources_that_only_wait_are_not_shown() {
        let mut view = view("receiving", 5_120);
        for (state, told) in [("waiting", false), ("lost", false), ("queued", true)] {
            let other = SourceView { state: state.into(), ..view.sources[0].clone() };
            view.sources.truncate(1);
            view.sources.push(other);
            let text = line(Instant::ZERO, &view, "1.0 KiB/s");
            assert_eq!(text.contains(state), told, "{text}");
        }
    }

    #[test]
    fn a_rate_begins_with_the_bytes_that_come() {
        let mut speed = RecentRate::default();
        let mut at =
            |second, view: &FetchView| recent(&mut speed, Instant::from_secs(second), view);
        assert_eq!(at(0, &view("receiving", 0)), 0);
        assert_eq!(at(1, &view("receiving", 1_000)), 1_000);
        assert_eq!(at(2, &view("waiting", 1_000)), 0);
        // A minute later it goes on, and what an earlier run left is found.
        assert_eq!(at(60, &view("receiving", 9_000)), 0);
        assert_eq!(at(61, &view("receiving", 9_500)), 500);
    }
}
