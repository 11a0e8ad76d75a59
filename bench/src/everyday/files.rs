//! Files from a web server: one large one, and many small ones.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use servent_core::rng::Rng;

use super::{MIB, by_turns, is_here, program, quiet, seconds};
use crate::host;
use crate::report::{Report, Target};

/// One large file by `get` and by curl.
pub(super) fn large(report: &mut Report, quick: bool) -> Result<()> {
    let (size, rounds) = if quick { (256 * MIB, 3) } else { (2_048 * MIB, 5) };
    let dir = tempfile::tempdir()?;
    let share = folder(dir.path(), "share")?;
    blob(&share.join("film"), size)?;
    let Some(nginx) = host::nginx(&share, dir.path())? else {
        report.note("no nginx here: left out");
        return Ok(());
    };
    let url = format!("http://{}/film", nginx.at);
    let ours = || {
        let mut get = program(dir.path())?;
        get.args(["get", "-q", "--state", "state", "-o", "ours", &url]);
        seconds(get)
    };
    let theirs = || {
        let mut curl = quiet(Command::new("curl"), dir.path());
        curl.args(["-sS", "--fail", "-o", "theirs", &url]);
        seconds(curl)
    };
    let pairs = by_turns((dir.path(), size, rounds), ("ours", ours), ("theirs", theirs))?;
    let case = format!("get of {} MiB from nginx", size / MIB);
    report.add_pairs(("everyday", case, "MiB/s"), "curl", &pairs, &Target::RatioAtLeast(0.9));
    Ok(())
}

/// Many small files: a list of addresses by `get -i` and by aria2, a folder by
/// `get` and by `wget -r`.
pub(super) fn small(report: &mut Report, quick: bool) -> Result<()> {
    let (count, rounds) = if quick { (500, 1) } else { (5_000, 3) };
    let dir = tempfile::tempdir()?;
    let share = folder(dir.path(), "share")?;
    let mut dice = Rng::new(7);
    for n in 0..count {
        let size = 1_000 + usize::try_from(dice.below(9_000))?;
        let bytes: Vec<u8> = (0..size.div_ceil(64)).flat_map(|_| dice.bytes::<64>()).collect();
        fs::write(share.join(format!("{n}.txt")), &bytes[..size])?;
    }
    let Some(nginx) = host::nginx(&share, dir.path())? else {
        report.note("no nginx here: left out");
        return Ok(());
    };
    let mut list = String::new();
    for n in 0..count {
        writeln!(list, "http://{}/{n}.txt", nginx.at)?;
    }
    fs::write(dir.path().join("list"), list)?;

    let at = format!("http://{}/", nginx.at);
    let list = ["-i", "../list"];
    let folders = ["-r", "-np", "-nH", &at];
    for (tool, theirs_are, ours_are, what) in [
        ("aria2c", &list[..], &list[..], "get -i"),
        ("wget", &folders[..], &[at.as_str()][..], "get of a folder"),
    ] {
        if !is_here(tool) {
            report.note(&format!("no {tool} here: left out"));
            continue;
        }
        let mut pairs = Vec::new();
        for _ in 0..rounds {
            let speed = |took: f64| f64::from(count) / took;
            let to = folder(dir.path(), "ours")?;
            let mut ours = program(&to)?;
            ours.args(["get", "-q", "--state", "../state"]).args(ours_are);
            let ours = emptied(&share, &to, seconds(ours)?)?;
            let to = folder(dir.path(), "theirs")?;
            let mut theirs = quiet(Command::new(tool), &to);
            theirs.arg("-q").args(theirs_are);
            let theirs = emptied(&share, &to, seconds(theirs)?)?;
            pairs.push((speed(ours), speed(theirs)));
        }
        let case = format!("{what}, {count} small files");
        let wanted = Target::RatioAtLeast(1.0);
        report.add_pairs(("everyday", case, "files/s"), tool, &pairs, &wanted);
    }
    Ok(())
}

/// Checks that a copy is whole, and takes it away.
fn emptied(share: &Path, to: &Path, took: f64) -> Result<f64> {
    for entry in fs::read_dir(share)? {
        let entry = entry?;
        let (name, wanted) = (entry.file_name(), fs::read(entry.path())?);
        ensure!(fs::read(to.join(&name))? == wanted, "{} differs", name.display());
    }
    fs::remove_dir_all(to)?;
    Ok(took)
}

fn folder(dir: &Path, name: &str) -> Result<std::path::PathBuf> {
    let folder = dir.join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A file in which no two blocks are alike.
pub(super) fn blob(path: &Path, size: u64) -> Result<()> {
    let mut dice = Rng::new(7);
    let mut block: Vec<u8> = (0..MIB / 64).flat_map(|_| dice.bytes::<64>()).collect();
    let mut file = File::create(path)?;
    for n in 0..size / MIB {
        block[..8].copy_from_slice(&n.to_le_bytes());
        file.write_all(&block)?;
    }
    Ok(file.sync_all()?)
}
