//! `servent downloads`: the downloads of a running servent.

use std::fmt::Display;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use servent_core::id::Sha1;
use servent_core::node::{DownloadSource, Get};
use servent_core::text::Shown;

use super::control::ControlClient;
use super::get::{self, Introduced, LoginArgs, RequestedFile};
use super::start::runtime;
use super::{Common, print};
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::bytes;

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
    /// The numbers `servent downloads` shows.
    #[arg(value_name = "ID", required = true)]
    numbers: Vec<u32>,
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
    /// The numbers `servent downloads` shows.
    #[arg(value_name = "ID", required_unless_present = "done")]
    numbers: Vec<u32>,
    /// All that are whole.
    #[arg(long)]
    done: bool,
}

pub(crate) fn run(common: &Common, arguments: &DownloadsArgs) -> Result<(), Failure> {
    let mut config = common.config()?;
    // A folder that no server answers for is reported soon.
    get::be_patient(&mut config.settings.node.fetch, false);
    let control = ControlClient::for_state(&config.settings.state);
    let list = DownloadsAction::List(ListDownloadsArgs::default());
    runtime()?.block_on(async {
        match arguments.action.as_ref().unwrap_or(&list) {
            DownloadsAction::List(list) => {
                let all = control.get("/downloads").await?;
                print(if list.json { format!("{all}\n") } else { table(&all) })
            }
            DownloadsAction::Add(add) => begin(&config, &control, add, common.quiet).await,
            DownloadsAction::Pause(which) => each(&control, &which.numbers, "pause").await,
            DownloadsAction::Resume(resume) => {
                each(&control, &resume.which.numbers, "resume").await
            }
            DownloadsAction::Remove(remove) => {
                let mut numbers = remove.numbers.clone();
                if remove.done {
                    numbers.extend(whole(&control.get("/downloads").await?));
                }
                each(&control, &numbers, "remove").await
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
        let mut numbers = Vec::with_capacity(gets.len());
        for get in &gets {
            let body = serde_json::to_value(get).unwrap_or_default();
            numbers.push(control.tell("POST", "/downloads", &body).await?);
        }
        if !quiet {
            print(begun(&wanted, &gets, &numbers))?;
        }
    }
    match unread.first() {
        Some(first) => Err(Failure::new(Exit::Network, format!("not all was found: {first}"))),
        None => wrong.map_or(Ok(()), Err),
    }
}

/// What has begun, in one line for each address.
fn begun<N: Display>(wanted: &RequestedFile, gets: &[Get], numbers: &[N]) -> String {
    match (gets, numbers) {
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
        sources.push(place.resolve(sha1).await?);
    }
    Ok(Get { name: wanted.file_name(), sha1, sources })
}

/// The numbers of the complete ones.
fn whole(all: &Value) -> impl Iterator<Item = u32> {
    let all = all["downloads"].as_array().into_iter().flatten().map(|one| &one["download"]);
    let whole = all.filter(|it| it["state"] == "done");
    whole.filter_map(|it| u32::try_from(it["fetch"].as_u64()?).ok())
}

async fn each(control: &ControlClient, numbers: &[u32], what: &str) -> Result<(), Failure> {
    for number in numbers {
        let told = control.post(&format!("/downloads/{number}/{what}")).await;
        told.map_err(|failure| failure.next("`servent downloads` shows their numbers"))?;
    }
    Ok(())
}

/// The downloads as a table for people.
fn table(all: &Value) -> String {
    let downloads = all["downloads"].as_array().map_or(&[][..], Vec::as_slice);
    if downloads.is_empty() {
        return "no downloads; `servent downloads add URL` begins one\n".to_owned();
    }
    let folder = Shown(all["folder"].as_str().unwrap_or_default()).to_string();
    let mut out = format!("into {folder}\n");
    for one in downloads {
        let it = &one["download"];
        let of = it["size"].as_u64().map_or_else(|| "?".to_owned(), bytes);
        let name = one["file"].as_str().or(it["name"].as_str()).unwrap_or_default();
        out.push_str(&format!(
            "{:>4}  {:<10}  {} of {of}  {}\n",
            it["fetch"].as_u64().unwrap_or_default(),
            it["state"].as_str().unwrap_or_default(),
            bytes(it["have"].as_u64().unwrap_or_default()),
            Shown(name),
        ));
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
        let text = table(&all);
        assert!(text.starts_with("into /d\n   3  paused      1.0 KiB of 2.0 KiB  a"), "{text}");
        assert!(!text.contains('\u{1b}') && text.ends_with("5 B of ?  /d/b (2)\n"), "{text}");
        assert!(table(&Value::Null).starts_with("no downloads"));
    }
}
