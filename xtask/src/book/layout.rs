//! The book as mdBook makes it: pages are laid out in `target/book/src` as they lie in the
//! repository, for some of them lie outside `docs/`. What is made has no dead link.

use crate::package::write;
use crate::suites::{cargo, succeeds};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";
const VERSION: &str = "0.5.4";

/// Endings of files that pages may link to, and that come along as they are.
const ASSETS: [&str; 6] = ["svg", "png", "json", "yml", "toml", "csv"];

/// Makes the book in `target/book/html`, mdBook too where it is missing; whether that was possible
/// and no link is dead.
pub(crate) fn build(root: &Path) -> bool {
    let Some(mdbook) = mdbook(root) else { return false };
    let folder = root.join("target/book");
    let laid_out = lay_out(root, &folder);
    if let Err(why) = &laid_out {
        eprintln!("the book cannot be laid out: {why}");
    }
    if laid_out.is_err() || !succeeds(Command::new(mdbook).arg("build").arg(&folder)) {
        return false;
    }
    let dead = dead_links(&folder.join("html")).unwrap_or_else(|why| vec![why.to_string()]);
    dead.iter().for_each(|link| println!("FAIL {link}"));
    println!("{}", folder.join("html/index.html").display());
    dead.is_empty()
}

/// The program, compiled where it is missing.
fn mdbook(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/mdbook");
    let program = folder.join("bin/mdbook");
    if program.exists() {
        return Some(program);
    }
    println!("missing: mdBook {VERSION}; compiling it, which takes some minutes");
    let mut install = cargo(root);
    install.args(["install", "--quiet", "--locked", "mdbook", "--version", VERSION, "--root"]);
    install.arg(&folder).args(["--no-default-features", "--features", "search"]);
    let build = folder.join("build");
    let is_installed = succeeds(install.env("CARGO_TARGET_DIR", &build));
    // What it was made of, which no other build needs; one that stays only takes room.
    let _ = fs::remove_dir_all(&build);
    is_installed.then_some(program)
}

/// The pages that the summary names, as paths of the repository.
pub(crate) fn chapters(summary: &str) -> Vec<String> {
    let targets = links(summary).filter(|(_, target)| target.ends_with(".md"));
    targets.map(|(_, target)| resolve(SUMMARY, target)).collect()
}

fn lay_out(root: &Path, folder: &Path) -> io::Result<()> {
    let pages = folder.join("src");
    for made in [&pages, &folder.join("html")] {
        if made.exists() {
            fs::remove_dir_all(made)?;
        }
    }
    let summary = fs::read_to_string(root.join(SUMMARY))?;
    let chapters: BTreeSet<String> = chapters(&summary).into_iter().collect();
    for chapter in &chapters {
        let text = fs::read_to_string(root.join(chapter))?;
        let (text, assets) = rewritten(chapter, &text, &chapters);
        write(&pages.join(chapter), text.as_bytes())?;
        for asset in assets {
            write(&pages.join(&asset), &fs::read(root.join(&asset))?)?;
        }
    }
    let from_top = summary.lines().map(|line| {
        let target = links(line).next().map_or("", |(_, target)| target);
        line.replace(&format!("({target})"), &format!("({})", resolve(SUMMARY, target))) + "\n"
    });
    let from_top: String = from_top.collect();
    write(&pages.join("SUMMARY.md"), from_top.as_bytes())?;
    fs::copy(root.join("docs/book.toml"), folder.join("book.toml")).map(drop)
}

/// A page whose links lead to pages of the book and to assets; others become their words, and the
/// path in the repository.
fn rewritten(page: &str, text: &str, chapters: &BTreeSet<String>) -> (String, Vec<String>) {
    let (mut text_now, mut assets) = (text.to_owned(), Vec::new());
    for (words, target) in links(text) {
        let path = target.split('#').next().unwrap_or_default();
        if path.is_empty() || target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let resolved = resolve(page, path);
        let ending = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
        if ASSETS.contains(&ending) {
            assets.push(resolved);
        } else if !chapters.contains(&resolved) {
            let plain = words.trim_matches('`');
            let same = resolved.ends_with(plain.trim_start_matches("../"));
            let path =
                if same { format!("`{resolved}`") } else { format!("{words} (`{resolved}`)") };
            text_now = text_now.replace(&format!("[{words}]({target})"), &path);
        }
    }
    (text_now, assets)
}

/// Links of Markdown outside of fences: the words and the target.
fn links(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let outside = text.split("\n```").step_by(2);
    outside.flat_map(|part| {
        part.match_indices("](").filter_map(move |(at, _)| {
            let words = part[..at].rsplit('[').next()?;
            let target = part[at + 2..].split(')').next()?;
            (!target.contains(char::is_whitespace)).then_some((words, target))
        })
    })
}

/// A path relative to a document, as one of the repository.
fn resolve(document: &str, target: &str) -> String {
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    let mut path = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path.to_string_lossy().into_owned()
}

/// What the pages that were made link to and is not there: a file, or a place in it.
fn dead_links(html: &Path) -> io::Result<Vec<String>> {
    let (mut dead, mut folders, mut pages) = (Vec::new(), vec![html.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.extension().and_then(|it| it.to_str()) {
                _ if path.is_dir() => folders.push(path),
                // All pages in one, for printers: its places are named otherwise.
                Some("html") if !path.ends_with("print.html") && !path.ends_with("404.html") => {
                    pages.push(path);
                }
                _ => {}
            }
        }
    }
    for page in &pages {
        let text = fs::read_to_string(page)?;
        let folder = page.parent().unwrap_or(html);
        let tags = text.split('<').filter_map(|it| it.split('>').next());
        let attributes = tags.flat_map(|tag| {
            [" href=\"", " src=\""].into_iter().filter_map(|it| tag.split_once(it).map(|it| it.1))
        });
        for target in attributes.filter_map(|rest| rest.split('"').next()) {
            if !is_alive(folder, &text, target) {
                let page = page.strip_prefix(html).unwrap_or(page).display();
                dead.push(format!("{page}: the link {target} leads nowhere"));
            }
        }
    }
    Ok(dead)
}

fn is_alive(folder: &Path, text: &str, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") || target.starts_with("data:") {
        return true;
    }
    let (path, place) = target.split_once('#').unwrap_or((target, ""));
    let has_place = |text: &str| place.is_empty() || text.contains(&format!("id=\"{place}\""));
    if path.is_empty() {
        return has_place(text);
    }
    let file = folder.join(path);
    file.exists() && (place.is_empty() || fs::read_to_string(file).is_ok_and(|it| has_place(&it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_book_become_words() {
        let text = "[a](b.md#c) [the crate](../crates/a) [`x.rs`](../x.rs) ![p](p.svg) [w](https://w)\n\
                    ```sh\n[no](no.md)\n```\n";
        let chapters = chapters("- [b](b.md)\n").into_iter().collect();
        let (text, assets) = rewritten("docs/a.md", text, &chapters);
        let expected = "[a](b.md#c) the crate (`crates/a`) `x.rs` ![p](p.svg) [w](https://w)\n\
                        ```sh\n[no](no.md)\n```\n";
        assert_eq!((text.as_str(), assets), (expected, vec!["docs/p.svg".to_owned()]));
    }

    #[test]
    fn a_place_that_is_not_on_its_page_is_dead() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = "<h1 id=\"here\">";
        assert!(is_alive(folder, text, "#here") && !is_alive(folder, text, "#there"));
        assert!(is_alive(folder, text, "Cargo.toml") && !is_alive(folder, text, "Cargo.html"));
        assert!(is_alive(folder, text, "https://example.org/x"));
    }
}
