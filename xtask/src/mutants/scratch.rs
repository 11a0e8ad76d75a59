//! A copy of core and sim in the target folder, in which every mutant of the
//! judged folders is compiled in at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::list::Mutant;
use super::rewrite::{Rewritten, rewrite};
use super::sites::{self, Site};
use crate::paths;
use crate::run::{Tool, cargo};

/// What the tests need of the repository.
const COPIED: &str = "core sim docs README.md Cargo.toml Cargo.lock";

/// Files with constant functions that call such ones of the judged folders,
/// which are no longer constant.
const CALLERS: [&str; 3] =
    ["core/src/clause.rs", "sim/src/swarm/event.rs", "sim/src/unicast/why.rs"];

/// The copy, and what became of the mutants in it.
pub(crate) struct Scratch {
    pub(crate) root: PathBuf,
    files: BTreeMap<String, (String, Vec<Site>)>,
    /// They do not compile.
    pub(crate) unviable: BTreeSet<u32>,
    /// They cannot be switched: constants, and what rustc does not tell apart.
    pub(crate) left_out: BTreeSet<u32>,
}

/// Writes the copy, and drops mutants until it compiles.
pub(crate) fn prepare(mutants: &BTreeMap<u32, Mutant>) -> Result<Scratch> {
    let mut scratch = Scratch {
        root: paths::target().join("mutants/source"),
        files: BTreeMap::new(),
        unviable: BTreeSet::new(),
        left_out: BTreeSet::new(),
    };
    let mut by_file: BTreeMap<&str, Vec<(u32, &Mutant)>> = BTreeMap::new();
    for (id, mutant) in mutants {
        by_file.entry(&mutant.file).or_default().push((*id, mutant));
    }
    for (file, mutants) in by_file {
        let text = fs::read_to_string(paths::root().join(file))?;
        let found = sites::find(&text, &mutants).with_context(|| file.to_owned())?;
        scratch.left_out.extend(found.left_out);
        scratch.unviable.extend(found.unviable);
        scratch.files.insert(file.to_owned(), (text, found.sites));
    }
    scratch.copy()?;
    let known = scratch.known();
    if let Some(known) = &known {
        (scratch.unviable, scratch.left_out) = known.dropped.clone();
    }
    loop {
        let written = scratch.write()?;
        if known.is_some() || !scratch.drop_what_fails(&written)? {
            break;
        }
        println!("{} do not compile", scratch.unviable.len());
    }
    let dropped = (scratch.unviable.clone(), scratch.left_out.clone());
    let known = Known { sources: scratch.sources(), dropped };
    fs::write(known_file(), serde_json::to_string(&known)?)?;
    Ok(scratch)
}

/// What does not compile, kept until a file of the judged folders changes.
#[derive(Serialize, Deserialize)]
struct Known {
    sources: BTreeMap<String, String>,
    dropped: (BTreeSet<u32>, BTreeSet<u32>),
}

fn known_file() -> PathBuf {
    paths::target().join("mutants/dropped.json")
}

impl Scratch {
    fn sources(&self) -> BTreeMap<String, String> {
        self.files.iter().map(|(file, (text, _))| (file.clone(), text.clone())).collect()
    }

    fn known(&self) -> Option<Known> {
        let known: Known = serde_json::from_slice(&fs::read(known_file()).ok()?).ok()?;
        (known.sources == self.sources()).then_some(known)
    }

    /// Copies everything but the files with mutants.
    fn copy(&self) -> Result<()> {
        let list = Tool::new("git").words("ls-files --cached --others --exclude-standard");
        for file in list.words(COPIED).quiet()?.lines() {
            let Ok(mut bytes) = fs::read(paths::root().join(file)) else { continue };
            match file {
                "Cargo.toml" => bytes = manifest(&String::from_utf8(bytes)?).into_bytes(),
                "core/src/lib.rs" => bytes = library(&String::from_utf8(bytes)?).into_bytes(),
                _ if CALLERS.contains(&file) => {
                    bytes = String::from_utf8(bytes)?.replace("const fn", "fn").into_bytes();
                }
                _ if self.files.contains_key(file) => continue,
                _ => {}
            }
            self.put(file, &bytes)?;
        }
        self.put("core/src/mutant.rs", include_bytes!("switch.rs"))
    }

    fn write(&self) -> Result<BTreeMap<String, Rewritten>> {
        let dropped = &self.unviable | &self.left_out;
        let mut written = BTreeMap::new();
        for (file, (text, sites)) in &self.files {
            let new = rewrite(text, sites, &dropped);
            self.put(file, new.text.as_bytes())?;
            written.insert(file.clone(), new);
        }
        Ok(written)
    }

    /// A file with the same content is left as it is: cargo goes by its age.
    fn put(&self, file: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root.join(file);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        fs::write(path, bytes)?;
        Ok(())
    }

    /// True when something failed to compile.
    fn drop_what_fails(&mut self, written: &BTreeMap<String, Rewritten>) -> Result<bool> {
        let output =
            self.cargo("check --message-format json --package servent-core --lib").said()?;
        let (mut unviable, mut left_out) = (BTreeSet::new(), BTreeSet::new());
        for line in output.lines() {
            let Ok(Line { message: Some(message) }) = serde_json::from_str(line) else { continue };
            if message.level != "error" || message.spans.is_empty() {
                continue;
            }
            // The place that rustc means comes first, then what led to it.
            let (meant, led): (Vec<&Piece>, Vec<&Piece>) =
                message.spans.iter().partition(|piece| piece.is_primary);
            let wrote = |piece: &&Piece| {
                let file = written.iter().find(|(file, _)| piece.file_name.ends_with(*file))?;
                file.1.wrote(piece.byte_start)
            };
            let ids: Vec<&[u32]> = meant.iter().chain(&led).filter_map(wrote).collect();
            match (ids.iter().find(|ids| ids.len() == 1), ids.first()) {
                (Some(one), _) => unviable.extend(one.iter().copied()),
                (None, Some(all)) => left_out.extend(all.iter().copied()),
                (None, None) => bail!("not of a mutant: {}", message.rendered),
            }
        }
        // What fails beside others may only be a consequence of them.
        if !unviable.is_empty() {
            left_out.clear();
        }
        let failed = !(unviable.is_empty() && left_out.is_empty());
        self.unviable.extend(unviable);
        self.left_out.extend(left_out);
        Ok(failed)
    }

    /// Builds the tests of packages; their programs, each with the folder of
    /// its package.
    pub(crate) fn tests(&self, packages: &[&str]) -> Result<Vec<(PathBuf, PathBuf)>> {
        let build = "test --message-format json-render-diagnostics --no-run --lib --tests";
        let build = packages
            .iter()
            .fold(self.cargo(build), |build, package| build.words("--package").arg(package));
        let output = build.quiet()?;
        let mut programs = Vec::new();
        for line in output.lines() {
            if let Ok(Built { executable: Some(program), manifest_path }) =
                serde_json::from_str(line)
            {
                let folder = manifest_path.parent().unwrap_or(&self.root).to_owned();
                programs.push((program, folder));
            }
        }
        Ok(programs)
    }

    fn cargo(&self, words: &str) -> Tool {
        cargo().words(words).words("--offline --target-dir").arg(paths::target()).within(&self.root)
    }
}

/// The workspace with two members. Its tests run thousands of times: optimised,
/// but with everything that is checked.
fn manifest(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split(' ').next() {
        Some("members" | "default-members") => {
            format!("{} = [\"core\", \"sim\"]", line.split(' ').next().unwrap_or_default())
        }
        Some("exclude") => String::new(),
        _ => line.to_owned(),
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    for name in ["servent-core", "servent-sim"] {
        text.push_str(&format!("\n[profile.dev.package.{name}]\nopt-level = 1\n"));
    }
    text
}

/// Core with the switch. What rustc foresees of a mutant is for the tests to find.
fn library(text: &str) -> String {
    let allow = "#![no_std]\n#![allow(warnings, arithmetic_overflow, unconditional_panic)]";
    text.replacen("#![no_std]", allow, 1) + "#[doc(hidden)]\npub mod mutant;\n"
}

#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    spans: Vec<Piece>,
    rendered: String,
}

#[derive(Deserialize)]
struct Piece {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
}

#[derive(Deserialize)]
struct Built {
    executable: Option<PathBuf>,
    manifest_path: PathBuf,
}
