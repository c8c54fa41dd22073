//! The frames that left by a dummy port, read from the capture file that Open vSwitch appends them
//! to.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const FILE_HEADER: u64 = 24;
const FRAME_HEADER: usize = 16;

pub(crate) struct Capture {
    file: File,
    at: u64,
}

impl Capture {
    pub(crate) fn open(path: &Path) -> std::io::Result<Capture> {
        Ok(Capture { file: File::open(path)?, at: FILE_HEADER })
    }

    /// The frames since the last call. The file is written in whole frames, in the byte order of
    /// this machine.
    pub(crate) fn new_frames(&mut self) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.at)).expect("a capture can be sought");
        self.file.read_to_end(&mut bytes).expect("a capture can be read");
        self.at += bytes.len() as u64;
        let mut rest = &bytes[..];
        let mut frames = Vec::new();
        while let Some((header, behind)) = rest.split_first_chunk::<FRAME_HEADER>() {
            let length = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
            let (frame, after) = behind.split_at(length as usize);
            frames.push(frame.to_vec());
            rest = after;
        }
        assert!(rest.is_empty(), "a capture ends within a frame");
        frames
    }
}
