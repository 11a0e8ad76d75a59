//! One process of `servent-bench unicast`: a sender, a receiver, or the lossy
//! forwarder between them, told by one argument what it is. Its allocator is
//! the usual one, so that no run pays for being counted.

mod enet;
mod forward;
mod meter;
mod ours;
mod quic;
mod tcp;
#[path = "../unicast/words.rs"]
mod words;

use anyhow::{Context as _, Result};

use self::meter::{end_when_late, say, when_stopped};
use self::words::{Contender, Part};

fn main() -> Result<()> {
    let what = std::env::args().nth(1).context("started by `servent-bench unicast`")?;
    match serde_json::from_str(&what)? {
        Part::Receive(job) => {
            when_stopped(|| ());
            end_when_late(&job);
            say(&match job.contender {
                Contender::Ours { .. } => ours::receive(&job)?,
                Contender::Enet => enet::receive(&job)?,
                Contender::Quinn => quic::receive(&job)?,
                Contender::Tcp | Contender::TcpBbr => tcp::receive(&job)?,
            })?;
        }
        Part::Send(job, to) => match job.contender {
            Contender::Ours { .. } => ours::send(&job, &to)?,
            Contender::Enet => enet::send(&job, &to)?,
            Contender::Quinn => quic::send(&job, &to)?,
            Contender::Tcp => tcp::send("cubic", &job, &to)?,
            Contender::TcpBbr => tcp::send("bbr", &job, &to)?,
        },
        Part::Forward(job) => forward::run(&job)?,
        Part::Echo => {
            when_stopped(|| ());
            ours::echo()?;
        }
        Part::Ping { to, count } => ours::ping(&to, count)?,
    }
    Ok(())
}
