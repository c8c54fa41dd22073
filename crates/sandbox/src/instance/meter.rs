//! The limits of memory and tables. What asks for more than its manifest allows has failed: a
//! program whose allocations fail ends itself a moment later, in less clear words.

use wasmtime::{ResourceLimiter, Result};

use crate::fault::{Fault, FaultKind};
use crate::limits::PARTS_MAX;
use crate::manifest::AppLimits;

/// What an instance has of memory and table elements, all its core instances together.
pub(super) struct Meter {
    memory: usize,
    memory_max: usize,
    elements: usize,
    elements_max: usize,
}

impl Meter {
    pub(super) fn new(limits: &AppLimits) -> Meter {
        let (memory_max, elements_max) = (limits.memory_bytes, limits.table_elements);
        Meter { memory: 0, memory_max, elements: 0, elements_max }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, now: usize, then: usize, max: Option<usize>) -> Result<bool> {
        let all = self.memory - self.memory.min(now) + then;
        if all > self.memory_max {
            let reason = format!("more than {} bytes", self.memory_max);
            return Err(Fault::new(FaultKind::Memory, reason).into());
        }
        // What the component itself says is its most is told to it in WebAssembly's way.
        let fits = max.is_none_or(|max| then <= max);
        self.memory = if fits { all } else { self.memory };
        Ok(fits)
    }

    fn table_growing(&mut self, now: usize, then: usize, max: Option<usize>) -> Result<bool> {
        let all = self.elements - self.elements.min(now) + then;
        if all > self.elements_max {
            let reason = format!("more than {} elements", self.elements_max);
            return Err(Fault::new(FaultKind::Table, reason).into());
        }
        let fits = max.is_none_or(|max| then <= max);
        self.elements = if fits { all } else { self.elements };
        Ok(fits)
    }

    fn instances(&self) -> usize {
        PARTS_MAX
    }

    fn tables(&self) -> usize {
        PARTS_MAX
    }

    fn memories(&self) -> usize {
        PARTS_MAX
    }
}
