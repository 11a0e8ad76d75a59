//! Assigns a piece to a downloader, and tells both ends.

use super::super::event::{Event, Funnel, Pick};
use super::client::{PieceSpan, PieceTransfer, Up};
use super::file::Retry;
use super::timers::TimerPurpose;
use super::{Manager, ManagerEffects};
use crate::time::Instant;
use crate::wire::pdtp::{
    PdtpMessage, Span, Text, TransferKey, TransferMethod, TransferOrder as Order,
};

/// An assignment.
#[derive(Debug, Clone)]
pub(super) struct GivenAssignment {
    pub(super) file: u32,
    pub(super) piece: u32,
    /// The member that downloads.
    pub(super) down: u32,
    /// Where it downloads from: a source or a member.
    pub(super) up: AssignedGiver,
    pub(super) why: Pick,
    pub(super) funnel: Option<Funnel>,
    /// It is a piece that failed before.
    pub(super) retry: Option<(Instant, Retry)>,
}

/// The uploading side.
#[derive(Debug, Clone, Copy)]
pub(super) enum AssignedGiver {
    Source(u32),
    Member(u32),
}

impl Manager {
    /// Starts a transfer: grants the piece if it is not earned, and tells both
    /// ends.
    pub(super) fn assign(&mut self, now: Instant, given: GivenAssignment, fx: &mut ManagerEffects) {
        let GivenAssignment { file: number, piece, down: member, up, why, funnel, retry } = given;
        let paid = retry.as_ref().is_some_and(|(_, retry)| retry.charged);
        let charged = paid || !self.solo(number);
        let file = &mut self.files[number as usize];
        let down = file.member(member).client;
        let up = match up {
            AssignedGiver::Source(source) => Up::Source(source),
            AssignedGiver::Member(other) => Up::Client(file.member(other).client),
        };
        let (chosen, retry) = retry.unzip();
        if let Some(chosen) = chosen {
            file.retries.remove(&(chosen, member));
            file.member_mut(member).failed.remove(&(chosen, piece));
        } else {
            file.need(member, piece, false);
        }
        file.rarity.more(piece);
        file.renew(member, piece);
        file.member_mut(member).waiting = now;
        if charged && self.credit_of(number, member) < 1 && chosen.is_none() {
            self.grant(number, down, false, fx);
        }
        let row = self.client(down).row;
        if charged {
            self.charge(row, paid);
        }
        let put = matches!(up, Up::Client(client) if !self.client(client).active());
        let (tried, part) = match retry {
            None => (alloc::vec::Vec::new(), PieceSpan::Whole),
            Some(Retry { tried, offset: 0, .. }) => (tried, PieceSpan::Whole),
            Some(Retry { tried, offset, earlier, .. }) => {
                (tried, PieceSpan::Rest { offset, earlier })
            }
        };
        let deadline = now + self.config.transfer_timeout;
        let at = self.enter(PieceTransfer {
            file: number,
            piece,
            down,
            up,
            put,
            part,
            at: now,
            deadline,
            chosen: chosen.unwrap_or(now),
            up_said: false,
            down_said: false,
            took: None,
            charged,
            tried,
            admitted: false,
            funnel,
        });
        self.agenda.add(deadline, TimerPurpose::Transfer(at));
        let (conn, from) = (self.client(down).conn, self.up_conn(up));
        fx.event(Event::Assigned {
            file: number,
            piece,
            down: conn,
            up: from,
            put,
            why,
            charged,
            funnel,
        });
        self.tell(at, fx);
        self.refresh_row(now, row, fx);
        if let Up::Client(up) = up {
            self.refresh(now, up, fx);
        }
    }

    /// A piece in transfer is charged; a failed one that is `paid` has been
    /// charged since it was first chosen (SW-27).
    fn charge(&mut self, row: u32, paid: bool) {
        let entry = self.ledger.get_mut(row);
        if paid {
            entry.failed -= 1;
        } else {
            entry.in_flight += 1;
        }
    }

    /// Adds a transfer to all lists.
    fn enter(&mut self, transfer: PieceTransfer) -> u32 {
        let (down, up) = (transfer.down, transfer.up);
        let at = self.spare.pop().unwrap_or_else(|| {
            self.transfers.push(None);
            self.transfers.len() as u32 - 1
        });
        self.transfers[at as usize] = Some(transfer);
        self.counters.assigned += 1;
        let client = self.client_mut(down);
        client.downs.push(at);
        client.busy_down += 1;
        match up {
            Up::Source(_) => self.counters.from_source += 1,
            Up::Client(up) => self.client_mut(up).ups.push(at),
        }
        self.take_up_slot(at);
        at
    }

    /// Grants one piece that is not earned (§4).
    pub(super) fn grant(&mut self, file: u32, client: u32, aged: bool, fx: &mut ManagerEffects) {
        let row = self.client(client).row;
        let entry = self.ledger.get_mut(row);
        entry.row.grants += 1;
        let grants = entry.row.grants;
        self.files[file as usize].grants += 1;
        self.counters.grants += 1;
        self.save(row, fx);
        fx.event(Event::Granted { client: self.client(client).conn, file, grants, aged });
    }

    /// The bytes to be transferred.
    pub(super) fn part_span(&self, transfer: &PieceTransfer) -> (u64, u64) {
        let (start, end) = self.files[transfer.file as usize].span(transfer.piece);
        match transfer.part {
            PieceSpan::Whole => (start, end),
            PieceSpan::Rest { offset, .. } => (start + offset, end),
            PieceSpan::Beginning { offset, .. } => (start, start + offset),
        }
    }

    /// Tells both ends about a transfer. The side that accepts is told first,
    /// if it can be told before it asks: it has accepted peers before, so there
    /// is no need to find out whether it can (SW-3).
    pub(super) fn tell(&mut self, at: u32, fx: &mut ManagerEffects) {
        let transfer = self.transfer(at);
        let (start, end) = self.part_span(transfer);
        let span = Span::new(start, end);
        let file = &self.files[transfer.file as usize];
        let url = file.spec.url.clone();
        let hash = file.spec.hashes[transfer.piece as usize];
        let (down, up, put) = (transfer.down, transfer.up, transfer.put);
        let knows = self.knows_hash(at);
        let source: Text = "".into();
        let id = |client: u32| self.client(client).id.clone().unwrap_or_default();
        let down_about =
            TransferKey { peer: self.client(down).peer, url: url.clone(), span, peer_id: id(down) };
        let up_id = if let Up::Client(up) = up { id(up) } else { source };
        let up_about = TransferKey { peer: self.address(up), url, span, peer_id: up_id };
        let (order_to, order_about, port, method, waits) = match up {
            Up::Source(source) => (
                down,
                up_about,
                self.sources[source as usize].addr.port(),
                TransferMethod::Get,
                None,
            ),
            Up::Client(up) if put => {
                let port = self.client(down).port.unwrap_or(0);
                (up, down_about, port, TransferMethod::Put, Some((down, up_about)))
            }
            Up::Client(up) => {
                let port = self.client(up).port.unwrap_or(0);
                (down, up_about, port, TransferMethod::Get, Some((up, down_about)))
            }
        };
        if let Some((listener, about)) = waits {
            let listening = self.client(listener);
            if listening.accepted && listening.extensions.early {
                self.transfer_mut(at).admitted = true;
                self.send(listener, PdtpMessage::TellVerify { about, authorized: true }, fx);
            }
        }
        let hash = knows.then_some(hash);
        let order = Order { about: order_about, port, method, hash };
        self.send(order_to, PdtpMessage::Transfer(order), fx);
    }
}
