//! Queries.

use alloc::vec::Vec;

use super::{Fields, OverlayPayload, PayloadError};
use crate::id::Sha1;

/// Criteria that match every file, for a direct neighbour only (TTL 1, hops 0).
pub const EVERYTHING: &str = "    ";

/// The separator of the extensions of a query or result.
const SEPARATOR: u8 = 0x1c;
/// The first byte of every list of extension blocks.
const GGEP: u8 = 0xc3;

/// A query. Keeps the payload unchanged; it is read through accessors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    payload: OverlayPayload,
    /// The end of the criteria.
    end: u32,
}

/// What a requester says about itself, and wants in hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Wishes {
    /// It cannot be reached.
    pub firewalled: bool,
    /// It supports XML.
    pub xml: bool,
    /// A leaf guides the search.
    pub leaf_guided: bool,
    /// It supports extension blocks with hashes in hits.
    pub ggep_hashes: bool,
    /// It accepts hits out of band.
    pub out_of_band: bool,
}

impl Wishes {
    const fn from_byte(byte: u8) -> Self {
        Self {
            firewalled: byte & 0x40 != 0,
            xml: byte & 0x20 != 0,
            leaf_guided: byte & 0x10 != 0,
            ggep_hashes: byte & 0x08 != 0,
            out_of_band: byte & 0x04 != 0,
        }
    }

    const fn byte(self) -> u8 {
        (self.firewalled as u8) << 6
            | (self.xml as u8) << 5
            | (self.leaf_guided as u8) << 4
            | (self.ggep_hashes as u8) << 3
            | (self.out_of_band as u8) << 2
    }
}

impl Query {
    /// Parses a payload.
    ///
    /// # Errors
    /// When it is too short or the criteria are not terminated.
    pub fn parse(payload: OverlayPayload) -> Result<Self, PayloadError> {
        let mut fields = Fields(&payload);
        fields.u16()?;
        let end = 2 + fields.text()?.len();
        Ok(Self { end: end as u32, payload })
    }

    /// A query of ours. NULs in the criteria become blanks; `urns` request
    /// files by hash.
    #[must_use]
    pub fn new(wishes: Wishes, criteria: &str, urns: &[Sha1]) -> Self {
        let mut payload = Vec::with_capacity(3 + criteria.len() + 42 * urns.len());
        payload.extend_from_slice(&[0x80 | wishes.byte(), 0]);
        payload.extend(criteria.bytes().map(|b| if b == 0 { b' ' } else { b }));
        let end = payload.len() as u32;
        payload.push(0);
        for (number, urn) in urns.iter().enumerate() {
            if number > 0 {
                payload.push(SEPARATOR);
            }
            payload.extend_from_slice(alloc::format!("urn:sha1:{urn}").as_bytes());
        }
        if !urns.is_empty() {
            payload.push(0);
        }
        Self { payload: payload.into(), end }
    }

    /// The payload.
    #[must_use]
    pub const fn payload(&self) -> &OverlayPayload {
        &self.payload
    }

    pub(super) const fn payload_mut(&mut self) -> &mut OverlayPayload {
        &mut self.payload
    }

    /// What the requester says about itself; `None` from servents that put a
    /// minimum speed there.
    #[must_use]
    pub fn wishes(&self) -> Option<Wishes> {
        self.payload.first().filter(|b| *b & 0x80 != 0).map(|b| Wishes::from_byte(*b))
    }

    /// The search criteria.
    #[must_use]
    pub fn criteria(&self) -> &[u8] {
        &self.payload[2..self.end as usize]
    }

    /// The extensions.
    #[must_use]
    pub fn extensions(&self) -> QueryExtensions<'_> {
        QueryExtensions::from_area(self.extension_area())
    }

    /// The bytes of the extensions.
    pub(super) fn extension_area(&self) -> &[u8] {
        &self.payload[self.end as usize + 1..]
    }

    /// The files requested by hash.
    pub fn urns(&self) -> impl Iterator<Item = Sha1> {
        self.extensions().sha1s()
    }

    /// True when every file matches.
    #[must_use]
    pub fn asks_for_everything(&self) -> bool {
        self.criteria() == EVERYTHING.as_bytes()
    }
}

/// One of the extensions of a query or of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension<'a> {
    /// `urn:…`, XML or anything else.
    Text(&'a [u8]),
    /// Extension blocks, for [`super::ggep::parse`]. Always the last.
    Ggep(&'a [u8]),
}

/// The extensions of a query or result, one after the other.
#[derive(Debug, Clone)]
pub struct QueryExtensions<'a>(&'a [u8]);

impl<'a> QueryExtensions<'a> {
    /// They may or may not be terminated by a NUL.
    pub(super) fn from_area(area: &'a [u8]) -> Self {
        Self(area.strip_suffix(&[0]).unwrap_or(area))
    }

    /// The files that they name by hash.
    pub fn sha1s(self) -> impl Iterator<Item = Sha1> + use<'a> {
        self.filter_map(|extension| match extension {
            Extension::Text(text) => Sha1::parse_urn(text),
            Extension::Ggep(_) => None,
        })
    }
}

impl<'a> Iterator for QueryExtensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Extension<'a>> {
        while self.0.first() == Some(&SEPARATOR) {
            self.0 = &self.0[1..];
        }
        if *self.0.first()? == GGEP {
            return Some(Extension::Ggep(core::mem::take(&mut self.0)));
        }
        let end = self.0.iter().position(|b| *b == SEPARATOR).unwrap_or(self.0.len());
        let (text, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(Extension::Text(text))
    }
}
