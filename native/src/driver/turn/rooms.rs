//! What the loop holds, by what it is for. Each room is made at the start and
//! handed over whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use servent_core::id::{ConnId, FileIndex};
use servent_core::node::Node;
use tokio::sync::{Semaphore, mpsc};

use super::super::datagrams::Messaging;
use super::super::downloads::Downloads;
use super::super::people::{People, Rates};
use super::super::swarm::SwarmFiles;
use super::super::{HandleRequest, Outside, Password};
use super::outputs::TurnOutput;
use super::promises::PendingPromises;
use crate::clock::Clock;
use crate::inbox::InboxFolder;
use crate::library::{LibraryFile, OutcomeSender, ShareOutcome};
use crate::net::caches::Caches;
use crate::net::{Outbox, Rate, Report, Reports};
use crate::store::{Store, StoreChange};
use crate::tape::RecordingWriter;

/// The node, its time, and what it says to the outside.
pub(in crate::driver) struct HostedNode {
    pub(in crate::driver) clock: Clock,
    pub(in crate::driver) node: Node,
    /// `None` while its own code runs, and after the endpoint has ended.
    pub(in crate::driver) messaging: Option<Box<Messaging>>,
    /// Host caches of the overlay, asked when there is no messaging.
    pub(in crate::driver) caches: Caches,
    pub(in crate::driver) tape: Option<RecordingWriter>,
    pub(in crate::driver) outside: Arc<Outside>,
}

/// What is on the disk, or in a database.
pub(in crate::driver) struct Disk {
    pub(in crate::driver) store: Option<Store>,
    pub(in crate::driver) downloads: Downloads,
    pub(in crate::driver) swarm: SwarmFiles,
    pub(in crate::driver) inbox: Option<Arc<InboxFolder>>,
    pub(in crate::driver) shared: BTreeMap<FileIndex, Arc<LibraryFile>>,
}

/// What other tasks tell the loop, and where they tell it.
pub(in crate::driver) struct Mailboxes {
    pub(in crate::driver) reports: Reports,
    pub(in crate::driver) reported: mpsc::Receiver<Report>,
    pub(in crate::driver) controlled: mpsc::Receiver<HandleRequest>,
}

/// The connections.
pub(in crate::driver) struct Sockets {
    /// Places for more of them.
    pub(super) room: Arc<Semaphore>,
    pub(super) conns: BTreeMap<ConnId, Arc<Outbox>>,
    pub(super) people: People,
    pub(super) down: Option<Rate>,
    pub(super) password: Option<Arc<Password>>,
    /// Those whose bytes were passed to the node in this turn.
    pub(super) taken: Vec<ConnId>,
    /// Those that read nothing more until their credentials are checked.
    pub(super) authenticating: BTreeSet<ConnId>,
}

impl Sockets {
    /// None yet: places for new ones, their rates, and the password of clients.
    pub(in crate::driver) fn new(
        room: Arc<Semaphore>,
        rates: Rates,
        password: Option<Password>,
    ) -> Self {
        let Rates { up, each, down } = rates;
        Self {
            room,
            conns: BTreeMap::new(),
            people: People::new(up, each),
            down,
            password: password.map(Arc::new),
            taken: Vec::new(),
            authenticating: BTreeSet::new(),
        }
    }

    /// From now on uploads have these limits.
    pub(in crate::driver) fn limit(&mut self, all: Option<u64>, each: Option<u64>) {
        self.people.limit(all, each);
    }

    /// From now on all uploads together have no more than this, whatever is configured.
    pub(in crate::driver) fn cap(&mut self, ceiling: Option<u64>) {
        self.people.cap(ceiling);
    }

    /// From now on clients need this password.
    pub(in crate::driver) fn renew(&mut self, password: Password) {
        self.password = Some(Arc::new(password));
    }
}

/// What a turn has promised.
#[derive(Default)]
pub(super) struct Promises {
    /// To be committed at the end of the turn.
    pub(super) changes: Vec<StoreChange>,
    /// To be carried out after that; true when it follows a change that the
    /// same input made, and that a database which is away keeps waiting.
    pub(super) outputs: Vec<(bool, TurnOutput)>,
    /// What waits for a database that is away.
    pub(super) held: PendingPromises,
    /// To be answered after that.
    pub(super) wished: Vec<(ShareOutcome, OutcomeSender)>,
}
