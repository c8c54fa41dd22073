//! `aldis lab report`: what experiments found, as a page and as Markdown.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis_lab::report::PapersReport;

/// Where a person says what agrees with the papers and what does not.
const DISCUSSIONS: &str = "experiments";

/// The page, in the folder of the results.
pub(super) const PAGE: &str = "report.html";

/// Arguments of `aldis lab report`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis lab report                                      results/report.html of all that lies in results/
  aldis lab report results/maestro --out maestro.html   of some of it
  aldis lab report results --markdown docs/results      Markdown with pictures as well

The page is one file, with its pictures in it, that opens offline. What lies in DIR is what `aldis lab run` left there; \
the plots come from the plan's copy beside the points. A run that did not end is shown as far as it came, and as \
partial. Of each experiment a file experiments/maestro/figure-7.md, if there is one, is taken into the page and the \
Markdown, and never written.")]
pub(crate) struct Args {
    /// The folder of results.
    #[arg(value_name = "DIR", default_value = super::run::RESULTS)]
    dir: PathBuf,
    /// The page that is written [default: DIR/report.html].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write README.md, and a page and its pictures for each experiment, into this folder too.
    #[arg(long, value_name = "DIR")]
    markdown: Option<PathBuf>,
    /// Where what a person says of each experiment is read from [default: experiments, if there is
    /// such a folder].
    #[arg(long, value_name = "DIR")]
    discussions: Option<PathBuf>,
}

/// Reads, draws and writes.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let usual = Some(PathBuf::from(DISCUSSIONS)).filter(|folder| folder.is_dir());
    if let Some(folder) = args.discussions.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(format!("--discussions {}: there is no such folder", folder.display()));
    }
    let discussions = args.discussions.or(usual);
    let report =
        PapersReport::read(&args.dir, discussions.as_deref()).map_err(|why| why.to_string())?;
    for refused in &report.refused {
        eprintln!("aldis: {refused}");
    }
    let page = args.out.unwrap_or_else(|| args.dir.join(PAGE));
    report.write_html(&page).map_err(|why| why.to_string())?;
    say(&report, &page);
    if let Some(dir) = args.markdown {
        let files = report.write_markdown(&dir).map_err(|why| why.to_string())?;
        println!("Written to {}: {files} files.", dir.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn say(report: &PapersReport, page: &Path) {
    let all = report.experiments.len();
    let plural = if all == 1 { "experiment" } else { "experiments" };
    println!("Written to {}: {all} {plural}.", page.display());
}
