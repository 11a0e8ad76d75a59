//! Finds everything below a folder: from a servent's own list, or from the
//! pages of any web server by following their links.

use std::collections::{BTreeMap, BTreeSet};

use servent::driver::{Driver, ServentOptions};
use servent_core::node::{DownloadSource, Get};

use super::batch::{Batch, BatchEvent, EndedDownload};
use super::links::{Base, KnownFile, PageLink};
use crate::cli::get::job::JobOptions;
use crate::cli::get::troubles;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::FolderSize;

/// The most files in one folder and its subfolders.
const MOST_FILES: usize = 100_000;
/// The most pages read.
const MOST_PAGES: usize = 10_000;
/// The deepest nesting of folders.
const DEPTH: usize = 32;
/// Parallel page requests.
const AT_ONCE: usize = 4;
/// The longest page that is read, in bytes.
const PAGE: u64 = 16 << 20;

/// The result of a crawl.
#[derive(Debug, Default)]
pub(crate) struct CrawlResult {
    /// The files by path below the folder.
    pub(crate) files: BTreeMap<String, CrawledFile>,
    /// What could not be read and why, and what was left out.
    pub(crate) troubles: Vec<String>,
    /// Ranges of the list can be fetched at once.
    pub(crate) has_ranges: bool,
}

/// A file below the folder.
#[derive(Debug, Clone)]
pub(crate) struct CrawledFile {
    /// Its request target.
    pub(crate) target: String,
    pub(crate) known: Option<KnownFile>,
}

/// A page to read.
#[derive(Debug, Clone)]
struct CrawledPage {
    target: String,
    is_list: bool,
}

/// Finds everything below a folder. `source` is the folder itself.
pub(crate) async fn crawl(
    config: &Config,
    base: &Base,
    source: &DownloadSource,
    way: &JobOptions,
) -> Result<CrawlResult, Failure> {
    let spool = config.settings.state.join("get");
    let spool =
        tempfile::tempdir_in(&spool).map_err(|e| Failure::file("make a folder in", &spool, &e))?;
    let mut node = config.settings.node.clone();
    node.overlay.enabled = false;
    node.fetch.decodes = true;
    node.fetch.largest = PAGE;
    let options = ServentOptions {
        name: "get".into(),
        download_dir: spool.path().to_path_buf(),
        node,
        ca_file: way.ca_file.clone(),
        pins: way.pins.clone(),
        credentials: way.credentials.clone(),
        proxies: way.proxies.clone(),
        download_rate: way.rate.clone(),
        ..ServentOptions::without_folders()
    };
    let handle = Driver::start(options).await?;
    let mut walk =
        CrawlWalk { base, found: CrawlResult::default(), seen: BTreeSet::new(), next: Vec::new() };
    // Behind a proxy that of the source is the whole URL.
    let top = base.target();
    walk.visit(CrawledPage { target: top.clone(), is_list: false });
    let mut batch = Batch::new(&handle, spool.path());
    let (mut under_way, mut pages) = (BTreeMap::new(), 0);
    let outcome = loop {
        while batch.len() < AT_ONCE
            && let Some(page) = walk.next.pop()
        {
            if pages == MOST_PAGES {
                walk.found
                    .troubles
                    .push(format!("only the first {MOST_PAGES} folders are looked at"));
                walk.next.clear();
                break;
            }
            let name = format!("page-{pages}");
            let source = DownloadSource { target: page.target.clone(), ..source.clone() };
            under_way.insert(name.clone(), page);
            pages += 1;
            batch.begin(Get { name, sha1: None, sources: vec![source] }).await?;
        }
        if batch.len() == 0 {
            break Ok(());
        }
        let news = tokio::select! {
            news = batch.next() => news?,
            why = handle.distrust() => return Err(troubles::distrusted(why)),
        };
        let BatchEvent::Ended(EndedDownload { name, outcome }) = news else { continue };
        let Some(page) = under_way.remove(&name) else { continue };
        let text = outcome.and_then(|_| {
            let path = spool.path().join(&name);
            std::fs::read(&path).map_err(|e| Failure::file("read", &path, &e))
        });
        match text {
            Ok(text) => walk.read(&page, &String::from_utf8_lossy(&text)),
            Err(failure) if page.target == top => break Err(failure),
            Err(failure) => walk.found.troubles.push(format!("{}: {}", page.target, failure.what)),
        }
    };
    handle.stop().await?;
    outcome.map(|()| walk.found)
}

struct CrawlWalk<'a> {
    base: &'a Base,
    found: CrawlResult,
    seen: BTreeSet<String>,
    next: Vec<CrawledPage>,
}

impl CrawlWalk<'_> {
    fn visit(&mut self, page: CrawledPage) {
        let inside = page.target.strip_prefix(&self.base.target()).unwrap_or_default();
        let depth = inside.split('?').next().unwrap_or_default().matches('/').count();
        if depth <= DEPTH && self.seen.insert(page.target.clone()) {
            self.next.push(page);
        }
    }

    fn read(&mut self, page: &CrawledPage, text: &str) {
        let links = match page.is_list {
            true => {
                self.found.has_ranges |= Base::has_ranges(text);
                self.base.list(text)
            }
            false => self.base.links(&page.target, text),
        };
        // A server with a complete list need not be crawled.
        let list = links.iter().find(|link| matches!(link, PageLink::List { .. })).cloned();
        for link in list.map_or(links, |list| vec![list]) {
            match link {
                PageLink::List { target } => self.visit(CrawledPage { target, is_list: true }),
                PageLink::More { target } => {
                    self.visit(CrawledPage { target, is_list: page.is_list })
                }
                PageLink::Folder { target } => self.visit(CrawledPage { target, is_list: false }),
                PageLink::File { .. } if self.found.files.len() == MOST_FILES => {
                    let most = format!("only the first {MOST_FILES} files are taken");
                    if !self.found.troubles.contains(&most) {
                        self.found.troubles.push(most);
                    }
                }
                PageLink::File { target, path, known } => {
                    self.found.files.entry(path).or_insert(CrawledFile { target, known });
                }
            }
        }
    }
}

impl CrawlResult {
    /// How much there is, as far as the server says it.
    pub(crate) fn size(&self) -> FolderSize {
        let sizes = self.files.values().map(|file| file.known.map(|known| known.size));
        FolderSize { files: self.files.len() as u64, bytes: sizes.sum() }
    }

    /// The error when nothing is below the folder.
    pub(crate) fn nothing(base: &Base) -> Failure {
        let what = format!("{}://{}{} names no files", base.scheme, base.host, base.path);
        Failure::new(Exit::Network, what).next("open it in a browser to see what is there")
    }
}
