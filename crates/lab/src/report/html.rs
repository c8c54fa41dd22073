//! The page: one file, no script, nothing from outside, light or dark as the reader has it.

use std::fmt::Write as _;

use super::tables::{ReportTable, tables};
use super::{PaperSentence, PapersReport, ReportedExperiment, prose};
use crate::markup::escape;
use crate::plot;

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(super) fn page(report: &PapersReport) -> String {
    let contents: String = report.experiments.iter().map(entry).collect();
    let sections: String = report.experiments.iter().map(section).collect();
    let refused = list("Results that could not be read", "warn", &report.refused);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Aldis: results of the laboratory</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>Results of the laboratory</h1>\n<p>{}</p>\n</header>\n\
         <nav aria-label=\"Contents\">\n<h2>Contents</h2>\n<ol>\n{contents}</ol>\n</nav>\n<main>\n{refused}{sections}</main>\n\
         </body>\n</html>\n",
        escape(&summary(report))
    )
}

/// What there is, in a sentence or two.
fn summary(report: &PapersReport) -> String {
    let all = report.experiments.len();
    let plural = if all == 1 { "experiment" } else { "experiments" };
    let partial = report.experiments.iter().filter(|one| one.partial().is_some()).count();
    let mut words = format!(
        "{all} {plural}, each with its plot, its numbers, and the paper's beside them where a paper has any."
    );
    if partial > 0 {
        let _ = write!(words, " {partial} of them did not end and show what they had.");
    }
    words
}

/// A line of the contents.
fn entry(experiment: &ReportedExperiment) -> String {
    let meta = &experiment.results.meta;
    format!(
        "<li><a href=\"#{}\"><span class=\"source\">{}</span> {}</a>{}</li>\n",
        escape(&experiment.anchor()),
        escape(&meta.source),
        escape(&meta.title),
        badges(experiment)
    )
}

/// What is to be known at first sight.
fn badges(experiment: &ReportedExperiment) -> String {
    let machine = experiment.machine.iter().map(|machine| escape(machine).to_string());
    let words = machine.chain([experiment.results.meta.form.name().to_owned()]);
    let mut badges: String =
        words.map(|word| format!(" <span class=\"badge\">{word}</span>")).collect();
    if experiment.simulated().is_some() {
        badges += " <span class=\"badge simulated\">simulated</span>";
    }
    if experiment.partial().is_some() {
        badges += " <span class=\"badge partial\">partial</span>";
    }
    badges
}

fn section(experiment: &ReportedExperiment) -> String {
    let meta = &experiment.results.meta;
    let mut html = format!(
        "<section id=\"{}\">\n<h2>{}{}</h2>\n<p class=\"source\">{} · <code>{}</code></p>\n",
        escape(&experiment.anchor()),
        escape(&meta.title),
        badges(experiment),
        escape(&meta.source),
        escape(&meta.plan)
    );
    if let Some(why) = experiment.partial() {
        let _ = writeln!(
            html,
            "<p class=\"warn\"><strong>Partial.</strong> Not everything is here that the plan asked for: {}.</p>",
            escape(&why)
        );
    }
    for sentence in [experiment.simulated(), experiment.limited()].into_iter().flatten() {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(&sentence));
    }
    let tables = tables(&experiment.figures);
    for (figure, tables) in experiment.figures.iter().zip(tables) {
        if let Some(picture) = plot::draw(figure) {
            let _ = write!(html, "<figure>\n{picture}</figure>\n");
        }
        html.extend(tables.iter().map(table));
    }
    html += &said(&experiment.says);
    if let Some(discussion) = &experiment.discussion {
        let _ = write!(
            html,
            "<h3>{}</h3>\n<p class=\"small\">As somebody wrote in <code>{}</code>; its numbers are taken from these \
             results.</p>\n{}",
            experiment.discussed(),
            escape(&experiment.discussion_file),
            prose::html(discussion)
        );
    }
    html += &list("To be known", "note", &meta.notes);
    html += &list("Not drawn", "warn", &experiment.problems);
    let facts = experiment
        .facts()
        .into_iter()
        .map(|(name, words)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(&words)));
    let facts: String = facts.collect();
    let _ = write!(
        html,
        "<details>\n<summary>How it was found</summary>\n<dl>\n{facts}</dl>\n</details>\n</section>\n"
    );
    html
}

fn table(table: &ReportTable) -> String {
    let head: String =
        table.head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escape(cell))).collect();
    let mut rows = String::new();
    for row in &table.rows {
        rows += if row.paper.is_some() { "<tr class=\"paper\">" } else { "<tr>" };
        for (at, cell) in row.cells.iter().enumerate() {
            let cell = escape(cell);
            rows += &if at == 0 {
                format!("<th scope=\"row\">{cell}</th>")
            } else {
                format!("<td>{cell}</td>")
            };
        }
        rows += "</tr>\n";
    }
    let notes = if table.notes.is_empty() {
        String::new()
    } else {
        format!("<p class=\"small\">{}</p>\n", escape(&table.notes.join("; ")))
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\">\n<table>\n<caption>{}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{notes}",
        escape(&table.title)
    )
}

/// What the papers say in words.
fn said(says: &[PaperSentence]) -> String {
    let item = |said: &PaperSentence| {
        let (series, sentence, from) =
            (escape(&said.series), escape(&said.sentence), escape(&said.from));
        format!(
            "<li><strong>{series}</strong>: {sentence} <span class=\"small\">({from})</span></li>\n"
        )
    };
    match says.is_empty() {
        true => String::new(),
        false => format!(
            "<h3>The paper says</h3>\n<ul>\n{}</ul>\n",
            says.iter().map(item).collect::<String>()
        ),
    }
}

fn list(title: &str, class: &str, sentences: &[String]) -> String {
    let items: String =
        sentences.iter().map(|sentence| format!("<li>{}</li>\n", escape(sentence))).collect();
    match sentences.is_empty() {
        true => String::new(),
        false => format!("<div class=\"{class}\">\n<h3>{title}</h3>\n<ul>\n{items}</ul>\n</div>\n"),
    }
}
