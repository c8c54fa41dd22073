//! Why a command did not do what it was asked, and the exit code that says so to scripts.

use std::process::ExitCode;

/// The exit code where what was asked for failed: a port that is taken, a controller that does not
/// answer, a full disk.
pub(crate) const EXIT_FAILED: u8 = 1;

/// The exit code where the command line or the configuration is wrong, and nothing was begun. clap
/// has the same.
pub(crate) const EXIT_USAGE: u8 = 2;

/// The exit code where there is only a part of the result.
pub(crate) const EXIT_PARTIAL: u8 = 3;

/// What a shell says of a command that Ctrl-C ended.
pub(crate) const EXIT_STOPPED: u8 = 130;

/// A sentence, and whose fault it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CommandFailure {
    /// The command line or the configuration is wrong.
    Usage(String),
    /// What was asked for failed.
    Failed(String),
}

impl CommandFailure {
    /// What to print.
    pub(crate) fn sentence(&self) -> &str {
        match self {
            CommandFailure::Usage(sentence) | CommandFailure::Failed(sentence) => sentence,
        }
    }

    /// See the constants.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            CommandFailure::Usage(_) => EXIT_USAGE,
            CommandFailure::Failed(_) => EXIT_FAILED,
        })
    }
}

impl From<aldis::Refused> for CommandFailure {
    fn from(refused: aldis::Refused) -> CommandFailure {
        match refused {
            aldis::Refused::Usage(sentence) => CommandFailure::Usage(sentence),
            aldis::Refused::Failed(sentence) => CommandFailure::Failed(sentence),
        }
    }
}

impl From<String> for CommandFailure {
    fn from(sentence: String) -> CommandFailure {
        CommandFailure::Failed(sentence)
    }
}
