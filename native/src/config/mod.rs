//! The configuration: defaults < file < environment < flags, every value with
//! its origin.

mod error;
mod explain;
pub(crate) mod file;
mod print;
pub(crate) mod settings;
mod spelling;
mod tree;
pub(crate) mod units;

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::file::Raw;
pub(crate) use self::settings::{Settings, default_file};
use self::tree::Tree;
use crate::exit::{Exit, Failure};

/// Where a value came from; later ones win.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// The configuration while it is being assembled.
pub(crate) struct Builder {
    tree: Tree,
}

/// The configuration in force.
pub(crate) struct Config {
    pub(crate) settings: Settings,
    tree: Tree,
}

impl Builder {
    /// Defaults, then the file (`named`, or the usual one if it exists), then
    /// the environment.
    pub(crate) fn load(named: Option<&Path>) -> Result<Self, Failure> {
        let mut builder = Self { tree: Tree::new(&Settings::default()) };
        match (named, settings::default_file()) {
            (Some(path), _) => builder.read(path)?,
            (None, Some(path)) if path.exists() => builder.read(&path)?,
            _ => {}
        }
        builder.environment(env::vars())?;
        Ok(builder)
    }

    /// The defaults and the text of a file, without the environment.
    pub(crate) fn from_text(path: &Path, text: &str) -> Result<Self, Failure> {
        let mut builder = Self { tree: Tree::new(&Settings::default()) };
        builder.understand(path, text)?;
        Ok(builder)
    }

    fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let text = std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
        self.understand(path, &text)
    }

    fn understand(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        let at = |line: usize, what: &dyn fmt::Display| {
            Failure::new(Exit::Usage, format!("{}:{line}: {what}", path.display()))
                .next("mend that line; `servent config --explain` shows every key")
        };
        for entry in file::entries(text).map_err(|why| at(why.line, &why))? {
            let origin = Origin::File { path: path.to_path_buf(), line: entry.line };
            self.tree.set(&entry.key, entry.value, origin).map_err(|why| at(entry.line, &why))?;
        }
        Ok(())
    }

    fn environment(&mut self, vars: impl Iterator<Item = (String, String)>) -> Result<(), Failure> {
        let keys: Vec<(String, String)> =
            self.tree.keys().map(|key| (variable(key), key.to_owned())).collect();
        for (name, value) in vars.filter(|(name, _)| name.starts_with("SERVENT_")) {
            let Some((_, key)) = keys.iter().find(|(variable, _)| *variable == name) else {
                // Other programs may have variables with our prefix, but a
                // likely typo is refused.
                if let Some(near) = slip(&name, keys.iter().map(|(known, _)| known.as_str())) {
                    return Err(Failure::usage(format!(
                        "environment variable {name} is no setting"
                    ))
                    .next(format!("did you mean {near}? `servent config` shows all of them")));
                }
                continue;
            };
            self.tree
                .set(key, Raw::Text(value), Origin::Environment(name.clone()))
                .map_err(|what| Failure::usage(format!("environment variable {name}: {what}")))?;
        }
        Ok(())
    }

    /// Sets a key from a flag.
    pub(crate) fn flag(&mut self, flag: &str, key: &str, value: Raw) -> Result<(), Failure> {
        self.tree
            .set(key, value, Origin::Flag(flag.to_owned()))
            .map_err(|what| Failure::usage(format!("{flag}: {what}")))
    }

    /// Sets a list from a flag that may be given several times; without it the
    /// key stays as it is.
    pub(crate) fn flags(
        &mut self,
        flag: &str,
        key: &str,
        values: &[impl ToString],
    ) -> Result<(), Failure> {
        if values.is_empty() {
            return Ok(());
        }
        let values = values.iter().map(|value| Raw::Text(value.to_string())).collect();
        self.flag(flag, key, Raw::List(values))
    }

    /// `KEY=VALUE`, as `--set` takes it.
    pub(crate) fn assign(&mut self, text: &str) -> Result<(), Failure> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(Failure::usage(format!("--set {text}: expected KEY=VALUE"))
                .next("for example --set queue.per_ip=4"));
        };
        self.flag(&format!("--set {key}"), key.trim(), Raw::Text(value.trim().to_owned()))
    }

    /// The configuration in force.
    pub(crate) fn finish(self) -> Result<Config, Failure> {
        let settings = self.tree.settings().map_err(|why| Failure::usage(why.to_string()))?;
        if settings.node.queue.slots == 0 {
            let origin = self.tree.origin("queue.slots");
            return Err(Failure::usage(format!("{origin}: without a slot no client can download"))
                .next("say how many uploads may run at once, 1 or more"));
        }
        let rows = || self.tree.rows().filter(|(key, ..)| NEVER_NONE.contains(key));
        if let Some((key, _, origin)) = rows().find(|(_, value, _)| value.as_u64() == Some(0)) {
            let what = format!("{origin}: `{key}` is a whole number, 1 or more");
            return Err(Failure::usage(what).next("with none of them nothing would work"));
        }
        Ok(Config { settings, tree: self.tree })
    }
}

impl Config {
    /// Every key with its value and origin, in the order of the file.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.tree.rows()
    }

    /// Where a key's value came from.
    pub(crate) fn origin(&self, key: &str) -> &Origin {
        self.tree.origin(key)
    }

    /// As a configuration file that can be read back, with origins in comments,
    /// and with the meaning of each setting if `explained`.
    pub(crate) fn to_toml(&self, explained: bool) -> String {
        print::toml(self, explained)
    }

    /// A value as written in a configuration file.
    pub(crate) fn written(&self, key: &str) -> Option<String> {
        let (_, value, _) = self.rows().find(|(known, ..)| *known == key)?;
        Some(print::written(key, value))
    }

    /// As `{key: {value, origin}}`.
    pub(crate) fn to_json(&self) -> Value {
        print::json(self)
    }
}

/// Settings of which none would leave nothing that works.
const NEVER_NONE: [&str; 21] = [
    "fetch.attempts",
    "fetch.chunk",
    "fetch.fetches",
    "fetch.place.time_scale",
    "fetch.sources",
    "fetch.time_scale",
    "limits.backlog",
    "limits.connections",
    "limits.connections_per_ip",
    "limits.head_bytes",
    "limits.head_lines",
    "limits.pipeline",
    "overlay.payload",
    "overlay.router.time_scale",
    "queue.time_scale",
    "swarm.clients",
    "swarm.files",
    "swarm.pieces",
    "unicast.max_message",
    "unicast.peers",
    "unicast.peers_per_ip",
];

/// Variables that are no settings of this table.
const OURS: [&str; 4] = ["SERVENT_CODE", "SERVENT_CONFIG", "SERVENT_LOG", "SERVENT_PASSWORD"];

/// The setting that an unknown variable was most likely meant to be.
fn slip<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if OURS.contains(&name) { None } else { tree::near(known, name) }
}

/// The environment variable of a key: `queue.slots` is `SERVENT_QUEUE_SLOTS`.
fn variable(key: &str) -> String {
    format!("SERVENT_{}", key.replace('.', "_").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> Builder {
        Builder { tree: Tree::new(&Settings::default()) }
    }

    fn file(text: &str) -> Result<Config, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        let mut b = builder();
        b.read(&path)?;
        b.finish()
    }

    #[test]
    fn an_amount_has_a_unit_as_on_the_command_line() {
        let text = "upload_rate = \"500k\"\ndisk_reserve = \"2G\"\ntrace_limit = 1_000\n";
        let mut builder = Builder::from_text(Path::new("x.toml"), text).unwrap();
        builder.assign("upload_rate_per_peer=1_500K").unwrap();
        let long = builder.assign("upload_rate=99999999999G").unwrap_err();
        assert!(long.what.ends_with("a smaller number than that"), "{long}");
        assert!(builder.assign("upload_rate=fast").is_err());
        assert!(builder.assign("upload_rate=k").is_err());
        let settings = builder.finish().unwrap().settings;
        let rates = (settings.upload_rate, settings.upload_rate_per_peer);
        assert_eq!(rates, (500_000, 1_500_000));
        assert_eq!((settings.disk_reserve, settings.trace_limit), (2_000_000_000, 1_000));
    }

    #[test]
    fn later_layers_win_and_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        std::fs::write(&path, "[queue]\nslots = 2\nper_ip = 3\ncapacity = 9\n").unwrap();
        let mut b = builder();
        b.read(&path).unwrap();
        let vars = [("SERVENT_QUEUE_PER_IP", "5"), ("SERVENT_QUEUE_CAPACITY", "7")];
        b.environment(vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))).unwrap();
        b.flag("--capacity", "queue.capacity", Raw::Integer(11)).unwrap();
        let c = b.finish().unwrap();
        let queue = &c.settings.node.queue;
        assert_eq!((queue.slots, queue.per_ip, queue.capacity), (2, 5, 11));
        assert_eq!(c.origin("queue.slots"), &Origin::File { path, line: 2 });
        assert_eq!(c.origin("queue.per_ip").to_string(), "SERVENT_QUEUE_PER_IP");
        assert_eq!(c.origin("queue.capacity").to_string(), "--capacity");
        assert_eq!(c.origin("queue.calls"), &Origin::Default);
    }

    #[test]
    fn an_unknown_key_names_file_line_and_neighbour() {
        let e = file("agent = 'x'\n[queue]\nslotz = 2\n").err().unwrap();
        assert_eq!(e.exit, Exit::Usage);
        assert!(e.what.contains("config.toml:3: unknown key `queue.slotz`"), "{e}");
        assert!(e.what.contains("`queue.slots`"), "{e}");
    }

    #[test]
    fn a_number_that_does_not_fit_is_told_in_words() {
        let e = file("[queue]\nslots = -2\n").err().unwrap();
        assert!(e.what.ends_with(":2: `queue.slots` is a whole number, 0 or more"), "{e}");
        let e = file("[queue]\nslots = 5000000000\n").err().unwrap();
        assert!(e.what.ends_with(":2: `queue.slots`: the number is too large"), "{e}");
        let e = builder().assign("queue.slots=99999999999999999999").err().unwrap();
        assert!(e.what.ends_with("`queue.slots` is a smaller number than that"), "{e}");
        let e = builder().assign("queue.slots=-1").err().unwrap();
        assert!(e.what.ends_with("`queue.slots` is a whole number, 0 or more"), "{e}");
    }

    #[test]
    fn without_a_slot_nothing_begins() {
        let mut builder = builder();
        builder.flag("--slots", "queue.slots", Raw::Integer(0)).unwrap();
        let e = builder.finish().err().unwrap();
        assert_eq!(
            (e.exit, &*e.what),
            (Exit::Usage, "--slots: without a slot no client can download")
        );
    }

    #[test]
    fn a_limit_of_none_is_refused_where_nothing_would_work() {
        let told = |text: &str| {
            let mut builder = builder();
            builder.assign(text).unwrap();
            builder.finish().err().map(|failure| (failure.exit, failure.what))
        };
        let what = "--set limits.connections: `limits.connections` is a whole number, 1 or more";
        assert_eq!(told("limits.connections=0"), Some((Exit::Usage, what.to_owned())));
        assert_eq!(told("limits.connections=1"), None);
        assert_eq!(told("upload_rate=0"), None, "no limit");
        let tree = Tree::new(&Settings::default());
        let unknown: Vec<_> =
            NEVER_NONE.iter().filter(|key| tree.rows().all(|it| it.0 != **key)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn a_slip_in_a_variable_is_refused_and_a_strangers_variable_is_not() {
        let given = |name: &str| {
            builder().environment([(name.to_owned(), "2".to_owned())].into_iter()).err()
        };
        let told = given("SERVENT_QUEUE_SLOTZ").unwrap().to_string();
        assert!(told.contains("SERVENT_QUEUE_SLOTZ is no setting"), "{told}");
        assert!(told.contains("did you mean SERVENT_QUEUE_SLOTS?"), "{told}");
        assert!(given("SERVENT_SERVICE_HOST").is_none(), "an orchestrator's");

        let tree = Tree::new(&Settings::default());
        let known: Vec<String> = tree.keys().map(variable).collect();
        let near = |name: &str| slip(name, known.iter().map(String::as_str));
        assert_eq!(near("SERVENT_QUEUE_SLOT"), Some("SERVENT_QUEUE_SLOTS"));
        for other in ["SERVENT_LOG", "SERVENT_CONFIG", "SERVENT_PROGRAM", "SERVENT_PAGE"] {
            assert_eq!(near(other), None, "{other}");
        }
    }

    #[test]
    fn a_wrong_type_names_the_key() {
        let e = file("[queue]\nslots = \"many\"\n").err().unwrap();
        assert!(e.what.contains(":2: `queue.slots`"), "{e}");
        let e = file("[limits]\nconnections = -1\n").err().unwrap();
        assert!(e.what.contains(":2: `limits.connections`"), "{e}");
        let e = file("dialect = \"klingon\"\n").err().unwrap();
        assert!(e.what.contains(":1: `dialect`"), "{e}");
        let e = file("queue = 3\n").err().unwrap();
        assert!(e.what.contains(":1: `queue` is a table"), "{e}");
    }

    #[test]
    fn the_printed_file_is_read_back_whole() {
        let mut b = builder();
        b.assign("queue.remanence=90s").unwrap();
        b.assign("listen=[::1]:0, 127.0.0.1:7000").unwrap();
        b.assign("trace=run.sqlog").unwrap();
        let c = b.finish().unwrap();
        for explained in [false, true] {
            let again = file(&c.to_toml(explained)).unwrap();
            assert_eq!(again.settings, c.settings);
        }
    }

    #[test]
    fn every_default_survives_its_own_file() {
        let c = builder().finish().unwrap();
        assert_eq!(file(&c.to_toml(false)).unwrap().settings, Settings::default());
    }
}
