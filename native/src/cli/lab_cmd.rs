//! `servent lab`: serves the page.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use clap::Args;
use servent::sys::browser;

use super::control::{ControlClient, token};
use super::start::{self, address, runtime};
use super::{Common, print};
use crate::config::Config;
use crate::config::file::Raw;
use crate::exit::{Exit, Failure, error_text};
use crate::lab::{self, Hub, PageOrigin, Readers, Traces};
use crate::signal::Signals;

/// Show the lab: explore scenarios, open traces, watch this machine's servent.
///
/// A servent that runs with this state folder serves the lab itself; then
/// its address is shown. Otherwise the page is served from here.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent lab --open
  servent lab run.sqlog --listen 127.0.0.1:8000
  servent lab --www www                       a page under development")]
pub(crate) struct LabArgs {
    /// Traces, or folders of them, that the page may open.
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Show it in the browser.
    #[arg(long)]
    open: bool,
    /// Listen here.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    who: start::Public,
    /// Serve the page from this folder.
    #[arg(long, value_name = "DIR")]
    www: Option<PathBuf>,
}

pub(crate) fn run(common: &Common, arguments: &LabArgs) -> Result<(), Failure> {
    for trace in &arguments.traces {
        trace.metadata().map_err(|e| Failure::file("read", trace, &e))?;
    }
    let mut builder = common.builder()?;
    if let Some(listen) = arguments.listen {
        builder.flag("--listen", "lab", Raw::Text(listen.to_string()))?;
    }
    arguments.who.put(&mut builder)?;
    if let Some(www) = &arguments.www {
        builder.flag("--www", "www", Raw::Text(www.to_string_lossy().into_owned()))?;
    }
    let config = builder.finish()?;
    runtime()?.block_on(async {
        let settings = &config.settings;
        let plain =
            arguments.listen.is_none() && arguments.traces.is_empty() && arguments.www.is_none();
        if plain
            && let Ok(url) = ControlClient::for_state(&settings.state).get("/lab").await
            && let Some(url) = url.as_str()
        {
            return show(url, arguments.open);
        }
        serve(&config, &arguments.traces, (arguments.open, "")).await
    })
}

/// Serves the lab with one recording opened in it, at any free port.
pub(super) fn of_trace(common: &Common, trace: &Path, open: bool) -> Result<(), Failure> {
    let mut builder = common.builder()?;
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    builder.flag("--lab", "lab", Raw::Text(here.to_string()))?;
    let config = builder.finish()?;
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let fragment = format!("#trace=api/traces/{}", escaped(&name));
    runtime()?.block_on(serve(&config, &[trace.to_owned()], (open, &fragment)))
}

/// A file's name in a link: what is no letter or digit is written by its bytes,
/// twice, because the page reads it once and the server reads it once more.
fn escaped(name: &str) -> String {
    let byte = |b: u8| match b {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(b).to_string(),
        _ => format!("%25{b:02X}"),
    };
    name.bytes().map(byte).collect()
}

async fn serve(
    config: &Config,
    traces: &[PathBuf],
    (open, fragment): (bool, &str),
) -> Result<(), Failure> {
    let settings = &config.settings;
    let mut signals = Signals::new()?;
    let Some((listener, door)) = start::lab(config).await? else {
        return Err(Failure::usage("the lab is switched off")
            .next("say where it should listen: --listen 127.0.0.1:6380"));
    };
    let hub = Hub {
        name: "servent lab".into(),
        servents: Vec::new(),
        traces: Traces::new(traces.iter().cloned().chain(settings.trace.clone())),
        page: PageOrigin::new(settings.www.clone()),
        token: token()?,
        readers: Readers::new(settings.lab_readers),
        door: Some(door.clone()),
        part: None,
    };
    show(&format!("{}{fragment}", door.url()), open)?;
    let stop = async move { signals.first().await };
    lab::serve(listener, Arc::new(hub), stop).await.map_err(|e| {
        let at = door.address;
        Failure::new(Exit::Network, format!("the lab at {at} ended: {}", error_text(&e)))
    })
}

fn show(url: &str, open: bool) -> Result<(), Failure> {
    print(format!("lab {url}\n"))?;
    if open {
        open_browser(url);
    }
    Ok(())
}

/// Asks the desktop to open a page; without a desktop the user has the printed
/// URL.
pub(crate) fn open_browser(url: &str) {
    let mut opener = browser(url);
    opener.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(e) = opener.spawn() {
        let opener = opener.get_program().display();
        tracing::warn!("cannot open a browser with {opener} ({e}); open {url} yourself");
    }
}
