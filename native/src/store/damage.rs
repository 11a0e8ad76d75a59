//! What is wrong with rows that cannot be read. Only a good
//! copy mends that: the user who opens the store has to name one.

use thiserror::Error;

/// Why what a store remembers cannot be read.
#[derive(Debug, Error)]
pub(super) enum RowError {
    /// The file does not give it.
    #[error(transparent)]
    File(redb::Error),
    /// Its bytes are those of something else.
    #[error("a row cannot be read: {0}")]
    Encoding(#[from] postcard::Error),
    /// It has the key of another kind of rows.
    #[error("a key of a row is no number")]
    Key,
    /// The digest of a piece has one length, and so has its key.
    #[error("the row of a piece has another length")]
    Piece,
    /// It is of no kind that this program knows.
    #[error("there are rows of an unknown kind, {0}")]
    Kind(i16),
}

/// An error of the file, whichever of its many it is.
pub(super) fn unread(why: impl Into<redb::Error>) -> RowError {
    RowError::File(why.into())
}
