//! Query hits.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};

use super::query::QueryExtensions;
use super::{Fields, HitMeeting, OverlayPayload, PayloadError, ggep};
use crate::id::{FileIndex, Guid, Sha1};

/// The separator of a result's extensions.
const SEPARATOR: u8 = 0x1c;
/// Maximum bytes of the folders that are told of a file.
const PATH: usize = 255;
/// The flags of the trailer.
const PUSH: u8 = 0x01;
const BUSY: u8 = 0x04;
const UPLOADED: u8 = 0x08;
/// The private area contains extension blocks.
pub(super) const GGEP_FLAG: u8 = 0x20;
/// The position of the flags in the trailer.
pub(super) const TRAILER_FLAGS: usize = 5;

/// Bytes of one proxy in the extension.
const PROXY: usize = 6;
/// Maximum number of proxies read from a hit.
const PROXIES: usize = 8;
/// Limits of the extension blocks in a trailer.
const LIMITS: ggep::GgepLimits = ggep::GgepLimits { blocks: 64, bytes: 65_536 };

/// A query hit. Keeps the payload unchanged; it is read through accessors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryHit {
    payload: OverlayPayload,
    /// Where the results end.
    end: u32,
}

/// One result of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitResult<'a> {
    /// The file's number at the servent.
    pub index: FileIndex,
    /// Its size in bytes.
    pub size: u64,
    /// Its name, in an unknown encoding.
    pub name: &'a [u8],
    /// Its extensions.
    extensions: &'a [u8],
}

/// What the trailer says about the servent; `None` where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Quality {
    /// It cannot be reached: a push is needed.
    pub push: Option<bool>,
    /// All its upload slots are taken.
    pub busy: Option<bool>,
    /// It has uploaded a file before.
    pub uploaded: Option<bool>,
}

impl QueryHit {
    /// Parses a payload.
    ///
    /// # Errors
    /// When there are fewer results than announced, or no servent id.
    pub fn parse(payload: OverlayPayload) -> Result<Self, PayloadError> {
        let body = payload.len().checked_sub(16).ok_or(PayloadError::Short)?;
        let mut fields = Fields(&payload[..body]);
        let count = fields.u8()?;
        fields.take::<10>()?;
        for _ in 0..count {
            result(&mut fields)?;
        }
        let end = (body - fields.0.len()) as u32;
        Ok(Self { end, payload })
    }

    /// The payload.
    #[must_use]
    pub const fn payload(&self) -> &OverlayPayload {
        &self.payload
    }

    pub(super) const fn payload_mut(&mut self) -> &mut OverlayPayload {
        &mut self.payload
    }

    /// The number of results.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.payload[0]
    }

    /// The servent's address.
    #[must_use]
    pub fn at(&self) -> SocketAddrV4 {
        let mut fields = Fields(&self.payload[1..]);
        match (fields.u16(), fields.ip()) {
            (Ok(port), Ok(ip)) => SocketAddrV4::new(ip, port),
            _ => SocketAddrV4::new(core::net::Ipv4Addr::UNSPECIFIED, 0),
        }
    }

    /// The servent's address, which may be one of IPv6 alone (extension `6`).
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        let at = self.at();
        if !at.ip().is_unspecified() {
            return SocketAddr::V4(at);
        }
        let (blocks, _) = private_blocks(self.trailer()).unwrap_or_default();
        let six = blocks.into_iter().find(|block| block.id == b"6");
        let six = six.and_then(|block| <[u8; 16]>::try_from(&block.data[..]).ok());
        six.map_or(SocketAddr::V4(at), |ip| (Ipv6Addr::from(ip), at.port()).into())
    }

    /// The servent's id.
    #[must_use]
    pub fn servent(&self) -> Guid {
        self.payload.last_chunk().map_or_else(Guid::default, |id| Guid(*id))
    }

    /// Everything but the trailer and the id: the part that copies of one hit
    /// have in common, whatever relays add to the private area (RT-9).
    #[must_use]
    pub fn result_set(&self) -> &[u8] {
        &self.payload[..self.end as usize]
    }

    /// The results.
    pub fn results(&self) -> impl Iterator<Item = HitResult<'_>> {
        let mut fields = Fields(&self.payload[11..self.end as usize]);
        (0..self.count()).map_while(move |_| result(&mut fields).ok())
    }

    /// The part between the results and the id: vendor, flags, private area.
    pub(super) fn trailer(&self) -> &[u8] {
        &self.payload[self.end as usize..self.payload.len() - 16]
    }

    /// The servent's vendor code, four letters.
    #[must_use]
    pub fn vendor(&self) -> Option<[u8; 4]> {
        self.trailer().first_chunk().copied()
    }

    /// The servent's push proxies, if given (extension `PUSH`).
    #[must_use]
    pub fn proxies(&self) -> Vec<SocketAddrV4> {
        let (blocks, _) = private_blocks(self.trailer()).unwrap_or_default();
        let push = blocks.into_iter().find(|block| block.id == b"PUSH");
        let packed = push.map(|block| block.data).unwrap_or_default();
        let each = packed.chunks_exact(PROXY).map(|at| {
            let ip = Ipv4Addr::new(at[0], at[1], at[2], at[3]);
            SocketAddrV4::new(ip, u16::from_le_bytes([at[4], at[5]]))
        });
        each.filter(|at| at.port() != 0).take(PROXIES).collect()
    }

    /// Where the servent can be met that cannot be reached (extension `SM`).
    #[must_use]
    pub fn meeting(&self) -> Option<HitMeeting> {
        let (blocks, _) = private_blocks(self.trailer())?;
        let block = blocks.into_iter().find(|block| block.id == b"SM")?;
        HitMeeting::parse(&block.data)
    }

    /// What the trailer says about the servent.
    #[must_use]
    pub fn quality(&self) -> Quality {
        let flags = |n| {
            self.trailer()
                .get(4)
                .filter(|count| **count > n)
                .and_then(|_| self.trailer().get(5 + usize::from(n)).copied())
        };
        let (first, second) = (flags(0), flags(1));
        let says = |mark: u8| {
            let (meaningful, value) = (first?, second?);
            (meaningful & mark != 0).then_some(value & mark != 0)
        };
        // The oldest flag has its two bytes the other way round.
        let push = match (first, second) {
            (Some(value), Some(meaningful)) if meaningful & PUSH != 0 => Some(value & PUSH != 0),
            (Some(value), None) => Some(value & PUSH != 0),
            _ => None,
        };
        Quality { push, busy: says(BUSY), uploaded: says(UPLOADED) }
    }
}

impl<'a> HitResult<'a> {
    /// The file's extensions.
    #[must_use]
    pub fn extensions(&self) -> QueryExtensions<'a> {
        QueryExtensions::from_area(self.extensions)
    }

    /// The bytes of the extensions.
    pub(super) const fn extension_area(&self) -> &'a [u8] {
        self.extensions
    }

    /// The name with its folders at the servent, if they are given (GGEP
    /// `PATH`); invalid UTF-8 is replaced.
    #[must_use]
    pub fn path(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let folder = self.extensions().find_map(|extension| block(extension, b"PATH"));
        let folder = folder.map(|path| text(&path.data)).unwrap_or_default();
        match folder.trim_matches('/') {
            "" => text(self.name),
            folder => alloc::format!("{folder}/{}", text(self.name)),
        }
    }

    /// The file's SHA-1.
    #[must_use]
    pub fn sha1(&self) -> Option<Sha1> {
        self.extensions().sha1s().next()
    }
}

fn result<'a>(fields: &mut Fields<'a>) -> Result<HitResult<'a>, PayloadError> {
    let (index, size) = (FileIndex(fields.u32()?), fields.u32()?);
    let name = fields.text()?;
    let extensions = fields.text()?;
    let mut found = HitResult { index, size: u64::from(size), name, extensions };
    if size == u32::MAX
        && let Some(size) = found.extensions().find_map(large)
    {
        found.size = size;
    }
    Ok(found)
}

/// A block of an extension area.
fn block(extension: super::Extension<'_>, id: &[u8]) -> Option<ggep::GgepBlock> {
    let super::Extension::Ggep(area) = extension else { return None };
    let (blocks, _) = ggep::parse(area, &ggep::GgepLimits { blocks: 8, bytes: 1_024 }).ok()?;
    blocks.into_iter().find(|block| block.id == id)
}

/// The size of a file of four gigabytes or more.
fn large(extension: super::Extension<'_>) -> Option<u64> {
    let size = block(extension, b"LF")?;
    if size.data.len() > 8 {
        return None;
    }
    Some(size.data.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}

/// The extension blocks in the private area of a trailer, and their position;
/// `None` when the flags say that there are none, or they cannot be found.
pub(super) fn private_blocks(trailer: &[u8]) -> Option<(Vec<ggep::GgepBlock>, (usize, usize))> {
    let count = usize::from(*trailer.get(TRAILER_FLAGS - 1)?);
    let says = trailer.get(TRAILER_FLAGS).filter(|_| count >= 2)?;
    if says & trailer.get(TRAILER_FLAGS + 1)? & GGEP_FLAG == 0 {
        return None;
    }
    (TRAILER_FLAGS + count..trailer.len()).find_map(|at| {
        let (blocks, used) = ggep::parse(&trailer[at..], &LIMITS).ok()?;
        Some((blocks, (at, used)))
    })
}

/// Builds a hit of ours.
#[derive(Debug, Clone)]
pub struct HitBuilder {
    payload: Vec<u8>,
    tail: Vec<u8>,
    most: usize,
}

impl HitBuilder {
    /// A hit without results, of at most `most` bytes. `speed` is in kbit/s.
    #[must_use]
    pub fn new(
        at: SocketAddrV4,
        speed: u32,
        (vendor, quality): ([u8; 4], Quality),
        servent: Guid,
        most: usize,
    ) -> Self {
        let mut payload = alloc::vec![0];
        payload.extend_from_slice(&at.port().to_le_bytes());
        payload.extend_from_slice(&at.ip().octets());
        payload.extend_from_slice(&speed.to_le_bytes());
        let mark = |says: Option<bool>, mark: u8| match says {
            None => (0, 0),
            Some(value) => (mark, if value { mark } else { 0 }),
        };
        let (push, pushes) = mark(quality.push, PUSH);
        let (busy, busies) = mark(quality.busy, BUSY);
        let (uploaded, uploads) = mark(quality.uploaded, UPLOADED);
        let mut tail = vendor.to_vec();
        tail.extend_from_slice(&[2, pushes | busy | uploaded, push | busies | uploads]);
        tail.extend_from_slice(&servent.0);
        Self { payload, tail, most }
    }

    /// Adds extension blocks about the servent, before the first file.
    #[must_use]
    pub fn with(mut self, blocks: &[ggep::GgepBlock]) -> Self {
        if blocks.is_empty() {
            return self;
        }
        let servent = self.tail.split_off(self.tail.len() - 16);
        for flags in &mut self.tail[TRAILER_FLAGS..] {
            *flags |= GGEP_FLAG;
        }
        ggep::write(blocks, false, &mut self.tail);
        self.tail.extend_from_slice(&servent);
        self
    }

    /// Adds a file; false when it does not fit, and is left out. The folders in
    /// its name, if any, are stored separately (GGEP `PATH`).
    pub fn add(&mut self, index: FileIndex, size: u64, name: &str, sha1: Option<Sha1>) -> bool {
        let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
        let before = self.payload.len();
        let small = u32::try_from(size).unwrap_or(u32::MAX);
        self.payload.extend_from_slice(&index.0.to_le_bytes());
        self.payload.extend_from_slice(&small.to_le_bytes());
        self.payload.extend(name.bytes().map(|b| if b == 0 { b' ' } else { b }));
        self.payload.push(0);
        if let Some(sha1) = sha1 {
            self.payload.extend_from_slice(alloc::format!("urn:sha1:{sha1}").as_bytes());
        }
        let mut blocks = Vec::new();
        if u64::from(small) != size || small == u32::MAX {
            let used = 8 - size.leading_zeros() as usize / 8;
            blocks.push(ggep::GgepBlock::new(b"LF", &size.to_le_bytes()[..used]));
        }
        if !folder.is_empty() && folder.len() <= PATH {
            blocks.push(ggep::GgepBlock::new(b"PATH", folder.as_bytes()));
        }
        if !blocks.is_empty() {
            if sha1.is_some() {
                self.payload.push(SEPARATOR);
            }
            ggep::write(&blocks, true, &mut self.payload);
        }
        self.payload.push(0);
        let fits = self.payload.len() + self.tail.len() <= self.most && self.payload[0] < u8::MAX;
        if fits {
            self.payload[0] += 1;
        } else {
            self.payload.truncate(before);
        }
        fits
    }

    /// The hit; `None` when it has no results.
    #[must_use]
    pub fn finish(mut self) -> Option<QueryHit> {
        let end = self.payload.len() as u32;
        if self.payload[0] == 0 {
            return None;
        }
        self.payload.append(&mut self.tail);
        Some(QueryHit { payload: self.payload.into(), end })
    }
}
