//! Every bound of this crate, with its reason.

/// Bytes of a name: a datapath id has 16, and people write short sentences.
pub const NAME_MAX: usize = 256;

/// Bytes of a value as JSON: a flow with hundreds of actions has some thousand.
pub const VALUE_MAX: usize = 64 * 1024;

/// Entries of one shelf: ten for each of ten thousand switches. All of them are kept in memory.
pub const ENTRIES_MAX: usize = 100_000;

/// Bytes of a backup that are read: all entries at some six hundred bytes.
pub const BACKUP_MAX: u64 = 256 * 1024 * 1024;

/// Bytes that a database may write while a file is tried: a repair writes its lists of pages, some
/// kilobytes for each megabyte of the file.
#[cfg(feature = "embedded")]
pub(crate) const TRIAL_MAX: usize = 64 * 1024 * 1024;
