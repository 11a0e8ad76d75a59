//! A lab for commands that run a servent for one purpose, and have none unless
//! it is wanted.

use std::sync::Arc;

use clap::Args;
use serde_json::json;
use servent::driver::Handle;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::control::token;
use super::start::{self, Public};
use crate::config::file::Raw;
use crate::config::{Builder, Config};
use crate::exit::Failure;
use crate::lab::{self, Hub, LabDoor, Live, PageOrigin, Readers, Traces};
use crate::progress::Reporter;

/// Where the user may watch.
#[derive(Debug, Args)]
pub(crate) struct LiveFlags {
    /// Serve the lab here and show what happens as it happens, such as
    /// 127.0.0.1:0 for any free port.
    #[arg(long, value_name = "ADDRESS")]
    lab: Option<String>,
    #[command(flatten)]
    who: Public,
}

impl LiveFlags {
    pub(crate) fn put(&self, builder: &mut Builder) -> Result<(), Failure> {
        if let Some(lab) = &self.lab {
            builder.flag("--lab", "lab", Raw::Text(lab.clone()))?;
        }
        self.who.put(builder)
    }

    /// Opens the lab's port; `None` when it was not asked for, whatever the
    /// configuration says of the lab of `share`.
    pub(crate) async fn open(&self, config: &Config) -> Result<Option<OpenLab>, Failure> {
        if self.lab.is_none() {
            return Ok(None);
        }
        let Some((listener, door)) = start::lab(config).await? else { return Ok(None) };
        let settings = &config.settings;
        let hub = Hub {
            name: String::new(),
            servents: Vec::new(),
            traces: Traces::new(settings.trace.clone()),
            page: PageOrigin::new(settings.www.clone()),
            token: token()?,
            readers: Readers::new(settings.lab_readers),
            door: Some(door.clone()),
            part: None,
        };
        Ok(Some(OpenLab { listener, door, hub }))
    }
}

/// A lab whose port is open, and that shows nothing yet.
pub(crate) struct OpenLab {
    pub(crate) listener: TcpListener,
    door: LabDoor,
    hub: Hub,
}

/// A lab that is served until this is dropped.
pub(crate) struct Served(AbortHandle);

impl OpenLab {
    /// Serves it: `name` is the command, `view` what its page begins with.
    pub(crate) fn serve(
        self,
        (name, view): (&str, &'static str),
        handle: Handle,
        reporter: &Reporter,
    ) -> Served {
        let Self { listener, door, hub } = self;
        let url = door.url();
        let live = Live { id: "0".into(), name: name.into(), view, handle };
        let hub = Hub { name: format!("servent {name}"), servents: vec![live], ..hub };
        let serving = lab::serve(listener, Arc::new(hub), std::future::pending());
        let task = tokio::spawn(serving).abort_handle();
        reporter.tell(&json!({ "event": "lab", "url": url }), &format!("lab {url}"));
        Served(task)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.abort();
    }
}
