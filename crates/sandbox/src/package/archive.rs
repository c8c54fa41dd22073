//! The part of the `ustar` format (POSIX.1-2017, pax, "ustar Interchange Format") that a package
//! needs: regular files with short names.

use super::PackageError;

const BLOCK: usize = 512;

/// Bytes of the field of a name.
const NAME_LEN: usize = 100;

/// A file of an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'p> {
    /// Where its header begins.
    pub(super) at: usize,
    pub(super) name: &'p str,
    pub(super) bytes: &'p [u8],
}

/// The files of an archive, `most` at most, up to the block of zeros that ends it.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<Vec<Member<'_>>, PackageError> {
    let (mut at, mut members) = (0, Vec::new());
    loop {
        let header = bytes.get(at..at + BLOCK).ok_or_else(|| truncated(at))?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(members);
        }
        if members.len() == most {
            return Err(PackageError::new("archive", format!("more than {most} files")));
        }
        let (name, len) = read_header(header, at)?;
        let begins = at + BLOCK;
        let content = bytes.get(begins..begins + len).ok_or_else(|| truncated(at))?;
        members.push(Member { at, name, bytes: content });
        at = begins + len.next_multiple_of(BLOCK);
    }
}

fn truncated(at: usize) -> PackageError {
    PackageError::new("archive", format!("truncated in what begins at byte {at}"))
}

/// The name and the length of the file behind a header.
fn read_header(header: &[u8], at: usize) -> Result<(&str, usize), PackageError> {
    let wrong = |what: &str| PackageError::new("archive", format!("{what} at byte {at}"));
    if &header[257..262] != b"ustar" {
        return Err(wrong("no header of a tar archive"));
    }
    let sum = octal(&header[148..156]).ok_or_else(|| wrong("no checksum"))?;
    if sum != checksum(header) {
        return Err(wrong("altered: another checksum"));
    }
    if !matches!(header[156], b'0' | 0) || header[345] != 0 {
        return Err(wrong("something other than a file with a short name"));
    }
    let name = header[..NAME_LEN].split(|byte| *byte == 0).next().unwrap_or_default();
    let name = std::str::from_utf8(name).map_err(|_| wrong("a name that is no UTF-8"))?;
    let len = octal(&header[124..136]).ok_or_else(|| wrong("no length"))?;
    // Below 8 GB, and so far below what an address holds.
    Ok((name, len as usize))
}

/// The sum of a header's bytes, those of the sum itself counted as spaces.
fn checksum(header: &[u8]) -> u64 {
    let byte = |(place, byte): (usize, &u8)| match place {
        148..156 => u64::from(b' '),
        _ => u64::from(*byte),
    };
    header.iter().enumerate().map(byte).sum()
}

/// A number in octal digits, ended by a space, a zero or the field.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.split(|byte| matches!(byte, b' ' | 0)).find(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0, |number: u64, digit| match digit {
        b'0'..=b'7' => Some(number * 8 + u64::from(digit - b'0')),
        _ => None,
    })
}

/// Adds a file.
pub(super) fn append(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) -> Result<(), PackageError> {
    if name.len() > NAME_LEN {
        return Err(PackageError::new(name, format!("the name is longer than {NAME_LEN} bytes")));
    }
    let mut header = [0; BLOCK];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum = format!("{:06o}\0 ", checksum(&header));
    header[148..156].copy_from_slice(sum.as_bytes());
    archive.extend_from_slice(&header);
    archive.extend_from_slice(bytes);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    Ok(())
}

/// Ends an archive.
pub(super) fn finish(archive: &mut Vec<u8>) {
    archive.resize(archive.len() + 2 * BLOCK, 0);
}
