//! Why a controller did not start.

use std::fmt;

use aldis_engine::StartError;

/// Why a controller did not start: one sentence, and whose fault it is.
#[derive(Clone, PartialEq, Eq)]
pub enum Refused {
    /// The command line or the configuration is wrong, and nothing was begun.
    Usage(String),
    /// What was asked for failed: a port that is taken, a disk that is full.
    Failed(String),
}

impl Refused {
    /// The sentence.
    pub fn sentence(&self) -> &str {
        match self {
            Refused::Usage(sentence) | Refused::Failed(sentence) => sentence,
        }
    }
}

/// As `main` prints it.
impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl std::error::Error for Refused {}

impl From<String> for Refused {
    fn from(sentence: String) -> Refused {
        Refused::Failed(sentence)
    }
}

impl From<StartError> for Refused {
    fn from(error: StartError) -> Refused {
        Refused::Failed(error.to_string())
    }
}
