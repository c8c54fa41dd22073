//! What a version cannot say.

use core::fmt;

use crate::header::Version;
use crate::writer::TooLong;

/// A message that an OpenFlow version has no words for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// What it cannot say, such as "a group".
    pub feature: &'static str,
    /// Which version.
    pub version: Version,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot say \"{}\"", self.version, self.feature)
    }
}

impl core::error::Error for Unsupported {}

/// Why a message was not encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// The version cannot say it.
    Unsupported(Unsupported),
    /// It does not fit an OpenFlow message.
    TooLong,
}

impl From<Unsupported> for EncodeError {
    fn from(unsupported: Unsupported) -> Self {
        EncodeError::Unsupported(unsupported)
    }
}

impl From<TooLong> for EncodeError {
    fn from(_: TooLong) -> Self {
        EncodeError::TooLong
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Unsupported(unsupported) => unsupported.fmt(f),
            EncodeError::TooLong => TooLong.fmt(f),
        }
    }
}

impl core::error::Error for EncodeError {}
