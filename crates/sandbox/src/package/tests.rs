use super::*;
use proptest::prelude::*;
use ring::signature::KeyPair as _;

const LEAST: &[u8] = b"contract = \"0.1\"\nname = \"hub\"\nversion = \"1\"\n";
const PKCS8_HEAD: &[u8] = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

fn page(path: &str) -> Page {
    Page { path: path.to_owned(), bytes: b"<p>".to_vec() }
}

fn packed(key: Option<&[u8]>) -> Vec<u8> {
    pack(LEAST, COMPONENT_MAGIC, &[page("index.html"), page("a/b.css")], key).unwrap()
}

fn key(seed: u8) -> (Vec<u8>, [u8; 32]) {
    let pkcs8 = [PKCS8_HEAD, &[seed; 32]].concat();
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8).unwrap();
    (pkcs8, pair.public_key().as_ref().try_into().unwrap())
}

#[test]
fn a_package_is_read_as_it_was_packed() {
    let package = Package::read(&packed(None), &Trust::Anyone).unwrap();
    assert_eq!((package.manifest().name.as_str(), package.is_signed()), ("hub", false));
    assert_eq!(package.component(), COMPONENT_MAGIC);
    assert_eq!(package.pages(), [page("index.html"), page("a/b.css")]);
}

#[test]
fn a_signature_counts_where_its_key_is_trusted() {
    let ((mine, public), (_, other)) = (key(1), key(2));
    let trust = |keys: &[[u8; 32]]| Trust::Keys(keys.to_vec());
    let signed = packed(Some(&mine));
    assert!(Package::read(&signed, &trust(&[other, public])).unwrap().is_signed());
    let error = Package::read(&signed, &trust(&[other])).unwrap_err();
    assert_eq!(error.field, SIGNATURE);
    let error = Package::read(&packed(None), &trust(&[public])).unwrap_err();
    assert_eq!((error.field.as_str(), error.reason.as_str()), (SIGNATURE, "missing"));
}

#[test]
fn a_truncated_package_is_refused_wherever_it_is_cut() {
    let whole = packed(None);
    for len in (0..whole.len() - 1024).step_by(64) {
        let error = Package::read(&whole[..len], &Trust::Anyone).unwrap_err();
        assert!(error.reason.contains("truncated"), "{len}: {error}");
    }
}

#[test]
fn every_defect_names_its_field_and_the_reason() {
    let module = pack(LEAST, MODULE_MAGIC, &[], None).unwrap_err();
    let text = pack(LEAST, b"hello", &[], None).unwrap_err();
    let manifest = pack(b"name = 7", COMPONENT_MAGIC, &[], None).unwrap_err();
    let path = pack(LEAST, COMPONENT_MAGIC, &[page("../../etc/passwd")], None).unwrap_err();
    let long = pack(LEAST, COMPONENT_MAGIC, &[page(&"a".repeat(100))], None).unwrap_err();
    let key = pack(LEAST, COMPONENT_MAGIC, &[], Some(b"none")).unwrap_err();
    let mut late = packed(None);
    late.truncate(late.len() - 1024);
    archive::append(&mut late, "pages/late.html", b"<p>").unwrap();
    archive::finish(&mut late);
    let late = Package::read(&late, &Trust::Anyone).unwrap_err();
    let (mut many, member) = (vec![], |many: &mut Vec<u8>| archive::append(many, "a", &[]));
    (0..=PACKAGE_FILES_MAX).for_each(|_| member(&mut many).unwrap());
    let many = Package::read(&many, &Trust::Anyone).unwrap_err();
    let large = Package::read(&vec![0; PACKAGE_BYTES_MAX + 1], &Trust::Anyone).unwrap_err();
    let cases = [
        (module, COMPONENT, "core module"),
        (text, COMPONENT, "not WebAssembly"),
        (manifest, "manifest.toml: line 1", "text in quotes"),
        (path, "pages/../../etc/passwd", "no path"),
        (long, "pages/", "longer than"),
        (key, "key", ""),
        (late, "pages/late.html", "behind the digest"),
        (many, "archive", "files"),
        (large, "size", "bytes"),
    ];
    for (error, field, reason) in cases {
        assert!(error.field.starts_with(field) && error.reason.contains(reason), "{error}");
    }
}

proptest! {
    #[test]
    fn a_package_with_another_byte_is_refused(at in 0..4608usize, flip in 1..=255u8) {
        let mut bytes = packed(None);
        let covered = bytes.len() - 1024;
        let at = at % covered;
        bytes[at] ^= flip;
        let read = Package::read(&bytes, &Trust::Anyone);
        // Behind a digest only the padding to the next block is free, and in its header what ends
        // the checksum.
        let padding = covered - 512 + 64..covered;
        let end = covered - 1024 + 154..covered - 1024 + 156;
        prop_assert!(read.is_err() || padding.contains(&at) || end.contains(&at), "byte {at}");
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        prop_assert!(Package::read(&bytes, &Trust::Anyone).is_err());
    }
}
