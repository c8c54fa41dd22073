//! `aldis ryu`: applications of Ryu, unchanged, as a guest of a controller in this process.
//!
//! ```text
//!   aldis ryu APP.py ──starts──▶ python3 -m aldis_ryu APP.py   (an OpenFlow controller)
//!        │                              ▲
//!        └── controller, guest "ryu" ───┘ OpenFlow, one connection a switch
//! ```

mod process;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis::Controller;
use aldis::guest::GuestSpec;

use crate::failure::CommandFailure;
use process::Interpreter;

/// The guest's name.
const NAME: &str = "ryu";

/// Arguments of `aldis ryu`.
#[derive(clap::Args)]
#[command(after_help = "\
Once, in a clone of Aldis:
  python3 -m venv ryu && ryu/bin/pip install ./sdk/ryu

Examples:
  aldis ryu --python ryu/bin/python simple_switch_13.py    a file, as ryu-manager took it
  aldis ryu --python ryu/bin/python ryu.app.rest_firewall  an application that came with Ryu
  aldis ryu --apps topology,hosts simple_switch_13.py      in front of it, applications of Aldis
  aldis ryu simple_switch_13.py -- --verbose --observe-links
                                                           options of ryu-manager behind --

Then, in a second terminal (as root):
  mn --controller remote,ip=127.0.0.1,port=6653 --switch ovs,protocols=OpenFlow13,datapath=user --topo single,3 --test pingall

The application runs in a process of its own. Where it ends it is started again; its log comes with
ours. \"aldis guest show ryu\" says how it does.")]
#[group(skip)]
pub(crate) struct Args {
    /// The applications: files of Python, or modules as ryu.app.simple_switch_13
    #[arg(value_name = "APP", required = true)]
    programs: Vec<String>,
    /// The Python in which aldis-ryu is installed [default: that of $VIRTUAL_ENV, or python3]
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Where applications serve HTTP, if they do; Ryu's own address, 127.0.0.1:8080, is that of the
    /// controller's HTTP
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8081")]
    wsapi: SocketAddr,
    /// Options for ryu-manager
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
    #[command(flatten)]
    args: aldis::Args,
}

/// Runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// One sentence: no such application, no Python with aldis-ryu, or as `aldis run`.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let Args { programs, python, wsapi, options, args } = args;
    for program in &programs {
        check(program)?;
    }
    let listen = free_address()?;
    let mut words = vec!["--listen".to_owned(), listen.to_string()];
    words.extend(["--wsapi".to_owned(), wsapi.to_string(), "--with-parent".to_owned()]);
    words.extend(options);
    words.extend(programs);
    let interpreter = Interpreter::find(python)?;
    let process = interpreter.start(words);
    let controller = Controller::with_args(args).guest(GuestSpec::new(NAME, listen));
    let ran = controller.run();
    process.stop();
    ran?;
    Ok(ExitCode::SUCCESS)
}

/// A file that is not there is said at once; a module only Python can look for.
fn check(program: &str) -> Result<(), String> {
    let is_file = program.ends_with(".py") || program.contains('/');
    match is_file && !Path::new(program).is_file() {
        true => Err(format!("{program}: there is no such file")),
        false => Ok(()),
    }
}

/// An address of this machine that is free now.
fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map_err(|error| format!("no port is free for the application: {error}"))
}
