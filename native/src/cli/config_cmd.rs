//! `servent config`: shows the settings in force and their origins, and changes
//! the configuration file.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use toml_edit::DocumentMut;

use super::{Common, print};
use crate::config::file::Raw;
use crate::config::{Builder, default_file};
use crate::exit::{Exit, Failure};

/// Show every setting in force and where its value came from.
///
/// Values come from, later ones winning: the defaults, the configuration
/// file, environment variables (`queue.slots` is SERVENT_QUEUE_SLOTS), flags.
/// What is printed is a file that can be read back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent config > mine.toml                        begin a file of your own, for --config, or
                                                    to keep as ~/.config/servent/config.toml
  servent config --explain | less                   what each of them means
  SERVENT_QUEUE_SLOTS=2 servent config | grep '#'   what differs from the defaults
  servent config --json --set queue.per_ip=4
  servent config set queue.slots 8                  from the next start on")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConfigArgs {
    /// As a configuration file (the default).
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    /// With the meaning of every setting above it.
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// As one JSON object: {key: {value, origin}}.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<ConfigAction>,
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    Set(Set),
}

/// Change a setting in the configuration file, which is made when it is not there.
///
/// What else is in the file stays as it is. Whatever runs already goes on with
/// what it was started with.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent config set queue.slots 8
  servent config set share ~/Music,~/Films
  servent config set listen :7000 --config mine.toml")]
struct Set {
    /// The setting, as `servent config` prints it, its table in front.
    key: String,
    /// Its value; several are separated by commas.
    value: String,
}

pub(crate) fn run(common: &Common, arguments: &ConfigArgs) -> Result<(), Failure> {
    if let Some(ConfigAction::Set(wanted)) = &arguments.action {
        let file = common.file().map(Path::to_path_buf).or_else(default_file);
        let file = file.ok_or_else(|| {
            Failure::usage("there is no home folder to keep a configuration in")
                .next("name a file with --config")
        })?;
        let written = set(&file, wanted)?;
        let said = format!("{} = {written} in {}\n", wanted.key, file.display());
        return if common.quiet { Ok(()) } else { print(said) };
    }
    let config = common.config()?;
    if arguments.json {
        print(format!("{:#}\n", config.to_json()))
    } else {
        print(config.to_toml(arguments.explain))
    }
}

/// Sets it; what is written for the value.
fn set(file: &Path, Set { key, value }: &Set) -> Result<String, Failure> {
    let text = match std::fs::read_to_string(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|e| Failure::file("read", file, &e))?,
    };
    // A file that could not be read back is not written.
    let mut builder = Builder::from_text(file, &text)?;
    builder.flag("config set", key, Raw::Text(value.clone()))?;
    let written = builder.finish()?.written(key).unwrap_or_default();
    let changed = changed(&text, key, &written)
        .map_err(|what| Failure::new(Exit::Usage, format!("{}: {what}", file.display())))?;
    Builder::from_text(file, &changed)?.finish()?;
    replace(file, &changed).map(|()| written)
}

/// The text of a file with one value changed, everything else as it was.
fn changed(text: &str, key: &str, value: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|e| format!("{e}"))?;
    let value: toml_edit::Value = value.parse().map_err(|e| format!("{e}"))?;
    let mut path: Vec<&str> = key.split('.').collect();
    let name = path.pop().unwrap_or(key);
    let mut table = document.as_table_mut();
    for part in path {
        let inner = table.entry(part).or_insert_with(toml_edit::table);
        table = inner.as_table_mut().ok_or_else(|| format!("`{part}` is no table of its own"))?;
    }
    match table.get_mut(name).and_then(toml_edit::Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor; // A comment after it stays.
        }
        None => drop(table.insert(name, value.into())),
    }
    Ok(document.to_string())
}

/// Replaces the file atomically.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::file("write", file, &e);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut new = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    std::io::Write::write_all(&mut new, text.as_bytes()).map_err(failed)?;
    if let Ok(old) = std::fs::metadata(file) {
        std::fs::set_permissions(new.path(), old.permissions()).map_err(failed)?;
    }
    new.persist(file).map(drop).map_err(|e| failed(e.error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_changed_and_nothing_else() {
        let text = "agent = 'x' # mine\n\n[queue]\nslots = 2  # not more\n";
        let now = changed(text, "queue.slots", "8").unwrap();
        assert_eq!(now, text.replace("= 2", "= 8"));
        let now = changed(text, "overlay.router.links", "9").unwrap();
        assert!(now.starts_with(text) && now.ends_with("[overlay.router]\nlinks = 9\n"), "{now}");
        let now = changed("", "share", "[\"a\", \"b\"]").unwrap();
        assert_eq!(now, "share = [\"a\", \"b\"]\n");
    }

    #[test]
    fn what_would_be_refused_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/config.toml");
        let put = |key: &str, value: &str| {
            set(&file, &Set { key: key.to_owned(), value: value.to_owned() })
        };
        put("queue.remanence", "90s").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.trim(), "[queue]\nremanence = \"90s\"");
        for (key, value) in [("queue.slotz", "2"), ("queue.slots", "many"), ("queue.slots", "0")] {
            assert_eq!(put(key, value).unwrap_err().exit, Exit::Usage, "{key}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        put("queue.slots", "3").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.trim(), "[queue]\nremanence = \"90s\"\nslots = 3");
    }
}
