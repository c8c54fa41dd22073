//! Errors, by the name that the version gives them (OpenFlow 1.0 §5.4.4, 1.3.5 §7.4.4).

use alloc::vec::Vec;
use core::fmt;

use crate::{v10, v13};

/// What the other side could not do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SwitchError {
    /// What went wrong.
    pub code: ErrorCode,
    /// At least the first 64 bytes of the message it is about; text where a HELLO failed.
    pub data: Vec<u8>,
}

/// The code of an error. The versions number them differently, so each keeps its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum ErrorCode {
    /// Of OpenFlow 1.0.
    V10(v10::ErrorCode),
    /// Of OpenFlow 1.3.
    V13(v13::ErrorCode),
}

impl ErrorCode {
    /// The specification's name of the code, such as `OFPBRC_BAD_TYPE`.
    pub fn name(self) -> Option<&'static str> {
        match self {
            ErrorCode::V10(code) => code.name(),
            ErrorCode::V13(code) => code.name(),
        }
    }

    /// What usually causes it, in one plain sentence.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            ErrorCode::V10(code) => code.hint(),
            ErrorCode::V13(code) => code.hint(),
        }
    }
}

/// The type and the code by name, as `OFPET_BAD_REQUEST/OFPBRC_BAD_TYPE`.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorCode::V10(code) => code.fmt(f),
            ErrorCode::V13(code) => code.fmt(f),
        }
    }
}
