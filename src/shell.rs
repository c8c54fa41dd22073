//! `aldis completions` and `aldis man`: what a shell and `man` want to know of this command.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

/// Arguments of `aldis completions`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis completions bash > /etc/bash_completion.d/aldis
  aldis completions zsh > ~/.zfunc/_aldis
  aldis completions fish > ~/.config/fish/completions/aldis.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Arguments of `aldis man`.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// A folder to write all pages to, as aldis.1, aldis-run.1 and so on; without one, the first is
    /// printed
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Prints what completes this command in that shell.
pub(crate) fn completions(args: Completions, mut command: Command) -> Result<ExitCode, String> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "aldis", &mut text);
    print!("{}", String::from_utf8_lossy(&text));
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages.
///
/// # Errors
/// One sentence: the folder cannot be written to.
pub(crate) fn man(args: Man, command: Command) -> Result<ExitCode, String> {
    let written = match &args.folder {
        Some(folder) => fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .map_err(|error| format!("cannot write to {}: {error}", folder.display())),
        None => {
            let mut text = Vec::new();
            let rendered = clap_mangen::Man::new(command).render(&mut text);
            print!("{}", String::from_utf8_lossy(&text));
            rendered.map_err(|error| format!("cannot print: {error}"))
        }
    };
    written.map(|()| ExitCode::SUCCESS)
}
