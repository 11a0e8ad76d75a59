//! `servent site`: what the servents of a site do, and how one of them starts.

use clap::{Args, Subcommand};
use serde_json::json;
use servent::driver::{Driver, Handle, Options};
use servent::{Database, Role, SiteMember, SiteStatus};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::share::told;
use super::start::runtime;
use super::{Common, print};
use crate::config::Settings;
use crate::config::file::Raw;
use crate::exit::Failure;
use crate::lab;
use crate::progress::{Voice, count};
use crate::signal::Signals;

/// Several servents that share one database: one leads, or each its part.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent site status                             who leads, who stands by
  servent site status --store postgres://servent@db/site --json")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
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

pub(crate) fn run(common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    let Action::Status(Status { store, json }) = &arguments.action;
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
    let SiteStatus { database, fence, places, members, led, divided, nobodys, .. } = status;
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let places = count(number(*places), "place");
    let mut out = format!("{database}: {places} in line, lease {fence}\n");
    if *divided {
        out = format!("{database}: {places} in line, divided\n");
        if !led {
            out.push_str(&format!("nobody leads {}\n", count(number(*nobodys), "part")));
        }
    } else if !led {
        out.push_str("nobody leads\n");
    }
    for SiteMember { name, serves, leads, parts, silent, since } in members {
        let role = match (leads, divided) {
            (_, true) => count(number(*parts), "part"),
            (true, false) => "leads".into(),
            (false, false) => "stands by".into(),
        };
        out.push_str(&format!(
            "{role:<10} {name:<20} {serves:<22} last seen {silent:.1} s ago, here for {since:.0} s\n"
        ));
    }
    out
}

/// Starts a servent. One of a site first stands by, until it leads, unless the
/// site is divided: it tells so, and answers at the port of the lab that it is not
/// ready. `None`: a signal ended it before that.
pub(crate) async fn start(
    mut options: Options,
    port: Option<&TcpListener>,
    signals: &mut Signals,
    voice: Voice,
) -> Result<Option<Handle>, Failure> {
    if options.store.is_none() {
        return Ok(Some(Driver::start(options).await?));
    }
    let (role, mut plays) = watch::channel(Role::Starting);
    options.role = Some(role);
    let health = async {
        match port {
            Some(port) => lab::stand_by(port).await,
            None => std::future::pending().await,
        }
    };
    let tell = async {
        while plays.changed().await.is_ok() {
            let role = *plays.borrow_and_update();
            match role {
                Role::Standby => told(voice, &json!({ "event": "standby" }), "standing by")?,
                Role::Leading => told(voice, &json!({ "event": "leading" }), "leading the site")?,
                Role::Starting => {}
            }
        }
        std::future::pending::<Result<(), Failure>>().await
    };
    let start = Driver::start(options);
    tokio::pin!(health, tell, start);
    let mut listens = true;
    loop {
        tokio::select! {
            started = &mut start => return Ok(Some(started?)),
            () = signals.first() => return Ok(None),
            failed = &mut tell => failed?,
            _ = &mut health, if listens => listens = false,
        }
    }
}
