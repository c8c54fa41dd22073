//! `aldis lab run`: plans, one after the other, each into its folder of results.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use aldis_engine::pin;
use aldis_lab::calibrate::Calibration;
use aldis_lab::plan::{Plan, catalogue};
use aldis_lab::report::PapersReport;
use aldis_lab::results::RunForm;
use aldis_lab::run::{Lab, estimate};
use aldis_lab::simulate;

use super::progress::{PlansProgress, say};
use crate::failure::{CommandFailure, EXIT_PARTIAL, EXIT_STOPPED};
use crate::interrupt;

/// The folder of the results, unless another is named.
pub(super) const RESULTS: &str = "results";

/// What a quick plan may take beyond its budget: all of them together are through in half an hour
/// then, whatever hangs.
const OVERTIME: Duration = Duration::from_secs(30);

/// Arguments of `aldis lab run`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis lab run maestro/table-1                    a minute; the results are in results/maestro/table-1
  aldis lab run --all                              every figure of the papers, quickly: some ten minutes on two cores
  aldis lab run --all --full                       every point of them, three times: an hour
  aldis lab run maestro/figure-7 --long            as long as the paper measured
  aldis lab run mine.toml --out /tmp/lab           a plan of your own

\"aldis lab list\" says which plans there are. The controller is a process on cores of its own, the load runs on the others. \
Points that need more cores than this machine has are simulated, with what \"aldis lab calibrate\" measures at the start, or \
with --costs, and say so. Ctrl-C ends it; what was measured by then is kept, and says that it is partial.")]
pub(crate) struct Args {
    /// Plans, by the name that "aldis lab list" has, or files.
    #[arg(value_name = "PLAN", required_unless_present = "all")]
    plans: Vec<String>,
    /// All plans that the program brings along.
    #[arg(long, conflicts_with = "plans")]
    all: bool,
    /// At most a minute for each plan: the default.
    #[arg(long)]
    quick: bool,
    /// Every point that the papers have, with repeats: an hour for all plans, on two cores.
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// The same for as long as the papers measured: six hours for all plans.
    #[arg(long, conflicts_with_all = ["quick", "full"])]
    long: bool,
    /// The folder of the results: PLAN/meta.toml, points.csv and plan.toml are written below it.
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    out: PathBuf,
    /// What the steps of a worker cost, as "aldis lab calibrate" writes it; measured at the start
    /// where it is absent.
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// What a plan may take beyond its budget, in seconds, before the rest of it is left out and
    /// the results are partial: 30 unless said otherwise, with --full and --long as long as the
    /// budget itself.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(0..=86_400))]
    overtime: Option<u32>,
    /// What is left to chance follows from this number.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    seed: u64,
}

impl Args {
    fn form(&self) -> RunForm {
        match (self.full, self.long) {
            (_, true) => RunForm::Long,
            (true, false) => RunForm::Full,
            (false, false) => RunForm::Quick,
        }
    }
}

/// Runs them all.
///
/// # Errors
/// One sentence, before anything is run: a plan or a file that is not there or makes no sense.
/// Later: results that cannot be written.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let plans = plans(&args).map_err(CommandFailure::Usage)?;
    let costs = args.costs.as_deref().map(costs).transpose().map_err(CommandFailure::Usage)?;
    let stop = interrupt::watched()?;
    let aldis = std::env::current_exe().map_err(|error| {
        format!("cannot find the program itself, which has to be started again: {error}")
    })?;
    let form = args.form();
    let mut lab = Lab {
        commit: commit(&aldis),
        aldis,
        out: args.out,
        form,
        seed: args.seed,
        costs,
        command: command(),
        overtime: OVERTIME,
        stop: &stop,
    };
    let cores = pin::cores().len().max(1);
    let lengths = plans.iter().map(|plan| estimate(plan, form, cores));
    let mut progress = PlansProgress::new(lengths.collect::<Result<_, _>>()?);
    let mut partial = false;
    let mut folders = Vec::new();
    for plan in &plans {
        lab.overtime = match (args.overtime, lab.form) {
            (Some(seconds), _) => Duration::from_secs(seconds.into()),
            (None, RunForm::Quick) => OVERTIME,
            (None, form) => Duration::from_secs(plan.form(form).seconds.into()),
        };
        let ended = lab.run(plan, &mut |event| progress.tell(event));
        progress.clear();
        let ended = match ended {
            Ok(ended) => ended,
            Err(_) if stop.load(Ordering::Relaxed) => break,
            Err(failure) => return Err(failure.to_string().into()),
        };
        let how = if ended.partial.is_some() { ", partial" } else { "" };
        say(&format!("{}: {} rows in {}{how}\n", plan.name, ended.rows, ended.folder.display()));
        partial |= ended.partial.is_some();
        folders.push(ended.folder);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if stop.load(Ordering::Relaxed) {
        say("aldis: stopped; what was measured by then is kept, and says that it is partial\n");
        return Ok(ExitCode::from(EXIT_STOPPED));
    }
    show(if args.all { &[] } else { &folders }, &lab.out);
    Ok(if partial { ExitCode::from(EXIT_PARTIAL) } else { ExitCode::SUCCESS })
}

/// Prints what plans have as tables, and says where everything else can be seen.
fn show(folders: &[PathBuf], out: &Path) {
    for folder in folders {
        match PapersReport::read(folder, None) {
            Ok(report) => {
                let _ = std::io::stdout().write_all(report.text().as_bytes());
            }
            Err(refused) => say(&format!("aldis: {refused}\n")),
        }
    }
    // As it was started: a program that cargo built is not on the path.
    let program = std::env::args_os().next().and_then(|word| word.into_string().ok());
    let program = program.unwrap_or_else(|| "aldis".into());
    let mut words = vec![program, "lab".into(), "report".into()];
    if out != Path::new(RESULTS) {
        words.push(out.display().to_string());
    }
    let command = words.into_iter().map(quoted).collect::<Vec<_>>().join(" ");
    let page = out.join(super::report::PAGE);
    say(&format!(
        "\nThe plots, with what the papers say beside them: \"{command}\" writes {}, a page that opens in a browser.\n",
        page.display()
    ));
}

/// The plans that are meant, all of them good.
fn plans(args: &Args) -> Result<Vec<Plan>, String> {
    let all: Vec<String> = catalogue::names().map(str::to_owned).collect();
    let names = if args.all { &all } else { &args.plans };
    names.iter().map(|name| plan(name)).collect()
}

/// A plan of ours, or a file.
pub(super) fn plan(name: &str) -> Result<Plan, String> {
    if let Some(known) = catalogue::plan(name) {
        return known.map_err(|refused| refused.to_string());
    }
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none() {
        return Err(format!(
            "there is no plan {name}, and no file of that name; \"aldis lab list\" says which plans there are"
        ));
    }
    Plan::read(path).map_err(|refused| refused.to_string())
}

fn costs(path: &Path) -> Result<aldis_engine::sim::Costs, String> {
    let calibration = Calibration::read(path).map_err(|refused| refused.to_string())?;
    Ok(simulate::costs(&calibration.costs))
}

/// The command as it was typed, about.
fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("aldis".to_owned()).chain(words.map(quoted)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
fn quoted(word: String) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The commit of the repository that the program lies in, now: not always that which it was built
/// from. `unknown` where it was installed elsewhere.
fn commit(aldis: &Path) -> String {
    let folder = aldis.parent().unwrap_or(Path::new("/"));
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args([
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]);
    let said = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok();
    let said = said.filter(|said| said.status.success()).map(|said| said.stdout);
    let word = said.and_then(|said| String::from_utf8(said).ok()).unwrap_or_default();
    match word.trim() {
        "" => "unknown".into(),
        word => word.to_owned(),
    }
}
