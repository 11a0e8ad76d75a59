//! The same seed gives the same digest wherever the core runs.

use anyhow::{Result, bail};

use crate::browsers::{CHROMIUM, FIREFOX, Found};
use crate::run::{Tool, cargo};
use crate::steps::{Context, Outcome};
use crate::{machine, paths, second};

/// Runs every preset natively (debug and release), in Node and in the
/// browsers that are here, and compares.
pub(crate) fn step(context: &Context) -> Result<Outcome> {
    let native = |profile: &str| {
        cargo().words("run --quiet --package servent-sim --example digests").words(profile).quiet()
    };
    let wanted = lines(&native("")?);
    if wanted.is_empty() {
        bail!("the example `digests` of servent-sim printed nothing");
    }
    let (mut places, mut notes) = (vec!["native debug", "native release"], Vec::new());
    compare(&wanted, "native release", &lines(&native("--release")?))?;
    if machine::find(&["npm"]).is_some() {
        let page = |engine: &str| {
            Tool::new("npm").words("run --silent digest").env("ENGINE", engine).within(paths::www())
        };
        compare(&wanted, "Node", &lines(&page("node").quiet()?))?;
        places.push("Node");
        for (browser, variable) in [(CHROMIUM, "CHROMIUM"), (FIREFOX, "FIREFOX")] {
            if let Found::At(path) = browser.find(context)? {
                let run = || page(browser.name).env(variable, &path).quiet();
                let (got, note) = second::chance(browser.name, run)?;
                notes.push(note);
                compare(&wanted, browser.name, &lines(&got))?;
                places.push(browser.name);
            }
        }
    }
    let words = format!("{} presets, equal in {}", wanted.len(), places.join(", "));
    Ok(Outcome::Done(second::joined(&[vec![words], notes].concat())))
}

/// `<preset> <digest>` a line; anything else a tool may say is left out.
fn lines(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let (preset, digest) = line.trim().split_once(' ')?;
            let is_digest = digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit());
            is_digest.then(|| (preset.to_owned(), digest.to_owned()))
        })
        .collect()
}

fn compare(wanted: &[(String, String)], place: &str, got: &[(String, String)]) -> Result<()> {
    if wanted.len() != got.len() {
        bail!("{place} ran {} presets, native debug {}", got.len(), wanted.len());
    }
    for (w, g) in wanted.iter().zip(got) {
        if w != g {
            bail!("{place}: preset {} has digest {}, native debug {} {}", g.0, g.1, w.0, w.1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_compared_and_a_difference_is_named() {
        let a = lines("rush 0123456789abcdef\nnoise\ncut 00000000000000ff\n");
        assert_eq!(a.len(), 2);
        assert!(compare(&a, "Node", &a).is_ok());
        let b = lines("rush 0123456789abcdef\ncut 00000000000000fe\n");
        let error = compare(&a, "Node", &b).unwrap_err().to_string();
        assert!(error.contains("cut") && error.contains("Node"), "{error}");
        assert!(compare(&a, "Node", &a[..1]).is_err());
    }
}
