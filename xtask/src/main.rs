//! Checks of the repository itself.

fn main() {}
