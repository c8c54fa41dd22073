//! What `--help` looks like: examples that can be copied whatever the width, and the commands under
//! headings.
//!
//! clap wraps everything that it prints, examples too, which then break in the middle of a command.
//! What stands behind the options is therefore laid out here, and handed to clap as a template,
//! which it prints as it is.

use clap::Command;

/// The width where no terminal says another, and the most that is used of a wide one.
pub(crate) const WIDTH_MAX: usize = 100;

/// A terminal narrower than this is taken for this wide.
const WIDTH_MIN: usize = 40;

/// Where the words beside an example begin at least so many letters before the edge, they are
/// wrapped below each other there.
const BESIDE_MIN: usize = 24;

/// The commands, by what people want to do.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Run a controller",
        &["run", "ryu", "apps", "app", "guest", "designs", "store", "pki", "http"],
    ),
    (
        "Ask a running controller",
        &[
            "doctor",
            "report",
            "health",
            "switches",
            "ports",
            "hosts",
            "links",
            "paths",
            "flows",
            "groups",
            "meters",
            "queues",
            "acl",
            "static-flows",
            "stats",
            "top",
            "metrics",
            "events",
            "weights",
            "trace",
            "record",
            "reload",
        ],
    ),
    ("Measure and experiment", &["bench", "emulate", "lab", "replay", "decode"]),
    ("About this command", &["completions", "man", "version", "help"]),
];

/// What stands behind the list of commands.
const BEHIND: &str = "\
Examples:
  aldis run                  start a controller, all defaults
  aldis doctor               why does the network not work?
  aldis switches             which switches it has
  aldis help flows           what a command takes, with examples

Environment:
  ALDIS_HTTP                 the controller to ask, where --http does not say it [default: http://127.0.0.1:8080]
  ALDIS_TOKEN, ALDIS_CA      the token to ask with, and the authority of the controller's certificate

Exit codes:
  0                          done
  1                          what was asked for failed: nobody answers, a port is taken, a ping was lost
  2                          the command line or the configuration is wrong, and nothing was begun
  3                          there is only a part of the result; what is missing is said
  130                        ended by Ctrl-C before it was done";

/// The command with help that is laid out for this width.
pub(crate) fn laid_out(command: Command, width: usize) -> Command {
    let commands = commands(&command, width);
    let behind = text(BEHIND, width);
    let style = command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}{style}Options:{style:#}\n{{options}}\n\n{behind}"
    );
    let subcommands: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.help_template(template);
    subcommands.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| examples_kept(command, width))
    })
}

/// A command below, and those below it, with examples that are not broken.
fn examples_kept(mut command: Command, width: usize) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |command| examples_kept(command, width));
    }
    match command.get_after_help().map(ToString::to_string) {
        Some(behind) => {
            let behind = text(&behind, width);
            let template = "{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}\n\n";
            command.help_template(format!("{template}{behind}"))
        }
        None => command,
    }
}

/// The commands with what they do, under headings.
fn commands(command: &Command, width: usize) -> String {
    let mut lines = String::new();
    let style = command.get_styles().get_header();
    for (heading, names) in GROUPS {
        lines += &format!("{style}{heading}:{style:#}\n");
        for name in names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this message or the help of a command".into(),
            };
            lines += &text(&format!("  {name:<14}{about}"), width);
            lines.push('\n');
        }
        lines.push('\n');
    }
    lines
}

/// A text of this width. Lines that are indented stay as they are, but that words beside an example
/// go on below each other; others are paragraphs.
pub(crate) fn text(text: &str, width: usize) -> String {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let (mut lines, mut paragraph) = (vec![], String::new());
    for line in text.lines() {
        let is_example = line.starts_with(' ');
        // A heading, as "Examples:", ends a paragraph, as an example and an empty line do.
        if is_example || line.is_empty() {
            lines.append(&mut wrapped(&paragraph, width));
            paragraph.clear();
            lines.append(&mut example(line, width));
        } else {
            paragraph = [paragraph.as_str(), line].join(" ").trim_start().to_owned();
        }
    }
    lines.append(&mut wrapped(&paragraph, width));
    lines.join("\n")
}

/// An indented line: what is to be typed, whole, and what is said beside it.
fn example(line: &str, width: usize) -> Vec<String> {
    let (indent, begin) = (line.len() - line.trim_start().len(), line.trim_start());
    let fits = line.chars().count() <= width;
    let Some((typed, said)) = begin.split_once("  ").filter(|_| !fits) else {
        return vec![line.to_owned()];
    };
    let said = said.trim_start();
    let column = line.chars().count() - said.chars().count();
    if said.contains("   ") {
        // Columns of a table.
        return vec![line.to_owned()];
    }
    let (beside, below) =
        if column + BESIDE_MIN <= width { (true, column) } else { (false, indent + 4) };
    let mut words = wrapped(said, width - below).into_iter().map(|line| " ".repeat(below) + &line);
    let typed = format!("{}{typed}", " ".repeat(indent));
    if !beside {
        return [typed].into_iter().chain(words).collect();
    }
    let first = words.next().unwrap_or_default();
    let first = format!("{typed:<column$}{}", first.trim_start());
    [first].into_iter().chain(words).collect()
}

/// Lines of words, no wider than this where no single word is.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The sentence for a command that there is not, if that is what is wrong: with the one that was
/// meant, as far as that can be known.
pub(crate) fn no_such_command(error: &clap::Error, root: &Command) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    // The words before it say of which command it would be one.
    let words = std::env::args().skip(1);
    let within = words
        .take_while(|word| word != wrong)
        .try_fold(root, |command, word| command.find_subcommand(word));
    let within = within.unwrap_or(root);
    let shown = within.get_subcommands().filter(|command| !command.is_hide_set());
    let meant = aldis_plain::meant(wrong, shown.map(Command::get_name));
    let (of, help) = match within.get_name() {
        "aldis" => (String::new(), "aldis help".to_owned()),
        name => (format!(" of aldis {name}"), format!("aldis help {name}")),
    };
    Some(format!("there is no command `{wrong}`{of}; {meant}\"{help}\" lists them"))
}

/// How wide the terminal is that standard output is, or COLUMNS says; nothing where neither is
/// known.
pub(crate) fn terminal_width() -> Option<usize> {
    let of_terminal = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal.map(|size| usize::from(size.ws_col)).filter(|&width| width > 0).or_else(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_its_heading() {
        let root = Cli::command();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut known: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        known.push("help");
        let mut sorted = grouped.clone();
        sorted.sort_unstable();
        known.sort_unstable();
        assert_eq!(sorted, known);
        let help = laid_out(Cli::command(), 80).render_help().to_string();
        for (heading, names) in GROUPS {
            assert!(help.contains(&format!("\n{heading}:\n")), "{help}");
            for name in names {
                assert!(help.contains(&format!("\n  {name:<14}")), "{name}: {help}");
            }
        }
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        for word in ["ALDIS_HTTP", "Exit codes:", "--version"] {
            assert!(help.contains(word), "{word}: {help}");
        }
    }

    /// What is to be typed is in one line, at any width.
    fn is_whole(command: &mut Command, width: usize) {
        let help = command.render_help().to_string();
        let behind = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in behind.lines().filter(|line| line.starts_with("  ")) {
            let typed = line.trim_start().split("  ").next().unwrap_or_default();
            assert!(help.contains(typed), "{typed:?} at {width} in\n{help}");
        }
        for line in help.lines() {
            let is_typed = line.starts_with("  ") || line.starts_with("Usage: ");
            assert!(is_typed || line.chars().count() <= width, "{line:?} at {width}");
        }
        let names: Vec<String> =
            command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        for name in names {
            is_whole(command.find_subcommand_mut(name).expect("it is there"), width);
        }
    }

    #[test]
    fn no_example_breaks() {
        for width in [60, 80, 100] {
            let mut root = laid_out(Cli::command().term_width(width), width);
            root.build();
            is_whole(&mut root, width);
        }
    }

    #[test]
    fn words_beside_an_example_go_on_below_each_other() {
        let said = "Examples:\n  aldis run     this listens on two ports, and that with all of its defaults\nOne\ntwo\n\nthree";
        let expected = "\
Examples:
  aldis run     this listens on two
                ports, and that with all
                of its defaults
One two

three";
        assert_eq!(text(said, 40), expected);
        let long = "  aldis run --listen 127.0.0.1:6653   one worker";
        assert_eq!(text(long, 40), "  aldis run --listen 127.0.0.1:6653\n      one worker");
    }
}
