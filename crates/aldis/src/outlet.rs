//! What a running controller writes to its standard output and error: each through a bounded queue
//! and a thread of its own.
//!
//! A terminal that is stopped, or a pipe that is full and read no more, makes a write wait without
//! end. Only the outlet's thread waits there. What does not fit into its queue is dropped and
//! counted, and the number is told as soon as there is room again. At the end the outlet is waited
//! for, but not without end.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use tracing::warn;
use tracing_subscriber::fmt::MakeWriter;

/// Lines of the log that wait to be written, some 100 bytes each: as many as events may wait before
/// them.
const LINES_MAX: usize = 16_384;

/// Documents of counters that wait: those of ten thousand switches are megabytes.
const DOCUMENTS_MAX: usize = 4;

/// How long it is waited at the end for what is still to be written.
const END_WITHIN: Duration = Duration::from_secs(2);

/// The two of this process.
#[derive(Clone)]
pub(crate) struct Outlets {
    /// Standard error: the log, and what is said beside it.
    pub(crate) log: OutputLines,
    /// Standard output: counters.
    pub(crate) counters: OutputLines,
}

/// One of them. Clones write to the same.
#[derive(Clone)]
pub(crate) struct OutputLines {
    /// [`OutputLines::put`] holds its bound: a channel that has one takes the memory of all its
    /// places from the start.
    queue: Sender<OutletItem>,
    texts_max: usize,
    dropped: Arc<AtomicU64>,
}

/// What the thread is given.
enum OutletItem {
    /// To be written.
    Text(Vec<u8>),
    /// To be answered when everything before it is written.
    Written(Sender<()>),
}

/// What the thread tells of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Trouble {
    /// So many texts were dropped.
    Dropped(u64),
    /// A text could not be written.
    Failed(String),
}

impl Outlets {
    /// Starts both.
    ///
    /// # Errors
    /// One sentence: the system has no thread or no file to spare.
    pub(crate) fn start() -> Result<Outlets, String> {
        let log = |trouble| match trouble {
            Trouble::Dropped(lines) => {
                warn!("{lines} lines are missing here: standard error was not read fast enough");
            }
            // There is no reader to tell.
            Trouble::Failed(_) => {}
        };
        let counters = |trouble| match trouble {
            // Each was told to the caller that asked for it.
            Trouble::Dropped(_) => {}
            Trouble::Failed(why) => {
                warn!("counters cannot be written to standard output: {why}");
            }
        };
        Ok(Outlets {
            log: OutputLines::start("stderr", &io::stderr(), LINES_MAX, log)?,
            counters: OutputLines::start("stdout", &io::stdout(), DOCUMENTS_MAX, counters)?,
        })
    }

    /// Waits until everything is written, but not without end.
    pub(crate) fn finish(&self) {
        let deadline = Instant::now() + END_WITHIN;
        self.counters.wait(deadline);
        self.log.wait(deadline);
    }
}

impl OutputLines {
    /// Writes to a copy of this file, so that no lock of the standard library is held while a write
    /// waits.
    fn start(
        name: &str,
        file: &impl AsFd,
        texts_max: usize,
        tell: impl Fn(Trouble) + Send + 'static,
    ) -> Result<OutputLines, String> {
        let cannot = |error: io::Error| format!("cannot write to {name}: {error}");
        let file = File::from(file.as_fd().try_clone_to_owned().map_err(cannot)?);
        let (queue, texts) = unbounded();
        let dropped = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&dropped);
        let thread = std::thread::Builder::new().name(name.into());
        thread.spawn(move || write(file, (&texts, texts_max / 2), &count, tell)).map_err(cannot)?;
        Ok(OutputLines { queue, texts_max, dropped })
    }

    /// Has this written; whether there was room. Never waits. Of several threads that put a text at
    /// the same moment, each may find the last room.
    pub(crate) fn put(&self, text: Vec<u8>) -> bool {
        let fits =
            self.queue.len() < self.texts_max && self.queue.send(OutletItem::Text(text)).is_ok();
        if !fits {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    /// Tells people, as far as they are there: the controller goes on where a terminal is gone.
    pub(crate) fn say(&self, text: &str) {
        self.put(text.into());
    }

    fn wait(&self, deadline: Instant) {
        let (written, all_written) = bounded(1);
        if self.queue.send(OutletItem::Written(written)).is_ok() {
            let _ = all_written.recv_deadline(deadline);
        }
    }
}

fn write(
    mut file: File,
    (texts, half): (&Receiver<OutletItem>, usize),
    dropped: &AtomicU64,
    tell: impl Fn(Trouble),
) {
    for item in texts {
        match item {
            OutletItem::Text(text) => {
                if let Err(error) = file.write_all(&text) {
                    tell(Trouble::Failed(error.to_string()));
                }
            }
            OutletItem::Written(waits) => {
                let _ = waits.send(());
            }
        }
        // What is told goes through the queue itself, which has to have room for it.
        if texts.len() <= half {
            match dropped.swap(0, Ordering::Relaxed) {
                0 => {}
                texts => tell(Trouble::Dropped(texts)),
            }
        }
    }
}

/// The log writes a line at a time.
impl Write for &OutputLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for OutputLines {
    type Writer = &'a OutputLines;

    fn make_writer(&'a self) -> &'a OutputLines {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Bytes that no pipe takes while it is not read.
    const MUCH: usize = 4 << 20;

    #[test]
    fn nobody_waits_for_a_pipe_that_is_not_read_and_what_is_missing_is_counted() {
        let (mut reader, writer) = io::pipe().unwrap();
        let (tell, told) = bounded(16);
        let outlet =
            OutputLines::start("pipe", &writer, 4, move |trouble| tell.send(trouble).unwrap());
        let outlet = outlet.unwrap();
        drop(writer);
        assert!(outlet.put(vec![b'.'; MUCH]));
        // The first is being written, soon, and four wait behind it.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !outlet.queue.is_empty() {
            assert!(Instant::now() < deadline, "the thread does not begin");
            std::thread::yield_now();
        }
        let fit = (0..1000).filter(|_| outlet.put(b"x".to_vec())).count();
        assert_eq!(fit, 4);
        let begun = Instant::now();
        outlet.wait(begun + Duration::from_millis(100));
        assert!((100..5000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        let all = std::thread::spawn(move || {
            let mut all = vec![];
            reader.read_to_end(&mut all).unwrap();
            all
        });
        outlet.wait(Instant::now() + Duration::from_secs(20));
        assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(Trouble::Dropped(996)));
        drop(outlet);
        assert_eq!(all.join().unwrap().len(), MUCH + 4);
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (tell, told) = bounded(16);
        let outlet =
            OutputLines::start("full", &full, 4, move |trouble| tell.send(trouble).unwrap());
        outlet.unwrap().say("x\n");
        let trouble = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(
            matches!(&trouble, Trouble::Failed(why) if why.contains("No space left")),
            "{trouble:?}"
        );
    }
}
