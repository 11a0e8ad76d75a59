//! `servent room export`: a recording that may be given away.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use servent::dice;
use servent::replay::bytes;
use servent_core::rng::Rng;
use servent_core::text::Shown;
use servent_core::trace::players::Players;
use servent_sim::routing::{PseudonymisedRecording, pseudonymise};

use crate::cli::new_file::new_file;
use crate::cli::print;
use crate::cli::replay::read;
use crate::exit::{Exit, Failure};
use crate::progress::count;

/// Write a recording under other names: pseudonyms for people, addresses, files and
/// words of searches.
///
/// Every node is run again with them, so the new recording verifies as the old one
/// does. Messages of a servent without a recording are left out. What files consist
/// of is not changed, and neither are their hashes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent room export room.sqlog shown.sqlog   give shown.sqlog away, not room.sqlog")]
pub(crate) struct RoomExportArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the other one; a file that is there is not replaced.
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &RoomExportArgs) -> Result<(), Failure> {
    let RoomExportArgs { file, out, json } = arguments;
    let recording = read(file)?;
    let mut players = Players::default();
    players.append(&recording);
    let all = pseudonymise(&players.all(), Rng::new(seed()?));
    if all.is_empty() {
        let what = format!("{} is not a recording of a room", file.display());
        return Err(Failure::new(Exit::Foreign, what)
            .next("record one with `servent room DIR --record FILE`"));
    }
    let good = all.iter().filter(|one| bytes(one.tape.as_bytes()).is_sound()).count();
    if good < all.len() {
        let what = format!("{good} of {} nodes verify under other names", all.len());
        return Err(Failure::new(Exit::Unverified, what).next("keep the recording: this is a bug"));
    }
    write(new_file(out)?, &all).map_err(|why| Failure::file("write", out, &why))?;
    tell(&all, *json)
}

/// Every pseudonym is drawn from it, and it is not kept.
fn seed() -> Result<u64, Failure> {
    let seed = dice::draw().map(u64::from_le_bytes);
    seed.map_err(|_| Failure::new(Exit::Failed, "the system has no random numbers"))
}

fn write(mut file: File, all: &[PseudonymisedRecording]) -> io::Result<()> {
    all.iter().try_for_each(|one| file.write_all(one.tape.as_bytes()))?;
    match file.sync_all() {
        // A pipe or a device has nothing to keep.
        Err(why) if why.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

fn tell(all: &[PseudonymisedRecording], json: bool) -> Result<(), Failure> {
    if json {
        let node = |one: &PseudonymisedRecording| {
            let PseudonymisedRecording { name, steps, changed, left_out, .. } = one;
            json!({ "name": name, "steps": steps, "changed": changed, "left_out": left_out })
        };
        let nodes: Vec<_> = all.iter().map(node).collect();
        return print(format!("{}\n", json!({ "nodes": nodes })));
    }
    for PseudonymisedRecording { name, steps, changed, left_out, .. } in all {
        let name = Shown(name);
        let same = steps - changed;
        print(format!(
            "{name}: {same} of {} as they were, {} without the servents that have no recording\n",
            count(*steps as u64, "step"),
            count(*left_out as u64, "connection")
        ))?;
    }
    print(format!("{} under other names, all verified\n", count(all.len() as u64, "node")))
}
