//! The page, ready to be embedded: few files instead of many modules, each
//! with its compressed form beside it. The bindings of the first modules stand
//! at the head of the script: a request less for each.

mod modules;
mod single;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::gzip::gzip;
use crate::wasm::{FIRST, VIEWS, bindings, module};

pub(crate) use single::single;

/// Builds the page in `out`; answers with names and sizes.
///
/// Every file but the index has a `.gz` beside it, which is what a server
/// sends and what is weighed. The lab's server writes into the index, so that
/// stays plain; it has one KiB.
///
/// # Errors
/// When a file cannot be read or written, or a module has another form.
pub(crate) fn page(www: &Path, pkg: &Path, out: &Path) -> Result<Vec<(String, u64)>> {
    if out.exists() {
        // What an earlier build left would be embedded.
        fs::remove_dir_all(out).with_context(|| format!("{} cannot be emptied", out.display()))?;
    }
    let index = read(&www.join("index.html"))?;
    let index = swap(&index, "css/app.css", "app.css")?;
    let index = swap(&index, "js/main.js", "app.js")?;
    let scripts = modules::join(&www.join("js"))?;
    let mut files = vec![
        (String::from("app.css"), styles(&www.join("css"))?.into_bytes()),
        (String::from("app.js"), (glue(pkg, FIRST)? + &scripts.main).into_bytes()),
    ];
    for (name, text) in scripts.chunks {
        // A script that is loaded later may bring a style of the same name.
        let style = format!("css/{}", name.replace(".js", ".css"));
        if www.join(&style).is_file() {
            files.push((style.clone(), read(&www.join(&style))?.into_bytes()));
        }
        files.push((name, text.into_bytes()));
    }
    let later = VIEWS.iter().filter(|view| !FIRST.contains(view));
    for name in later.map(|view| bindings(view)).chain(VIEWS.iter().map(|view| module(view))) {
        let file = pkg.join(&name);
        let bytes = fs::read(&file)
            .with_context(|| format!("{} is missing: build the bindings", file.display()))?;
        // The bindings explain themselves to whoever reads them, not to a browser.
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => modules::bare(&text).into_bytes(),
            Err(module) => module.into_bytes(),
        };
        files.push((format!("pkg/{name}"), bytes));
    }
    let zipped = std::thread::scope(|scope| {
        let at_work: Vec<_> = files.iter().map(|(_, bytes)| scope.spawn(|| gzip(bytes))).collect();
        at_work.into_iter().map(|one| one.join().expect("compressing does not panic")).collect()
    });
    let zipped: Vec<Vec<u8>> = zipped;
    let mut done = vec![put(out, "index.html", index.as_bytes())?];
    for ((name, bytes), zipped) in files.iter().zip(&zipped) {
        done.push(put(out, name, bytes)?);
        done.push(put(out, &format!("{name}.gz"), zipped)?);
    }
    Ok(done)
}

/// The bindings of modules, each a function, so that they can be instantiated
/// afresh.
fn glue(pkg: &Path, names: &[&str]) -> Result<String> {
    let mut script = String::from("globalThis.SERVENT_MODULES = {\n");
    for name in names {
        let (body, exports, imports) = modules::parts(&read(&pkg.join(bindings(name)))?)?;
        if !imports.is_empty() {
            bail!("the bindings of {name} import other modules");
        }
        let exports = exports.join(", ");
        let _ = writeln!(script, "{name}: () => {{\n{body}\nreturn {{ {exports} }};\n}},");
    }
    Ok(script + "};\n")
}

fn put(out: &Path, name: &str, bytes: &[u8]) -> Result<(String, u64)> {
    let file = out.join(name);
    fs::create_dir_all(file.parent().unwrap_or(out))?;
    fs::write(&file, bytes).with_context(|| format!("{} cannot be written", file.display()))?;
    Ok((name.to_owned(), bytes.len() as u64))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// Replaces what must be there.
fn swap(text: &str, from: &str, to: &str) -> Result<String> {
    if !text.contains(from) {
        bail!("the page does not name {from}");
    }
    Ok(text.replacen(from, to, 1))
}

/// `app.css` with its imports put in.
fn styles(css: &Path) -> Result<String> {
    let mut all = String::new();
    for line in read(&css.join("app.css"))?.lines() {
        match line.strip_prefix("@import \"").and_then(|l| l.strip_suffix("\";")) {
            Some(name) => all.push_str(&read(&css.join(name))?),
            None => all.push_str(line),
        }
        all.push('\n');
    }
    Ok(all)
}

/// The compressed form of a file of the page, when it has one.
pub(crate) fn compressed(file: &Path) -> Option<PathBuf> {
    let mut name = file.as_os_str().to_owned();
    name.push(".gz");
    let zipped = PathBuf::from(name);
    zipped.is_file().then_some(zipped)
}
