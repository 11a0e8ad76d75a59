//! `share` as a service: its manager hears that it is ready and that it lives, and may
//! have the settings read again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use servent::driver::{Handle, SettingChange};
use servent::error::RunError;
use servent::sys::{Hangups, ServiceManager};
use servent_core::node::{HttpCommand, NodeCommand};
use tokio::task::JoinSet;

use super::certificate;
use super::private::password;
use super::share::{Sharing, told};
use crate::config::{Config, Settings};
use crate::exit::Failure;
use crate::progress::{Voice, count};
use crate::signal::Signals;

/// What is changed while it runs; everything else needs a restart.
const TAKEN: [&str; 4] = ["queue.slots", "share", "upload_rate", "upload_rate_per_peer"];

/// How the settings are read.
pub(crate) type Configure<'a> = &'a dyn Fn() -> Result<Config, Failure>;

/// The service.
pub(crate) struct Service<'a> {
    hangups: Option<Hangups>,
    what: Sharing<'a>,
    /// The settings at the start.
    started: &'a Config,
    /// What was read and taken last.
    current: Option<Config>,
    voice: Voice,
    /// What the manager hears of one that stands by.
    standby: JoinSet<()>,
}

impl<'a> Service<'a> {
    /// A room has been opened for the people in it: it ends with its terminal.
    pub(crate) fn new(
        signals: &mut Signals,
        what: Sharing<'a>,
        (started, voice): (&'a Config, Voice),
    ) -> Self {
        let hangups = what.room().is_none().then(|| signals.split_hangups()).flatten();
        Self { hangups, what, started, current: None, voice, standby: JoinSet::new() }
    }

    /// A servent of a site is ready as soon as it stands by.
    pub(crate) fn stand_by(&mut self) {
        if self.started.settings.store.is_some() {
            report(None, &mut self.standby);
        }
    }

    /// Serves until a signal ends it, or it ends itself.
    pub(crate) async fn serve(
        &mut self,
        signals: &mut Signals,
        handle: &Handle,
    ) -> Result<(), Arc<RunError>> {
        self.standby.abort_all();
        loop {
            tokio::select! {
                () = signals.first() => return Ok(()),
                ended = handle.ended() => return ended,
                () = hangup(self.hangups.as_mut()) => tokio::select! {
                    // New shares are scanned, which may take long.
                    () = signals.first() => return Ok(()),
                    // A closed pipe does not stop it; if it has ended, that is seen next.
                    done = self.reload(handle) => drop(done),
                },
            }
        }
    }

    /// Reads the settings again, takes what can change while it runs, and says what that
    /// is and what needs a restart. Settings that cannot be read change nothing.
    pub(crate) async fn reload(&mut self, handle: &Handle) -> Result<(), Failure> {
        let Sharing::Folders(configure) = self.what else { return Ok(()) };
        let config = match configure() {
            Ok(config) => config,
            Err(why) => return self.refuse(&why),
        };
        let before = self.current.as_ref().unwrap_or(self.started);
        let mut taken = differing(before, &config);
        taken.retain(|key| TAKEN.contains(&&**key));
        let mut missing = take(handle, &taken, &config.settings).await?;
        let mut restart = differing(self.started, &config);
        restart.retain(|key| !TAKEN.contains(&&**key));
        if let Some(identity) = handle.identity() {
            match identity.renew() {
                Ok(true) => {
                    certificate::tell_names(identity, handle).await?;
                    taken.push("tls_cert".into());
                }
                Ok(false) => {}
                Err(why) => missing.push(format!("{why}; the old one is served")),
            }
        }
        let guard = |key: &String| key == "user" || key.starts_with("tls");
        if self.started.settings.user.is_some() && !restart.iter().any(guard) {
            match password(&config.settings) {
                Ok(Some(new)) => {
                    handle.change(SettingChange::Password(new)).await?;
                    // After it: what the old one let in is checked by the new one.
                    handle.command(NodeCommand::Http(HttpCommand::CheckAgain)).await?;
                    taken.push("password_file".into());
                    restart.retain(|key| key != "password_file");
                }
                Ok(None) => {}
                Err(why) => missing.push(why.what),
            }
        }
        self.current = Some(config);
        self.say(&taken, &restart, &missing)
    }

    fn say(&self, taken: &[String], restart: &[String], missing: &[String]) -> Result<(), Failure> {
        let mut text = match taken {
            [] => "settings read again: nothing changed".to_owned(),
            taken => format!("settings read again, and taken: {}", taken.join(", ")),
        };
        if !restart.is_empty() {
            let what = count(restart.len() as u64, "other change");
            text.push_str(&format!("; {what} after a restart: {}", restart.join(", ")));
        }
        for why in missing {
            text.push_str(&format!("; {why}"));
        }
        let fact = json!({
            "event": "reloaded", "taken": taken, "restart": restart, "missing": missing,
        });
        told(self.voice, &fact, &text)
    }

    fn refuse(&self, why: &Failure) -> Result<(), Failure> {
        let fact = json!({ "event": "not_reloaded", "why": why.what });
        told(self.voice, &fact, &format!("the settings stay as they were: {}", why.what))
    }
}

async fn hangup(hangups: Option<&mut Hangups>) {
    match hangups {
        Some(hangups) => hangups.next().await,
        None => std::future::pending().await,
    }
}

/// Carries out these changes; returns a sentence for each share that cannot be opened.
async fn take(
    handle: &Handle,
    taken: &[String],
    settings: &Settings,
) -> Result<Vec<String>, Failure> {
    let limit = |rate: u64| Some(rate).filter(|rate| *rate > 0);
    if taken.iter().any(|key| key.starts_with("upload_rate")) {
        let Settings { upload_rate: all, upload_rate_per_peer: each, .. } = settings;
        let rates = SettingChange::Rates { all: limit(*all), each: limit(*each) };
        handle.change(rates).await?;
    }
    if taken.iter().any(|key| key == "queue.slots") {
        let slots = HttpCommand::Slots { slots: settings.node.queue.slots };
        handle.command(NodeCommand::Http(slots)).await?;
    }
    if taken.iter().any(|key| key == "share") {
        return Ok(handle.configure_shares(settings.share.clone()).await?);
    }
    Ok(Vec::new())
}

/// The keys that have another value in `b`.
fn differing(a: &Config, b: &Config) -> Vec<String> {
    let before: BTreeMap<&str, &Value> = a.rows().map(|(key, value, _)| (key, value)).collect();
    let differs = |key: &str, value: &Value| before.get(key).is_none_or(|before| *before != value);
    b.rows().filter(|(key, value, _)| differs(key, value)).map(|(key, ..)| key.into()).collect()
}

/// What the manager of the service hears until the tasks are dropped: nothing, where
/// none started us.
pub(crate) fn report(handle: Option<&Handle>, tasks: &mut JoinSet<()>) {
    let Some(manager) = ServiceManager::from_environment() else { return };
    let _ = manager.tell("READY=1"); // It may have ended; and nothing else hears it.
    let Some(every) = manager.watches().map(|longest| longest / 2) else { return };
    let handle = handle.cloned();
    tasks.spawn(async move {
        let mut tick = tokio::time::interval(every.max(Duration::from_millis(10)));
        loop {
            tick.tick().await;
            // The task that owns the node answers this between two turns.
            if let Some(handle) = &handle
                && handle.view(1, 0).await.is_err()
            {
                return;
            }
            let _ = manager.tell("WATCHDOG=1");
        }
    });
}
