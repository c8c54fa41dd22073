//! Engines by name.

use core::fmt;
use std::sync::Arc;

use super::engine::{Engine, FlowSpread, LinkWeight, Shortest, Widest};

/// The engines that a configuration can name.
#[derive(Clone, Debug)]
pub struct Engines {
    engines: Vec<Arc<dyn Engine>>,
}

impl Engines {
    /// Those that Aldis brings along, the default first. `weight` is for those that sum up costs.
    pub fn new(weight: LinkWeight) -> Engines {
        let engines: Vec<Arc<dyn Engine>> =
            vec![Arc::new(Shortest { weight }), Arc::new(Widest), Arc::new(FlowSpread { weight })];
        Engines { engines }
    }

    /// And this one; in place of one that has its name.
    pub fn with(mut self, engine: impl Engine + 'static) -> Engines {
        self.engines.retain(|other| other.name() != engine.name());
        self.engines.push(Arc::new(engine));
        self
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.engines.iter().map(|engine| engine.name())
    }

    /// The engine of this name.
    ///
    /// # Errors
    /// [`UnknownEngine`], which says what there is.
    pub fn named(&self, name: &str) -> Result<Arc<dyn Engine>, UnknownEngine> {
        let found = self.engines.iter().find(|engine| engine.name() == name).cloned();
        found.ok_or_else(|| UnknownEngine { name: name.into(), known: self.names().collect() })
    }
}

/// No routing engine has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownEngine {
    name: String,
    known: Vec<&'static str>,
}

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no routing engine is called {:?}; there are {}",
            self.name,
            self.known.join(", ")
        )
    }
}

impl core::error::Error for UnknownEngine {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Metric;

    #[derive(Debug)]
    struct Backwards;

    impl Engine for Backwards {
        fn name(&self) -> &'static str {
            "backwards"
        }

        fn farther(&self, link: Metric, beyond: u32) -> u32 {
            beyond + u32::from(u16::MAX - link.latency) + 1
        }
    }

    #[test]
    fn an_engine_is_found_by_its_name() {
        let engines = Engines::new(LinkWeight::Hop).with(Backwards);
        for name in ["shortest", "widest", "spread", "backwards"] {
            assert_eq!(engines.named(name).map(|engine| engine.name()), Ok(name));
        }
        assert_eq!(engines.names().next(), Some("shortest"));
        assert_eq!(engines.with(Backwards).names().count(), 4);
    }

    #[test]
    fn another_name_is_told_which_there_are() {
        let unknown = Engines::new(LinkWeight::Hop).named("fastest").unwrap_err();
        let sentence =
            r#"no routing engine is called "fastest"; there are shortest, widest, spread"#;
        assert_eq!(unknown.to_string(), sentence);
    }
}
