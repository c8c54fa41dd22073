//! Pages for the documents: `README.md`, and for each experiment a page and its pictures.

use std::fmt::Write as _;

use super::tables::{ReportTable, tables};
use super::{PapersReport, ReportedExperiment, cores, same_plan};
use crate::plot;

/// All files with their paths below the folder of results.
pub(super) fn files(report: &PapersReport) -> Vec<(String, String)> {
    let mut files = vec![("README.md".to_owned(), index(report))];
    for experiment in &report.experiments {
        let name = experiment.name();
        for (at, figure) in experiment.figures.iter().enumerate() {
            files.extend(
                plot::draw(figure).map(|picture| (format!("{name}-{}.svg", at + 1), picture)),
            );
        }
    }
    let pages = report.experiments.chunk_by(same_plan);
    files.extend(pages.map(|parts| (format!("{}.md", parts[0].results.meta.plan), page(parts))));
    files
}

fn index(report: &PapersReport) -> String {
    let mut text = "# Results\n\nWritten by `aldis lab report --markdown`. Each page has the plot, the numbers, with the paper's \
                    beside them where a paper has any, and how they were found.\n\n| source | experiment | machine | form | date | to be known |\n\
                    | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for experiment in &report.experiments {
        let meta = &experiment.results.meta;
        let known = [
            experiment.partial().map(|_| "partial"),
            experiment.simulated().map(|_| "simulated"),
            experiment.limited().map(|_| "generator-limited"),
        ];
        let known: Vec<&str> = known.into_iter().flatten().collect();
        let _ = writeln!(
            text,
            "| {} | [{}]({}.md) | {} | {} | {} | {} |",
            plain(&meta.source),
            plain(&meta.title),
            meta.plan,
            cores(meta.machine.cores),
            meta.form.name(),
            plain(&meta.date),
            known.join(", ")
        );
    }
    text + &list("##", "Results that could not be read", &report.refused)
}

/// The page of a plan. Where there are results of several machines it has a part a machine, and
/// what the paper says stands before them.
fn page(parts: &[ReportedExperiment]) -> String {
    let meta = &parts[0].results.meta;
    let head = format!(
        "<!-- Written by aldis lab report. What a person says of it stands in experiments/{}.md. -->\n\n# {}\n\n{} · `{}`\n",
        meta.plan,
        plain(&meta.title),
        plain(&meta.source),
        meta.plan
    );
    let says = if parts.len() > 1 { said(&parts[0]) } else { String::new() };
    head + &says + &parts.iter().map(part).collect::<String>()
}

/// What the paper says in words.
fn said(experiment: &ReportedExperiment) -> String {
    let says = experiment.says.iter();
    let says: Vec<String> =
        says.map(|said| format!("{}: {} ({})", said.series, said.sentence, said.from)).collect();
    list("##", "The paper says", &says)
}

/// What was found on one machine.
fn part(experiment: &ReportedExperiment) -> String {
    let meta = &experiment.results.meta;
    let mut text = String::new();
    // Where a page has several parts, their headings are one step smaller.
    let level = if experiment.machine.is_some() { "###" } else { "##" };
    if let Some(machine) = &experiment.machine {
        let _ = write!(text, "\n## On {}\n", plain(machine));
    }
    if let Some(why) = experiment.partial() {
        let _ = write!(
            text,
            "\n**Partial.** Not everything is here that the plan asked for: {}.\n",
            plain(&why)
        );
    }
    for sentence in [experiment.simulated(), experiment.limited()].into_iter().flatten() {
        let _ = write!(text, "\n{}\n", plain(&sentence));
    }
    let name = experiment.name();
    let file = name.rsplit('/').next().unwrap_or_default();
    let tables = tables(&experiment.figures);
    for (at, (figure, tables)) in experiment.figures.iter().zip(tables).enumerate() {
        if plot::draw(figure).is_some() {
            let _ = write!(text, "\n![{}]({file}-{}.svg)\n", plain(&figure.plot.title), at + 1);
        }
        text.extend(tables.iter().map(table));
    }
    if experiment.machine.is_none() {
        text += &said(experiment);
    }
    if let Some(discussion) = &experiment.discussion {
        let _ = write!(text, "\n{level} {}\n\n{}\n", experiment.discussed(), discussion.trim());
    }
    text += &list(level, "To be known", &meta.notes);
    text += &list(level, "Not drawn", &experiment.problems);
    let _ = write!(text, "\n{level} How it was found\n\n");
    for (name, words) in experiment.facts() {
        let words = if name == "Command" { code(&words) } else { plain(&words) };
        let _ = writeln!(text, "- {name}: {words}");
    }
    text
}

fn table(table: &ReportTable) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("| --- |{}\n", " ---: |".repeat(table.head.len().saturating_sub(1)));
    let rows: String = table.rows.iter().map(|row| line(&row.cells)).collect();
    let notes = if table.notes.is_empty() {
        String::new()
    } else {
        format!("\n{}\n", plain(&table.notes.join("; ")))
    };
    format!("\n**{}**\n\n{}{rule}{rows}{notes}", plain(&table.title), line(&table.head))
}

fn list(level: &str, title: &str, sentences: &[String]) -> String {
    let items: String =
        sentences.iter().map(|sentence| format!("- {}\n", plain(sentence))).collect();
    if sentences.is_empty() { String::new() } else { format!("\n{level} {title}\n\n{items}") }
}

/// Words that are not to be read as Markdown or as HTML, on one line.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' => {
                plain.extend(['\\', letter])
            }
            '&' => plain.push_str("&amp;"),
            letter if letter.is_control() => plain.push(' '),
            letter => plain.push(letter),
        }
    }
    plain
}

/// Words between backquotes, more of them than there are inside.
fn code(text: &str) -> String {
    let text: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let mut quote = "`".to_owned();
    while text.contains(&quote) {
        quote.push('`');
    }
    match quote.len() {
        1 => format!("`{text}`"),
        _ => format!("{quote} {text} {quote}"),
    }
}
