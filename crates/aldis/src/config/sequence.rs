//! `[[sequence]]`: in which order applications see an event.

use aldis_control::EventKind;
use aldis_control::pipeline::{AppSetError, Sequence};
use serde::Deserialize;
use serde_spanned::Spanned;

/// One of them, with its place in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToldSequence {
    /// On what it starts.
    #[serde(deserialize_with = "event")]
    on: Spanned<EventKind>,
    /// The applications, in order.
    apps: Vec<Spanned<String>>,
}

fn event<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Spanned<EventKind>, D::Error> {
    let name = Spanned::<String>::deserialize(from)?;
    let on = name.as_ref().parse().map_err(serde::de::Error::custom)?;
    Ok(Spanned::new(name.span(), on))
}

impl ToldSequence {
    /// What it says.
    pub(super) fn sequence(&self) -> Sequence {
        let apps = self.apps.iter().map(|app| app.as_ref().clone()).collect();
        Sequence { kind: *self.on.as_ref(), apps }
    }

    /// The byte of the file where that is which is wrong.
    pub(super) fn place(&self, wrong: &AppSetError) -> usize {
        let name = match wrong {
            AppSetError::Unknown { app, .. } => app.as_str(),
            AppSetError::Deaf { app, .. } | AppSetError::Repeated { app, .. } => app,
            _ => return self.on.span().start,
        };
        // Of a name that is there twice, the second is too many.
        let mut named = self.apps.iter().rev().filter(|app| app.as_ref() == name);
        named.next().map_or(self.on.span().start, |app| app.span().start)
    }
}

/// Which of two lists of sequences says something else.
pub(super) fn differ(one: &[ToldSequence], other: &[ToldSequence]) -> bool {
    !one.iter().map(ToldSequence::sequence).eq(other.iter().map(ToldSequence::sequence))
}
