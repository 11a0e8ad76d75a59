//! `servent get`: downloads that queue, survive restarts and are verified.

mod anywhere;
mod blocked;
mod decode;
mod find;
mod folder;
mod job;
mod leave;
mod lists;
mod push;
mod ranges;
mod sha256;
mod so_far;
mod source;
mod spool;
mod stdout;
mod there;
mod together;
mod troubles;
mod who;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use servent::{CertificatePin, Credentials, Proxies, Rate};
use servent_core::fetch;
use servent_core::id::Sha1;
use servent_core::node::{DownloadSource, Get};
use servent_core::time;

use self::anywhere::MeetRoutes;
use self::folder::Folder;
use self::job::{DownloadJob, JobOptions};
pub(crate) use self::job::{NAME, states};
use self::lists::all::All;
pub(crate) use self::lists::list::ReadList;
use self::sha256::Sha256Sum;
pub(crate) use self::source::RequestedFile;
use self::stdout::OrderedOutput;
pub(crate) use self::who::{Introduced, LoginArgs};
use super::Common;
use super::amount::{rate, some};
use super::search;
use super::start::{TraceFlag, address, make, runtime};
use crate::config::Config;
use crate::config::file::Raw;
use crate::exit::{Exit, Failure};
use crate::progress::{Bars, Voice};

/// Download files; shows the place in line, when it asks next, and progress.
///
/// Each address is a download of its own. One file from several sources is
/// said with --mirror, with xs= and as= of a magnet link, or with a urn:sha1:
/// and the HOST:PORTs to ask for it. With urn:sha1: the bytes are checked.
/// An address that ends in `/` is a folder: everything below it is downloaded,
/// and keeps its tree; files that are there and differ are replaced, hidden
/// ones never. Stopped or killed, the same command goes on where it was: one that was
/// killed with the same place in line; one that is stopped leaves its place to
/// those behind it. http:// and https:// are asked through the proxies that
/// http_proxy (in small letters), https_proxy and all_proxy name, but for this
/// machine and the hosts of no_proxy. With -q nothing is printed but errors.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent get http://10.0.0.7:6346/Music/song.flac
  servent get http://10.0.0.7:6346/Music/song.flac http://10.0.0.9:6346/Films/film.mkv -o music/
  servent get -i list.txt -o music/ --parallel 3
  servent get http://10.0.0.7:6346/Music/
  servent get 3                                 the third hit of the last `servent search`
  servent get https://example.org/pub/image.iso --ca-file company.pem
  servent get http://10.0.0.7:6346/Private/ --user ann        asks for the password
  servent get http://10.0.0.7:6346/Music/song.flac -o - | mpv -
  servent get http://10.0.0.7:6346/Music/song.flac urn:sha1:PLST… --mirror http://10.0.0.9:6346/Songs/song.flac
  servent get meet://CODE@place.example.org/    from behind a router, as `share --meet` prints it
  servent get push://SERVENT@10.0.0.7:6346/1/song.flac
  servent get urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB 10.0.0.7:6346
  servent get urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB --peer 10.0.0.7:6346   from the servents that have it
  servent get 'magnet:?xt=urn:sha1:PLST…&xs=http://10.0.0.7:6346/uri-res/N2R?urn:sha1:PLST…'")]
pub(crate) struct GetArgs {
    /// What to download, and where from; a number is that hit of the last search.
    #[arg(value_name = "URL", required_unless_present = "input")]
    urls: Vec<String>,
    /// Download what this file lists, too: an address a line, `#` begins a
    /// comment. `-` is standard input.
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// One more source of the same file. Name its urn:sha1: too, and a source that
    /// has other bytes is found out.
    #[arg(long = "mirror", value_name = "URL")]
    mirrors: Vec<String>,
    /// The SHA-256 of the file, as 64 hex digits: what has another one is not kept.
    #[arg(long, value_name = "HEX")]
    sha256: Option<Sha256Sum>,
    /// Join the overlay here to find who has a urn:sha1: that no source is
    /// named for; several are possible. Without it, the known peers are asked.
    #[arg(long, value_name = "HOST:PORT")]
    peer: Vec<String>,
    /// Find servents of the local network that have it.
    #[arg(long)]
    lan: bool,
    /// Save as this file, or into this folder, which is made when its name
    /// ends in `/`. `-` writes one file to standard output, in order, as it
    /// comes; so does a device such as /dev/null, or a pipe with a name.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Downloads at a time; the others wait their turn.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = some::<usize>)]
    parallel: usize,
    /// Bytes a second all downloads together may bring, such as 500k or 2M.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    limit_rate: Option<u64>,
    /// Be called back here; port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Trust only the CA certificates in this PEM file for https://.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Trust, for https://, only the server with this certificate, as
    /// `servent share --tls-self-made` prints it.
    #[arg(long = "pin", value_name = "sha256:…", conflicts_with = "ca_file")]
    pins: Vec<CertificatePin>,
    #[command(flatten)]
    who: LoginArgs,
    /// The queueing language: parq, parq11, active or passive.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Keep trying where no server answers yet, instead of giving up soon.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    patience: Patience,
    #[command(flatten)]
    trace: TraceFlag,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &GetArgs) -> Result<(), Failure> {
    let voice = Voice::new(arguments.json, common.quiet);
    let (urls, link) = anywhere::split_links(&arguments.urls)?;
    let urls = search::expand(&common.config()?.settings.state, &urls)?;
    let (urls, mut found) = anywhere::split_each(&urls)?;
    let RequestedFiles { mut wanted, wrong } = wanted(arguments, &urls, voice)?;
    let ordered = arguments.output.as_deref().and_then(OrderedOutput::named);
    match &mut wanted[..] {
        [only] if only.is_folder() && arguments.sha256.is_some() => {
            return Err(Failure::usage("--sha256 is of a file, and this is a folder"));
        }
        [] => {}
        [only] => only.sha256 = arguments.sha256,
        _ => only_for_one(arguments)?,
    }
    if ordered == Some(OrderedOutput::Stdout) && arguments.json {
        return Err(Failure::usage("--json and -o - both want standard output"));
    }
    let mut builder = common.builder()?;
    if let Some(dialect) = &arguments.dialect {
        builder.flag("--dialect", "dialect", Raw::Text(dialect.clone()))?;
    }
    arguments.trace.put(&mut builder)?;
    let mut config = builder.finish()?;
    be_patient(&mut config.settings.node.fetch, arguments.wait);
    arguments.patience.apply(&mut config.settings.node.fetch);
    let runtime = runtime()?;
    let overlay = (&arguments.peer[..], arguments.lan);
    for one in wanted.iter_mut().filter(|one| one.needs_a_source()) {
        found.extend(runtime.block_on(find::sources(&config, one, overlay, voice))?);
    }
    let proxies = Proxies::read(|name| std::env::var(name).ok());
    let routes = runtime.block_on(MeetRoutes::open(link, found, (&proxies, voice)))?;
    let way = JobOptions {
        ca_file: arguments.ca_file.clone(),
        pins: arguments.pins.clone(),
        credentials: runtime
            .block_on(arguments.who.introduced(&wanted))?
            .map(|it| it.credentials()),
        proxies,
        rate: arguments.limit_rate.map(Rate::new),
    };
    let mut all = All::new(voice, wanted.len() > 1);
    all.key = list_of(arguments)?.unwrap_or_default();
    let names = BTreeSet::new();
    let mut plan = GetPlan { arguments, config: &config, voice, way, common, all, names, ordered };
    wanted.into_iter().try_for_each(|wanted| plan.add(wanted))?;
    let done = runtime.block_on(plan.all.run(&config, arguments.parallel));
    runtime.block_on(routes.leave());
    done?;
    wrong.map_or(Ok(()), Err)
}

/// What one command is to download, as far as it is known.
struct GetPlan<'a> {
    arguments: &'a GetArgs,
    common: &'a Common,
    config: &'a Config,
    voice: Voice,
    way: JobOptions,
    all: All,
    /// The files that are to be made.
    names: BTreeSet<PathBuf>,
    /// Where the bytes go in order, if not to files.
    ordered: Option<OrderedOutput>,
}

impl GetPlan<'_> {
    /// Adds a file or a folder; of a file that is there only its number counts.
    fn add(&mut self, wanted: RequestedFile) -> Result<(), Failure> {
        let output = self.arguments.output.as_deref();
        let (way, damaged, voice) = (self.way.clone(), self.common.damaged(), self.voice);
        if let Some(base) = wanted.folder.clone() {
            if self.ordered.is_some() {
                return Err(Failure::usage(NO_FOLDER));
            }
            let to = folder_to_make(&wanted, self.config, output)?;
            let place = wanted.places[0].clone();
            self.all.folders.push(Folder { base, place, to, way, damaged, voice });
            return Ok(());
        }
        let (file, spool) = match self.ordered {
            Some(_) => spooled(&wanted, self.config)?,
            None => (destination(&wanted, self.config, output)?, None),
        };
        if self.all.key.as_os_str().is_empty() {
            self.all.key.clone_from(&file);
        }
        let file = self.apart(file);
        if self.is_there(&file, &wanted)? {
            return Ok(());
        }
        let there = self.is_asked(&file, &wanted).then(|| file.clone());
        let file = there.as_deref().map_or(file, there::beside);
        let listen = self.arguments.listen;
        let into = |it: &Path| it.is_dir() || is_named_folder(it);
        let takes_name = spool.is_none() && output.is_none_or(into);
        self.all.jobs.push(DownloadJob {
            wanted,
            takes_name,
            file,
            there,
            spool,
            ordered: self.ordered.clone(),
            listen,
            way,
            damaged,
            voice,
        });
        Ok(())
    }

    /// A path that no other download of this command has: of several files with one name
    /// the later ones are numbered, always in the same order.
    fn apart(&mut self, file: PathBuf) -> PathBuf {
        let paths = (2_u32..).map(|n| numbered(&file, n));
        let mut free = std::iter::once(file.clone()).chain(paths);
        let free = free.find(|path| !self.names.contains(path)).unwrap_or_else(|| file.clone());
        if free != file {
            let (name, other) = (free.display(), file.display());
            let what = format!("{name}: named like {other} in the same command, and numbered");
            self.voice.note(&json!({ "event": "numbered", "file": free, "like": file }), &what);
        }
        self.names.insert(free.clone());
        free
    }

    /// True when the server is asked whether it has the file that is there.
    fn is_asked(&self, file: &Path, wanted: &RequestedFile) -> bool {
        self.ordered.is_none() && there::can_be_asked(file, wanted)
    }

    /// True when a file is there and does not come again, which is said: it is the same,
    /// or only the user knows whether it is.
    ///
    /// # Errors
    /// The latter, of the only download.
    fn is_there(&mut self, file: &Path, wanted: &RequestedFile) -> Result<bool, Failure> {
        if is_the_same(file, wanted.sha1, wanted.sha256) {
            there::same(self.voice, file);
            self.all.before.there += 1;
            return Ok(true);
        }
        // An existing folder may be the incomplete download of a folder.
        match there::absent(file) {
            Err(_) if file.is_dir() => Ok(false),
            Ok(()) => Ok(false),
            Err(_) if self.is_asked(file, wanted) => Ok(false),
            Err(there) if self.all.is_single() => Err(there),
            Err(there) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                Bars::named(self.voice).failed(&name, &there);
                self.all.before.fail(&name, &there);
                Ok(true)
            }
        }
    }
}

/// `name (2).ext`.
fn numbered(file: &Path, n: u32) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let end = file.extension().map(|end| format!(".{}", end.to_string_lossy()));
    file.with_file_name(format!("{stem} ({n}){}", end.unwrap_or_default()))
}

/// Why a folder is not written in order.
const NO_FOLDER: &str = "a folder does not fit into standard output, or into a device";

/// The file that lists the downloads, if it is one.
fn list_of(arguments: &GetArgs) -> Result<Option<PathBuf>, Failure> {
    let list = arguments.input.as_deref().filter(|list| *list != Path::new("-"));
    let whole = |list| std::path::absolute(list).map_err(|e| Failure::file("use", list, &e));
    list.map(whole).transpose()
}

/// A file in a temporary folder, for what is written in order.
fn spooled(
    wanted: &RequestedFile,
    config: &Config,
) -> Result<(PathBuf, Option<tempfile::TempDir>), Failure> {
    let folder = states(&config.settings.state);
    make(&folder)?;
    let spool = tempfile::tempdir_in(&folder);
    let spool = spool.map_err(|e| Failure::file("make a folder in", &folder, &e))?;
    Ok((spool.path().join(wanted.file_name()), Some(spool)))
}

/// The downloads named by the arguments and the list.
fn wanted(arguments: &GetArgs, urls: &[String], voice: Voice) -> Result<RequestedFiles, Failure> {
    let mut wrong = None;
    let mut wanted = match urls.is_empty() {
        true => Vec::new(),
        false => RequestedFile::parse(urls, &arguments.mirrors)?,
    };
    if let Some(file) = &arguments.input {
        if !arguments.mirrors.is_empty() {
            return Err(Failure::usage("--mirror is for one download, and -i lists several").next(
                "put all sources of a file into one line of the list, behind its urn:sha1:",
            ));
        }
        let named = wanted.len();
        let list = lists::list::read(file)?;
        for failure in &list.wrong {
            voice.note(&json!({ "event": "failed", "why": failure.what }), &failure.what);
        }
        wrong = list.verdict(file).err();
        for one in list.wanted {
            if !wanted[..named].contains(&one) {
                wanted.push(one);
            }
        }
    }
    match wrong {
        Some(failure) if wanted.is_empty() => Err(failure),
        wrong => Ok(RequestedFiles { wanted, wrong }),
    }
}

/// What the arguments and the list ask for.
struct RequestedFiles {
    wanted: Vec<RequestedFile>,
    /// Some lines of the list cannot be read.
    wrong: Option<Failure>,
}

/// Refuses options that make no sense for several downloads.
fn only_for_one(arguments: &GetArgs) -> Result<(), Failure> {
    let several = "several downloads are named";
    let no_folder = |output: &&Path| !output.is_dir() && !is_named_folder(output);
    if let Some(file) = arguments.output.as_deref().filter(no_folder) {
        return Err(Failure::usage(format!("{several}, and {} is no folder", file.display()))
            .next("name a folder with -o; several sources of one file are said with --mirror"));
    }
    if arguments.sha256.is_some() {
        return Err(Failure::usage(format!("{several}, and --sha256 is of one"))
            .next("run one command for each"));
    }
    if arguments.trace.trace.is_some() {
        return Err(Failure::usage(format!("{several}, and --trace records one"))
            .next("run one command for each"));
    }
    if arguments.listen.is_some_and(|at| at.port() != 0) {
        return Err(Failure::usage(format!("{several}, and a port serves one"))
            .next("use port 0 with --listen, so that each takes a free one"));
    }
    Ok(())
}

/// When a source is given up.
#[derive(Debug, Args)]
struct Patience {
    /// Give a source up after this many failures in a row; every byte that is new
    /// starts the count again. Usually 10, within about three minutes. With this option
    /// a server that says it is busy (HTTP status 503 or 429), and gives no place in its
    /// queue, has failed too; usually it is asked again until it is not.
    #[arg(long, value_name = "N", conflicts_with = "wait", value_parser = some::<u32>)]
    tries: Option<u32>,
    /// Seconds in which a server has to connect, to answer, and to go on sending;
    /// then the next try begins. Usually 10 to connect, 45 to answer, 30 to go on.
    #[arg(long, value_name = "SECONDS", value_parser = some::<u32>)]
    timeout: Option<u32>,
}

impl Patience {
    fn apply(&self, fetch: &mut fetch::Config) {
        if let Some(tries) = self.tries {
            (fetch.attempts, fetch.refusals) = (tries, tries);
        }
        if let Some(seconds) = self.timeout {
            let limit = time::Duration::from_secs(seconds.into());
            (fetch.dial_deadline, fetch.answer_deadline, fetch.stall_window) =
                (limit, limit, limit);
        }
    }
}

/// Pauses between tries of a user who watches: short, so that ten of them take
/// three minutes.
const BACKOFF: (time::Duration, time::Duration) =
    (time::Duration::from_secs(2), time::Duration::from_secs(30));
/// Tries of such a user.
const TRIES: u32 = 10;
/// How long nothing may come to such a user.
const STALL: time::Duration = time::Duration::from_secs(30);

/// How long one that was asked to connect may take: longer than the time between
/// two pushes.
const GIV: time::Duration = time::Duration::from_secs(10);

/// How long a source may take to be reachable for the first time.
const FIRST_CONTACT: time::Duration = time::Duration::from_secs(10);

/// A wrong address is reported soon, unless the user wants to wait for a
/// source.
pub(crate) fn be_patient(fetch: &mut fetch::Config, wait: bool) {
    let usual = fetch::Config::default();
    if (fetch.backoff, fetch.backoff_most) == (usual.backoff, usual.backoff_most) {
        (fetch.backoff, fetch.backoff_most) = BACKOFF;
    }
    if fetch.attempts == usual.attempts {
        fetch.attempts = TRIES;
    }
    if fetch.stall_window == usual.stall_window {
        fetch.stall_window = STALL;
    }
    if fetch.giv_deadline == usual.giv_deadline {
        fetch.giv_deadline = GIV;
    }
    if wait {
        (fetch.first_contact, fetch.attempts) = (time::Duration::ZERO, u32::MAX);
    } else if fetch.first_contact == time::Duration::ZERO {
        fetch.first_contact = FIRST_CONTACT;
    }
}

/// The folder to create: a new one, or one inside an existing folder.
fn folder_to_make(
    wanted: &RequestedFile,
    config: &Config,
    output: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let name = wanted.name.as_deref().map(|_| wanted.file_name());
    let inside = |folder: &Path| name.as_ref().map_or(folder.to_owned(), |name| folder.join(name));
    let folder = match output {
        None => inside(&config.settings.downloads),
        Some(folder) if folder.is_dir() || is_named_folder(folder) => inside(folder),
        Some(folder) => folder.to_path_buf(),
    };
    std::path::absolute(&folder).map_err(|e| Failure::file("use", &folder, &e))
}

/// Every file below a folder, to be downloaded by a servent that runs; their
/// names begin with that of the folder. The second part is what could not be
/// read.
pub(crate) async fn files_below(
    config: &Config,
    wanted: &RequestedFile,
    credentials: Option<Credentials>,
) -> Result<(Vec<Get>, Vec<String>), Failure> {
    let (Some(base), Some(place)) = (&wanted.folder, wanted.places.first()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    make(&states(&config.settings.state))?;
    let proxies = Proxies::default(); // Those of the servent that runs are its own.
    let source = place.resolve(None, &proxies).await?;
    let way = JobOptions { ca_file: None, pins: Vec::new(), credentials, proxies, rate: None };
    let found = lists::crawl::crawl(config, base, &source, &way).await?;
    if found.files.is_empty() && found.troubles.is_empty() {
        return Err(lists::crawl::CrawlResult::nothing(base));
    }
    let top = wanted.name.as_ref().map(|_| wanted.file_name() + "/").unwrap_or_default();
    let get = |(path, file): (String, lists::crawl::CrawledFile)| {
        let sources = vec![DownloadSource { target: file.target, ..source.clone() }];
        Get { name: format!("{top}{path}"), sha1: None, sources }
    };
    Ok((found.files.into_iter().map(get).collect(), found.troubles))
}

/// The downloads that a list names.
pub(crate) fn listed(file: &Path) -> Result<ReadList, Failure> {
    lists::list::read(file)
}

/// The file to create. Its folder must exist.
fn destination(
    wanted: &RequestedFile,
    config: &Config,
    output: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let file = match output {
        None => config.settings.downloads.join(wanted.file_name()),
        Some(folder) if folder.is_dir() || is_named_folder(folder) => {
            folder.join(wanted.file_name())
        }
        Some(file) => file.to_path_buf(),
    };
    let file = std::path::absolute(&file).map_err(|e| Failure::file("use", &file, &e))?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    if output.is_none() {
        make(folder)?;
    } else if output.is_some_and(is_named_folder) {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|e| Failure::file("make the folder", folder, &e))?;
    }
    if !folder.is_dir() {
        return Err(Failure::new(Exit::Disk, format!("there is no folder {}", folder.display()))
            .next("make it, or choose another file with -o"));
    }
    Ok(file)
}

/// True for a path that ends like a folder's.
fn is_named_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// True when a file is there already and has every hash that was asked for, of which
/// there is at least one.
fn is_the_same(file: &Path, sha1: Option<Sha1>, sha256: Option<Sha256Sum>) -> bool {
    let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let first = |sha1| folder::sha1_of(file).is_ok_and(|found| found == sha1);
    let second = |sum| Sha256Sum::of_file(file).is_ok_and(|found| found == sum);
    let named = sha1.is_some() || sha256.is_some();
    is_file && named && sha1.is_none_or(first) && sha256.is_none_or(second)
}
