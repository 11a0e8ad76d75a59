//! Why a configuration cannot be used. All of it is the fault of the user who wrote
//! it, and the sentence says what to write instead.

use thiserror::Error;

/// Why one setting cannot have the value that was given.
#[derive(Debug, Error)]
pub(crate) enum SettingError {
    /// There is no such setting.
    #[error("unknown key `{key}`{}", meant(near.as_deref()))]
    Unknown {
        key: String,
        /// The setting whose name is spelled almost like that.
        near: Option<String>,
    },
    /// The key is that of a group of settings.
    #[error("`{0}` is a table, not a value; write [{0}] and its keys below")]
    Table(String),
    /// The setting has another type.
    #[error("`{key}` is {wanted}")]
    Type { key: String, wanted: ExpectedValue },
    /// The number has the right type, and no setting can be that large.
    #[error("`{0}`: the number is too large")]
    TooLarge(String),
    /// The words are none that the setting knows.
    #[error("`{key}`: {why}")]
    Value { key: String, why: serde_json::Error },
}

/// What a setting is to be.
#[derive(Debug, Error)]
pub(crate) enum ExpectedValue {
    #[error("a length of time such as \"30s\", \"250ms\" or \"5m\"")]
    Duration,
    #[error("a whole number, 0 or more")]
    Count,
    #[error("a smaller number than that")]
    Less,
    #[error("a whole number")]
    Number,
    #[error("`true` or `false`")]
    Truth,
    #[error("a list of strings")]
    List,
    #[error("a string")]
    Text,
    /// With what was given.
    #[error("a string, not {0}")]
    TextNot(&'static str),
}

/// The file is no TOML.
#[derive(Debug, Error)]
#[error("{what}")]
pub(crate) struct SyntaxError {
    /// The line, from 1.
    pub(crate) line: usize,
    /// In the words of the library that reads TOML.
    pub(crate) what: String,
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
