//! `servent site`: what the servents of a site do, and how one of them starts.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use servent::driver::{Driver, Handle, ServentOptions};
use servent::{Database, SiteMember, SiteStatus};
use tokio::net::TcpListener;

use super::share::told;
use crate::cli::serve::standby;
use crate::cli::start::runtime;
use crate::cli::{Common, print};
use crate::config::Settings;
use crate::config::file::Raw;
use crate::exit::Failure;
use crate::progress::{Voice, count, length};
use crate::signal::Signals;

/// Several servents that share one database: one leads, or each its part.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent site status                             who leads, who stands by
  servent site status --store postgres://servent@db/site --json")]
pub(crate) struct SiteArgs {
    #[command(subcommand)]
    action: SiteAction,
}

#[derive(Debug, Subcommand)]
enum SiteAction {
    Status(Status),
}

/// Show who leads the site or which part of it, and who stands by, as its
/// database knows it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent site status")]
struct Status {
    /// The database, if it is not the one of the settings.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &SiteArgs) -> Result<(), Failure> {
    let SiteAction::Status(Status { store, json }) = &arguments.action;
    let mut builder = common.builder()?;
    if let Some(store) = store {
        builder.flag("--store", "store", Raw::Text(store.clone()))?;
    }
    let config = builder.finish()?;
    let Some(database) = database(&config.settings)? else {
        return Err(Failure::usage("no site is named").next(
            "name its database: `servent site status --store postgres://USER@HOST/DATABASE`",
        ));
    };
    let status = runtime()?.block_on(database.status())?;
    if *json {
        return print(format!("{}\n", json!(status)));
    }
    print(table(&status))
}

/// The database of the settings.
pub(crate) fn database(settings: &Settings) -> Result<Option<Database>, Failure> {
    settings.database().map_err(|why| {
        Failure::usage(format!("`store` cannot be used: {why}"))
            .next("name it as postgres://USER@HOST/DATABASE, the password in store_password_file")
    })
}

fn table(status: &SiteStatus) -> String {
    let SiteStatus { database, serves, fence, members, led, divided, nobodys, .. } = status;
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let what = match serves {
        Some("swarms") => format!("{} in the ledger", count(number(status.accounts), "account")),
        _ => format!("{} in line", count(number(status.places), "place")),
    };
    let how = if *divided { "divided".into() } else { format!("lease {fence}") };
    let mut out = format!("{database}: {what}, {how}\n");
    if *divided && !led {
        out.push_str(&format!("no member leads {}\n", count(number(*nobodys), "part")));
    } else if !led {
        out.push_str("no member leads\n");
    }
    for SiteMember { name, serves, there, leads, parts, silent, since } in members {
        let role = match (there, leads, divided) {
            (false, ..) => "gone".into(),
            (_, _, true) => count(number(*parts), "part"),
            (_, true, false) => "leads".into(),
            (_, false, false) => "stands by".into(),
        };
        let ago = if *silent < 60.0 { format!("{silent:.1} s") } else { length(*silent as u64) };
        let since = length(*since as u64);
        out.push_str(&format!(
            "{role:<10} {name:<20} {serves:<22} last seen {ago} ago, came {since} ago\n"
        ));
    }
    out
}

/// Starts a servent. One of a site first stands by, until it leads, unless the
/// site is divided. `None`: a signal ended it before that.
pub(crate) async fn start(
    options: ServentOptions,
    port: Option<&TcpListener>,
    signals: &mut Signals,
    voice: Voice,
) -> Result<Option<Handle>, Failure> {
    if options.store.is_none() {
        return Ok(Some(Driver::start(options).await?));
    }
    let starting =
        |role| async { Ok(Driver::start(ServentOptions { role: Some(role), ..options }).await?) };
    let ports: Vec<&TcpListener> = port.into_iter().collect();
    let tell = |fact: &Value, sentence: &str| told(voice, fact, sentence);
    standby::start(starting, &ports, signals, tell).await
}
