//! `servent status`: what a running servent is doing.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use servent::Clock;
use servent_core::text::Shown;
use servent_core::time::Instant;

use super::control::ControlClient;
use super::start::runtime;
use super::{Common, get, print};
use crate::cli::finding::anywhere;
use crate::cli::serve::certificate;
use crate::exit::Failure;
use crate::progress::{bytes, count, decimal, length};
use crate::signal::Signals;

/// Show slots, queue, downloads and counters of the running servent.
///
/// It is found through its state folder, and so are the downloads under way.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent status
  servent status --watch
  servent status --json | jq '.servents[0].view.queue.length'
  servent status --state /tmp/two         the servent with that state folder")]
pub(crate) struct StatusArgs {
    /// As one JSON object.
    #[arg(long)]
    json: bool,
    /// Again every second, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Places in line to show.
    #[arg(long, value_name = "N", default_value_t = 20)]
    places: u32,
}

pub(crate) fn run(common: &Common, arguments: &StatusArgs) -> Result<(), Failure> {
    let config = common.config()?;
    let state = &config.settings.state;
    let target = format!("/status?count={}", arguments.places);
    runtime()?.block_on(async {
        let (mut signals, clock) = (Signals::new()?, Clock::new());
        loop {
            let status = status(state, &target).await?;
            let text =
                if arguments.json { format!("{status}\n") } else { table(clock.now(), &status) };
            let clear = arguments.watch && !arguments.json && stdout().is_terminal();
            print(if clear { format!("\x1b[H\x1b[J{text}") } else { text })?;
            if !arguments.watch {
                return Ok(());
            }
            tokio::select! {
                () = signals.first() => return Ok(()),
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
    })
}

/// The status of the servent with this state, and of active downloads beside
/// it.
async fn status(state: &Path, target: &str) -> Result<Value, Failure> {
    let mut all = ControlClient::for_state(state).get(target).await;
    for place in downloading(state) {
        let Ok(mut one) = ControlClient::for_state(&place).get(target).await else { continue };
        let Some(pid) = one.get("pid").cloned() else { continue };
        for servent in one["servents"].as_array_mut().into_iter().flatten() {
            servent["pid"] = pid.clone();
        }
        match &mut all {
            Ok(all) => {
                let more = one["servents"].take();
                let known = all["servents"].as_array_mut();
                known
                    .into_iter()
                    .for_each(|known| known.extend(more.as_array().cloned().unwrap_or_default()));
            }
            Err(_) => all = Ok(one),
        }
    }
    all
}

/// The state folders of every `servent get` that has not finished.
fn downloading(state: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(get::states(state)).into_iter().flatten();
    let mut places: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    places.sort();
    places
}

/// What there is to say of a servent of a site.
fn site(out: &mut String, servent: &Value) {
    let part = |whose: &str| servent["parts"][whose].as_u64();
    if let (Some(ours), Some(others)) = (part("ours"), part("others")) {
        let nobodys = part("nobodys").unwrap_or(0);
        let _ = writeln!(out, "parts {ours}   of others {others}   changing hands {nobodys}");
    }
    if servent["store_away"] == true {
        let _ = writeln!(
            out,
            "the database of the site is away: nothing new is promised until it is back"
        );
    }
}

/// Where others meet it that cannot connect to it.
fn meeting(out: &mut String, meeting: &Value) {
    let Some(place) = meeting["place"].as_str().map(Shown) else { return };
    let _ = match meeting["why"].as_str().map(Shown) {
        Some(why) if place.0 == anywhere::NEIGHBOUR => {
            writeln!(out, "not met at the place of a neighbour yet: {why}")
        }
        Some(why) => writeln!(out, "not met at {place} now: {why}"),
        None if meeting["waits"] == true => writeln!(out, "met at {place}"),
        None => writeln!(out, "not met at {place} yet"),
    };
}

/// The meeting place that it is.
fn place(out: &mut String, place: &Value) {
    let Some(at) = place["address"].as_str() else { return };
    let relay = match place["relay"].as_u64() {
        Some(rate) => format!("passes on {} a second", decimal(rate)),
        None => "passes on nothing".to_owned(),
    };
    let n = |what: &str| place[what].as_u64().unwrap_or(0);
    let (relayed, waiting) = (n("relayed"), n("waiting"));
    let _ = writeln!(
        out,
        "meeting place on UDP {at}   {relay}   {} may be relayed   {waiting} waiting   {} introduced",
        count(relayed, "pair"),
        n("introduced")
    );
}

/// The status as a table for people.
fn table(now: Instant, status: &Value) -> String {
    let mut out = String::new();
    for servent in status["servents"].as_array().into_iter().flatten() {
        let listen: Vec<&str> =
            servent["listen"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let view = &servent["view"];
        if servent["name"] == get::NAME {
            let _ = writeln!(out, "get, process {}", servent["pid"]);
            downloads(&mut out, view);
            continue;
        }
        let queue = &view["queue"];
        let n = |v: &Value| v.as_u64().unwrap_or(0);
        let used = n(&queue["slots"]).saturating_sub(n(&queue["free"]));
        let _ = writeln!(out, "{}  listening on {}", text(&servent["name"]), listen.join(", "));
        let _ = writeln!(
            out,
            "slots {used}/{}   in line {} of at most {}   connections {}   shared files {}",
            n(&queue["slots"]),
            n(&queue["length"]),
            n(&queue["capacity"]),
            n(&view["connections"]),
            n(&view["shared"]),
        );
        site(&mut out, servent);
        meeting(&mut out, &servent["meeting"]);
        place(&mut out, &servent["place"]);
        let ends = servent["certificate_ends"].as_u64().map(Instant::from_micros);
        if let Some(text) = ends.and_then(|ends| certificate::ending(now, ends)) {
            let _ = writeln!(out, "{text}");
        }
        overlay(&mut out, &servent["overlay"]);
        uploads(&mut out, now, queue);
        line(&mut out, queue);
        inbox(&mut out, &view["inbox"]);
        downloads(&mut out, view);
    }
    out
}

fn text(value: &Value) -> String {
    Shown(value.as_str().unwrap_or("-")).to_string()
}

/// Neighbours, table sizes, and why messages were dropped.
fn overlay(out: &mut String, overlay: &Value) {
    let Some(links) = overlay["links"].as_array() else { return };
    let all = |key: &str| overlay[key].as_array().into_iter().flatten();
    let n = |v: &Value| v.as_u64().unwrap_or(0);
    let entries: u64 = all("tables").map(|t| n(&t["young"]) + n(&t["old"])).sum();
    let size: u64 = all("tables").map(|t| n(&t["bytes"])).sum();
    let received: u64 = all("messages").map(|m| n(&m["received"])).sum();
    let _ = writeln!(
        out,
        "neighbours {}   others known {}   messages {received}   remembered {entries} in {}",
        links.len(),
        n(&overlay["hosts"]),
        bytes(size),
    );
    if overlay["firewalled"] == true {
        let _ = writeln!(
            out,
            "others cannot connect to us: a router or a firewall is between (--map-port, --meet)"
        );
    }
    for link in links {
        let _ = writeln!(
            out,
            "  peer  {:<22} {:<20} in {} out {} dropped {}",
            text(&link["peer"]),
            text(&link["agent"]),
            n(&link["received"]),
            n(&link["sent"]),
            n(&link["dropped"]),
        );
    }
    for kind in all("messages") {
        let why = kind["dropped"].as_array().into_iter().flatten();
        let why: Vec<String> = why.map(|d| format!("{} {}", text(&d[0]), n(&d[1]))).collect();
        if !why.is_empty() {
            let _ = writeln!(out, "  dropped {:<14} {}", text(&kind["kind"]), why.join(", "));
        }
    }
}

fn uploads(out: &mut String, now: Instant, queue: &Value) {
    for slot in queue["uploads"].as_array().into_iter().flatten() {
        let n = |key: &str| slot[key].as_u64().unwrap_or(0);
        let whole = n("end").saturating_sub(n("start"));
        let gone = slot["reserved_until"].as_u64().map(Instant::from_micros);
        let held = gone.map_or_else(String::new, |until| {
            let left = length(until.since(now).as_secs_ceil());
            format!("  client gone, its slot is kept for it for {left}")
        });
        let _ = writeln!(
            out,
            "  up    {:<22} {:<8} {} of {}  {}{held}",
            text(&slot["peer"]),
            text(&slot["dialect"]),
            bytes(n("sent")),
            bytes(whole),
            file(slot),
        );
    }
}

/// What a client has, or waits for.
fn file(card: &Value) -> String {
    let name = text(&card["file"]);
    let files = card["files"].as_u64();
    files.map_or_else(|| name.clone(), |files| format!("{name} (folder, {})", count(files, "file")))
}

fn line(out: &mut String, queue: &Value) {
    for card in queue["cards"].as_array().into_iter().flatten() {
        let eta = card["eta"].as_u64().filter(|eta| *eta > 0);
        let eta = eta.map_or_else(|| "-".to_owned(), length);
        let _ = writeln!(
            out,
            "  {:<5} {:<22} {:<8} {:<6} eta {eta}  {}",
            card["position"],
            text(&card["peer"]),
            text(&card["dialect"]),
            text(&card["lane"]),
            file(card),
        );
    }
}

/// What visitors have uploaded, and are uploading.
fn inbox(out: &mut String, inbox: &Value) {
    let n = |v: &Value| v.as_u64().unwrap_or(0);
    let Some(held) = inbox["bytes"].as_u64() else { return };
    let files = count(n(&inbox["files"]), "file");
    let _ =
        writeln!(out, "inbox {files}, {} of at most {}", bytes(held), bytes(n(&inbox["limit"])));
    for file in inbox["arriving"].as_array().into_iter().flatten() {
        let size = file["size"].as_u64().map_or_else(|| "?".to_owned(), bytes);
        let _ = writeln!(
            out,
            "  in    {:<22} {} of {size}  {}",
            text(&file["peer"]),
            bytes(n(&file["stored"])),
            text(&file["name"]),
        );
    }
}

fn downloads(out: &mut String, view: &Value) {
    for fetch in view["fetches"].as_array().into_iter().flatten() {
        let have = fetch["have"].as_u64().unwrap_or(0);
        let of = fetch["size"].as_u64().map_or_else(|| "?".to_owned(), bytes);
        let _ = writeln!(
            out,
            "  down  {}  {} of {of}  {}",
            text(&fetch["name"]),
            bytes(have),
            text(&fetch["state"]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_as_a_table() {
        let status = serde_json::json!({ "servents": [{
            "name": "servent", "listen": ["127.0.0.1:6346"],
            "meeting": { "place": "place.example", "waits": true, "why": null },
            "place": { "address": "[::]:6349", "relay": 2_000_000, "relayed": 1, "waiting": 2,
                       "introduced": 5 },
            "overlay": { "hosts": 9, "firewalled": true, "tables": [{ "young": 3, "old": 4, "bytes": 2048 }],
                "links": [{ "peer": "10.0.0.9:6346", "agent": "X/1", "received": 5, "sent": 6,
                            "dropped": 1 }],
                "messages": [{ "kind": "query", "received": 5, "sent": 6,
                               "dropped": [["duplicate", 1]] }] },
            "view": { "connections": 2, "shared": 1, "fetches": [],
                "inbox": { "files": 2, "bytes": 2048, "limit": 4096, "arriving": [
                    { "peer": "10.0.0.3:9", "name": "b", "stored": 1024, "size": null }] },
                "queue": {
                "slots": 1, "free": 0, "length": 1, "capacity": 5000,
                "uploads": [{ "peer": "10.0.0.1", "dialect": "parq", "start": 0, "end": 2048,
                              "sent": 1024, "file": "a", "reserved_until": null },
                            { "peer": "10.0.0.4", "dialect": "parq", "start": 0, "end": 2048,
                              "sent": 1024, "file": "c", "reserved_until": 130_000_000 }],
                "cards": [{ "peer": "10.0.0.2", "dialect": "active", "lane": "sync",
                            "position": 1, "eta": 65, "file": "m/", "files": 20_000 }]}}}]});
        let text = table(Instant::from_secs(40), &status);
        assert!(text.contains("slots 1/1   in line 1 of at most 5000"), "{text}");
        assert!(text.contains("\nmet at place.example\n"), "{text}");
        let place = "\nmeeting place on UDP [::]:6349   passes on 2 MB a second   1 pair may be relayed   \
                     2 waiting   5 introduced\n";
        assert!(text.contains(place), "{text}");
        assert!(text.contains("1.0 KiB of 2.0 KiB  a\n"), "{text}");
        let gone = "c  client gone, its slot is kept for it for 1 min 30 s\n";
        assert!(text.contains(gone), "{text}");
        assert!(text.contains("inbox 2 files, 2.0 KiB of at most 4.0 KiB"), "{text}");
        assert!(text.contains("1.0 KiB of ?  b"), "{text}");
        assert!(text.contains("eta 1 min 05 s  m/ (folder, 20000 files)\n"), "{text}");
        assert!(text.contains("neighbours 1   others known 9"), "{text}");
        assert!(text.contains("others cannot connect to us"), "{text}");
        assert!(text.contains("remembered 7 in 2.0 KiB"), "{text}");
        assert!(text.contains("dropped query          duplicate 1"), "{text}");
    }

    #[test]
    fn a_servent_that_is_not_met_says_why() {
        let met = |waits: bool, why: Value| {
            let place = serde_json::json!({ "place": "place.example", "waits": waits, "why": why });
            let mut out = String::new();
            meeting(&mut out, &place);
            out
        };
        assert_eq!(met(false, Value::Null), "not met at place.example yet\n");
        assert_eq!(
            met(false, "it is silent".into()),
            "not met at place.example now: it is silent\n"
        );
        let mut out = String::new();
        let why = "2 neighbours were asked, and none is a meeting place";
        meeting(&mut out, &serde_json::json!({ "place": "neighbour", "waits": false, "why": why }));
        assert_eq!(out, format!("not met at the place of a neighbour yet: {why}\n"));
    }
}
