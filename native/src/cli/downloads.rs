//! `servent downloads`: the downloads of a running servent.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use servent::{Proxies, is_route};
use servent_core::id::Sha1;
use servent_core::node::{DownloadSource, Get};
use servent_core::text::Shown;

use super::control::ControlClient;
use super::get::{self, Introduced, LoginArgs, RequestedFile};
use super::start::runtime;
use super::{Common, print};
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{bytes, length, rate};

/// Download by the running servent, which goes on when this command has ended.
///
/// A servent is run by `servent share`; its downloads survive restarts, and
/// go to the folder that its `--downloads` names.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent downloads add http://10.0.0.7:6346/Music/song.flac
  servent downloads                              how they stand, with their numbers
  servent downloads pause 3
  servent downloads list --json | jq '.downloads[].download.state'")]
pub(crate) struct DownloadsArgs {
    #[command(subcommand)]
    action: Option<DownloadsAction>,
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum DownloadsAction {
    List(ListDownloadsArgs),
    Add(AddDownloadArgs),
    Pause(DownloadNumbersArgs),
    Resume(Resume),
    Remove(RemoveDownloadArgs),
}

/// Show the downloads and their numbers.
#[derive(Debug, Default, Args)]
#[command(after_help = "Examples:
  servent downloads list --json")]
struct ListDownloadsArgs {
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

/// Begin downloads, one for each address, as `servent get` takes them. Beyond
/// fetch.fetches at a time they wait their turn, the oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent downloads add http://10.0.0.7:6346/Music/song.flac http://10.0.0.9/b.iso
  servent downloads add http://10.0.0.7:6346/Music/        a folder with its tree
  servent downloads add -i list.txt                        an address a line
  servent downloads add http://10.0.0.7:6346/Private/ --user ann
                                                           asks for the password of a private share
  servent downloads add urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB 10.0.0.7:6346")]
struct AddDownloadArgs {
    /// What to download, and where from.
    #[arg(value_name = "URL", required_unless_present = "input")]
    urls: Vec<String>,
    /// Those that this file names, one on each line; a line that begins with `#` is a
    /// comment. `-` is standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "mirrors")]
    input: Option<PathBuf>,
    /// One more source of the same file.
    #[arg(long = "mirror", value_name = "URL")]
    mirrors: Vec<String>,
    #[command(flatten)]
    who: LoginArgs,
}

/// Ask no server for these downloads until `resume`, over restarts too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent downloads pause 3 4")]
struct DownloadNumbersArgs {
    /// The numbers `servent downloads` shows, such as 3, 2-4, 3,5 or all.
    #[arg(value_name = "ID", required = true)]
    numbers: Vec<String>,
}

/// Go on with downloads that are paused, or have ended without their file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent downloads resume 3")]
struct Resume {
    #[command(flatten)]
    which: DownloadNumbersArgs,
}

/// Give downloads up and delete what has come of them; whole ones only leave
/// the list, and their files stay.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent downloads remove 3
  servent downloads remove --done                tidy up the list")]
struct RemoveDownloadArgs {
    /// The numbers `servent downloads` shows, such as 3, 2-4, 3,5 or all.
    #[arg(value_name = "ID", required_unless_present = "done")]
    numbers: Vec<String>,
    /// All that are whole.
    #[arg(long)]
    done: bool,
}

pub(crate) fn run(common: &Common, arguments: &DownloadsArgs) -> Result<(), Failure> {
    let mut config = common.config()?;
    // A folder that no server answers for is reported soon.
    get::be_patient(&mut config.settings.node.fetch, false);
    let control = ControlClient::for_state(&config.settings.state);
    let list = DownloadsAction::List(ListDownloadsArgs { json: arguments.json });
    runtime()?.block_on(async {
        match arguments.action.as_ref().unwrap_or(&list) {
            DownloadsAction::List(list) => {
                let all = control.get("/downloads").await?;
                if list.json {
                    return print(format!("{all}\n"));
                }
                print(table(&all, &later(&control, &all).await?))
            }
            DownloadsAction::Add(add) => begin(&config, &control, add, common.quiet).await,
            DownloadsAction::Pause(which) => {
                let all = control.get("/downloads").await?;
                let mut numbers = chosen(&which.numbers, &all)?;
                if which.numbers.iter().any(|word| word == ALL) {
                    numbers.retain(|number| !whole(&all).any(|whole| whole == *number));
                }
                each(&control, &numbers, PAUSE, common.quiet).await
            }
            DownloadsAction::Resume(resume) => {
                let all = control.get("/downloads").await?;
                let mut numbers = chosen(&resume.which.numbers, &all)?;
                if resume.which.numbers.iter().any(|word| word == ALL) {
                    numbers.retain(|number| !whole(&all).any(|whole| whole == *number));
                }
                each(&control, &numbers, RESUME, common.quiet).await
            }
            DownloadsAction::Remove(remove) => {
                let all = control.get("/downloads").await?;
                let mut numbers = chosen(&remove.numbers, &all)?;
                if remove.done {
                    numbers.extend(whole(&all));
                }
                each(&control, &numbers, REMOVE, common.quiet).await
            }
        }
    })
}

async fn begin(
    config: &Config,
    control: &ControlClient,
    add: &AddDownloadArgs,
    quiet: bool,
) -> Result<(), Failure> {
    let mut all = match &add.urls[..] {
        [] => Vec::new(),
        urls => RequestedFile::parse(urls, &add.mirrors)?,
    };
    let mut wrong = None;
    if let Some(file) = &add.input {
        let list = get::listed(file)?;
        wrong = list.verdict(file).err();
        for failure in &list.wrong {
            eprintln!("{}", failure.what);
        }
        all.extend(list.wanted);
    }
    let who = add.who.introduced(&all).await?;
    if let Some(Introduced { user, password, hosts }) = &who {
        let body = json!({ "user": user, "password": password, "hosts": hosts });
        control.tell("POST", "/credentials", &body).await?;
    }
    let mut unread = Vec::new();
    for wanted in all {
        let gets = if wanted.is_folder() {
            let (gets, troubles) =
                get::files_below(config, &wanted, who.as_ref().map(Introduced::credentials))
                    .await?;
            unread.extend(troubles);
            gets
        } else {
            vec![wish(&wanted).await?]
        };
        let before = control.get("/downloads").await?;
        let mut numbers = Vec::with_capacity(gets.len());
        for get in &gets {
            let body = serde_json::to_value(get).unwrap_or_default();
            numbers.push(control.tell("POST", "/downloads", &body).await?);
        }
        if !quiet {
            print(begun(&wanted, (&gets, &numbers), &before))?;
        }
    }
    match unread.first() {
        Some(first) => Err(Failure::new(Exit::Network, format!("not all was found: {first}"))),
        None => wrong.map_or(Ok(()), Err),
    }
}

/// What has begun, in one line for each address.
fn begun<N: Display>(
    wanted: &RequestedFile,
    (gets, numbers): (&[Get], &[N]),
    before: &Value,
) -> String {
    let there = |number: &N| whole(before).any(|whole| whole.to_string() == number.to_string());
    match (gets, numbers) {
        ([get], [number]) if there(number) => {
            format!("{number}  {} is there already\n", Shown(&get.name))
        }
        ([get], [number]) => format!("{number}  {}\n", Shown(&get.name)),
        (_, [first, .., last]) => {
            let folder = wanted.file_name();
            format!("{first}-{last}  {} files of {}/\n", gets.len(), Shown(&folder))
        }
        _ => String::new(),
    }
}

/// The request to the servent.
async fn wish(wanted: &RequestedFile) -> Result<Get, Failure> {
    if wanted.places.is_empty() {
        return Err(Failure::usage("a push:// address is good as long as a command waits for it")
            .next("take it with `servent get`"));
    }
    let sha1: Option<Sha1> = wanted.sha1;
    let mut sources: Vec<DownloadSource> = Vec::new();
    for place in &wanted.places {
        sources.push(place.resolve(sha1, &Proxies::default()).await?);
    }
    Ok(Get { name: wanted.file_name(), sha1, sources })
}

/// The numbers of the complete ones.
fn whole(all: &Value) -> impl Iterator<Item = u32> {
    let all = all["downloads"].as_array().into_iter().flatten().map(|one| &one["download"]);
    let whole = all.filter(|it| it["state"] == "done");
    whole.filter_map(|it| u32::try_from(it["fetch"].as_u64()?).ok())
}

/// All of them, as users write it.
const ALL: &str = "all";

/// The downloads as the servent sees them now.
fn views(all: &Value) -> impl Iterator<Item = &Value> {
    all["downloads"].as_array().into_iter().flatten().map(|one| &one["download"])
}

/// The numbers that are meant: one by one, those of a span that there are, or all.
fn chosen(words: &[String], all: &Value) -> Result<Vec<u32>, Failure> {
    let there = views(all).filter_map(|it| u32::try_from(it["fetch"].as_u64()?).ok());
    let there: Vec<u32> = there.collect();
    let mut numbers = Vec::new();
    let span = |word: &str| {
        let (first, last) = word.split_once('-')?;
        let span = first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?;
        (!span.is_empty()).then_some(span)
    };
    for word in words.iter().flat_map(|words| words.split(',')) {
        match (word, word.parse::<u32>(), span(word)) {
            (ALL, ..) => numbers.extend(&there),
            (_, Ok(number), _) => numbers.push(number),
            (_, _, Some(span)) => numbers.extend(there.iter().filter(|it| span.contains(it))),
            _ => {
                return Err(Failure::usage(format!("{} is no number of a download", Shown(word)))
                    .next("they are written 3, 2-4, 3,5 or all; `servent downloads` shows them"));
            }
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// An order, and the sentence when it was carried out.
struct DownloadOrder {
    order: &'static str,
    done: &'static str,
}

const PAUSE: DownloadOrder = DownloadOrder { order: "pause", done: "is paused" };
const RESUME: DownloadOrder = DownloadOrder { order: "resume", done: "goes on" };
const REMOVE: DownloadOrder = DownloadOrder { order: "remove", done: "is removed" };

async fn each(
    control: &ControlClient,
    numbers: &[u32],
    DownloadOrder { order, done }: DownloadOrder,
    quiet: bool,
) -> Result<(), Failure> {
    for number in numbers {
        let told = control.post(&format!("/downloads/{number}/{order}")).await;
        told.map_err(|failure| failure.next("`servent downloads` shows their numbers"))?;
        if !quiet {
            print(format!("download {number} {done}\n"))?;
        }
    }
    if numbers.is_empty() && !quiet {
        print("no download is meant by that\n")?;
    }
    Ok(())
}

/// How long the rates of a list are measured.
const MEASURED: Duration = Duration::from_millis(500);

/// The same downloads a moment later, when something comes of any of them.
async fn later(control: &ControlClient, all: &Value) -> Result<Value, Failure> {
    let receives = |it: &Value| {
        let mut sources = it["sources"].as_array().into_iter().flatten();
        sources.any(|source| source["state"] == "receiving")
    };
    if !views(all).any(receives) {
        return Ok(all.clone());
    }
    tokio::time::sleep(MEASURED).await;
    control.get("/downloads").await
}

/// How fast a download is, and how long it takes; nothing when it stands still or is
/// whole.
fn speed(before: &Value, now: &Value) -> String {
    let have = |it: &Value| it["have"].as_u64().unwrap_or_default();
    let per_second = have(now).saturating_sub(have(before)) * 2; // Within half of one.
    if per_second == 0 || now["state"] == "done" {
        return String::new();
    }
    let left = now["size"].as_u64().map(|size| size.saturating_sub(have(now)) / per_second);
    let left = left.map_or_else(String::new, |left| format!(", {} left", length(left)));
    format!("  {}{left}", rate(per_second))
}

/// What a source does, and what is wrong with it.
fn source(it: &Value) -> String {
    let text = |key: &str| it[key].as_str().unwrap_or_default();
    let behind = text("at").parse().is_ok_and(is_route);
    let at = if behind { "the servent of a meeting" } else { text("at") };
    let mut line = format!("      {at} {}", text("state"));
    if let Some(position) = it["position"].as_u64() {
        line.push_str(&format!(", position {position}"));
        if let Some(length) = it["length"].as_u64() {
            line.push_str(&format!(" of {length}"));
        }
    }
    if let Some(eta) = it["eta"].as_u64().filter(|eta| *eta > 0) {
        line.push_str(&format!(", a slot in about {}", length(eta)));
    }
    if let Some(trouble) = it["trouble"].as_str().filter(|_| text("state") != "receiving") {
        line.push_str(&format!(": it {}", Shown(trouble)));
    }
    line + "\n"
}

/// The downloads as a table for people. `later` are the same a moment afterwards.
fn table(all: &Value, later: &Value) -> String {
    let downloads = all["downloads"].as_array().map_or(&[][..], Vec::as_slice);
    if downloads.is_empty() {
        return "no downloads; `servent downloads add URL` begins one\n".to_owned();
    }
    let folder = Shown(all["folder"].as_str().unwrap_or_default()).to_string();
    let mut out = format!("into {folder}\n");
    for one in downloads {
        let before = &one["download"];
        let it = views(later).find(|it| it["fetch"] == before["fetch"]).unwrap_or(before);
        let of = it["size"].as_u64().map_or_else(|| "?".to_owned(), bytes);
        let name = one["file"].as_str().or(it["name"].as_str()).unwrap_or_default();
        out.push_str(&format!(
            "{:>4}  {:<10}  {} of {of}{}  {}\n",
            it["fetch"].as_u64().unwrap_or_default(),
            it["state"].as_str().unwrap_or_default(),
            bytes(it["have"].as_u64().unwrap_or_default()),
            speed(before, it),
            Shown(name),
        ));
        if it["state"] != "done" {
            out.extend(it["sources"].as_array().into_iter().flatten().map(source));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_read_as_a_table() {
        let all = serde_json::json!({ "folder": "/d", "downloads": [
            { "download": { "fetch": 3, "state": "paused", "name": "a\u{1b}[31m", "size": 2048,
                            "have": 1024 }, "file": null },
            { "download": { "fetch": 4, "state": "done", "name": "b", "size": null, "have": 5 },
              "file": "/d/b (2)" }] });
        let text = table(&all, &all);
        assert!(text.starts_with("into /d\n   3  paused      1.0 KiB of 2.0 KiB  a"), "{text}");
        assert!(!text.contains('\u{1b}') && text.ends_with("5 B of ?  /d/b (2)\n"), "{text}");
        assert!(table(&Value::Null, &Value::Null).starts_with("no downloads"));
    }

    #[test]
    fn a_download_says_how_fast_it_is_where_it_waits_and_why() {
        let one = |have: u64, sources: Value| {
            serde_json::json!({ "downloads": [{ "download": { "fetch": 1, "state": "running",
                "name": "a", "have": have, "size": 10_240, "sources": sources } }] })
        };
        let comes = serde_json::json!([{ "at": "10.0.0.1:80", "state": "receiving",
            "trouble": "hung up" }]);
        let text = table(&one(0, comes.clone()), &one(1_024, comes));
        let line = "   1  running     1.0 KiB of 10.0 KiB  2.0 KiB/s, 4 s left  a\n";
        assert!(text.ends_with(&format!("{line}      10.0.0.1:80 receiving\n")), "{text}");
        let waits = serde_json::json!([
            { "at": "10.0.0.1:80", "state": "queued", "position": 2, "length": 7, "eta": 65 },
            { "at": "10.0.0.2:80", "state": "lost",
              "trouble": "has no such file (HTTP status 404)" },
            { "at": "[fd73:6577:707:707::7]:6346", "state": "lost" }]);
        let text = table(&one(0, waits.clone()), &one(0, waits));
        let first = "10.0.0.1:80 queued, position 2 of 7, a slot in about 1 min 05 s\n";
        let second = "10.0.0.2:80 lost: it has no such file (HTTP status 404)\n";
        let third = "the servent of a meeting lost\n"; // Its address says nothing.
        assert!(text.ends_with(&format!("      {first}      {second}      {third}")), "{text}");
    }

    #[test]
    fn numbers_are_given_as_people_write_them() {
        let all = serde_json::json!({ "downloads": [{ "download": { "fetch": 1 } },
            { "download": { "fetch": 3 } }, { "download": { "fetch": 4 } }] });
        let chosen = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            chosen(&words, &all)
        };
        assert_eq!(chosen(&["all"]).unwrap(), [1, 3, 4]);
        assert_eq!(chosen(&["2-4", "9", "3"]).unwrap(), [3, 4, 9]);
        assert_eq!(chosen(&["1,3-4"]).unwrap(), [1, 3, 4]);
        for wrong in ["x", "1-x", "-1", "1-", "4-2", "1,", ","] {
            assert!(chosen(&[wrong]).is_err(), "{wrong}");
        }
    }
}
