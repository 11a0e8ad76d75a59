//! `cargo xtask fuzz`

use anyhow::{Result, bail};

use crate::machine;
use crate::paths;
use crate::run::Tool;

/// Feed the parsers and the node's boundary with everything a stranger could send.
///
/// Needs a nightly toolchain and cargo-fuzz; both are installed when they are
/// missing. Each target starts from its seeds in `fuzz/seeds`, keeps what it
/// learns in `fuzz/corpus`, and leaves an input that broke something in
/// `fuzz/artifacts`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One target; without it all, one after the other.
    target: Option<String>,
    /// How long each runs.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// List the targets.
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let all = targets()?;
    if args.list {
        println!("{}", all.join("\n"));
        return Ok(());
    }
    let chosen: Vec<_> = match &args.target {
        None => all,
        Some(name) if all.contains(name) => vec![name.clone()],
        Some(name) => bail!("no fuzz target `{name}`; there are: {}", all.join(", ")),
    };
    prepare()?;
    for name in &chosen {
        let fuzz = paths::root().join("fuzz");
        let corpus = fuzz.join("corpus").join(name);
        std::fs::create_dir_all(&corpus)?;
        println!("{name}: {} s", args.seconds);
        Tool::new("rustup")
            .words("run nightly cargo fuzz run --fuzz-dir fuzz --target-dir")
            .arg(paths::target().join("fuzz"))
            .arg(name)
            .arg(&corpus)
            .arg(fuzz.join("seeds").join(name))
            .words("-- -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1")
            .arg(format!("-max_total_time={}", args.seconds))
            .run()?;
    }
    Ok(())
}

/// The targets, as the fuzz workspace lists them.
fn targets() -> Result<Vec<String>> {
    let folder = paths::root().join("fuzz/targets");
    let mut names: Vec<_> = crate::paths::files(&folder)?
        .iter()
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Makes sure of nightly and cargo-fuzz.
fn prepare() -> Result<()> {
    if !Tool::new("rustup").words("run nightly rustc --version").works() {
        if !Tool::new("rustup").arg("--version").works() {
            bail!("fuzzing needs a nightly toolchain; get rustup from https://rustup.rs");
        }
        Tool::new("rustup").words("toolchain install nightly --profile minimal").run()?;
    }
    if machine::find(&["cargo-fuzz"]).is_none() {
        println!("installing cargo-fuzz");
        Tool::new("rustup").words("run nightly cargo install --quiet --locked cargo-fuzz").run()?;
    }
    Ok(())
}
