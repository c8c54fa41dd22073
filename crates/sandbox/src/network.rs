//! What an application may read of the whole network: documents that the controller publishes,
//! behind a trait, so that the controller makes them of what it has.

use serde::Deserialize;

/// Documents about the whole network. A call comes from a worker in the middle of a batch: it waits
/// for nothing.
pub trait NetworkSnapshots: Send + Sync {
    /// The newest document of this name, as JSON: one of [`GrantedSnapshots::NAMES`].
    ///
    /// # Errors
    /// Why there is none now, in words for the application's author, for example that no
    /// application looks for hosts, or that it has more than
    /// [`crate::limits::SNAPSHOT_BYTES_MAX`] bytes.
    fn snapshot(&self, name: &str) -> Result<Vec<u8>, String>;
}

/// No documents: of a host that knows no network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoNetwork;

impl NetworkSnapshots for NoNetwork {
    fn snapshot(&self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!("this controller publishes no {name}"))
    }
}

/// Names of documents, a bit for each of [`GrantedSnapshots::NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct GrantedSnapshots(u8);

impl GrantedSnapshots {
    /// The documents, as REST names them below `/api/v1/`.
    pub const NAMES: [&'static str; 5] = ["switches", "hosts", "links", "ports", "port-statistics"];

    /// Whether the document of this name is among them.
    pub fn has(self, name: &str) -> bool {
        self.names().any(|granted| granted == name)
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let names = GrantedSnapshots::NAMES.into_iter().enumerate();
        names.filter(move |(place, _)| self.0 >> place & 1 == 1).map(|(_, name)| name)
    }

    /// The first of them that is not among `granted`.
    pub(crate) fn beyond(self, granted: GrantedSnapshots) -> Option<&'static str> {
        GrantedSnapshots(self.0 & !granted.0).names().next()
    }
}

impl TryFrom<Vec<String>> for GrantedSnapshots {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let mut bits = 0;
        for name in names {
            let place = GrantedSnapshots::NAMES.iter().position(|known| *known == name);
            let place = place.ok_or_else(|| {
                let known = GrantedSnapshots::NAMES.join(", ");
                format!("\"{name}\" is no snapshot that can be granted: {known}")
            })?;
            bits |= 1 << place;
        }
        Ok(GrantedSnapshots(bits))
    }
}
