//! `aldis run`: the controller itself, with the applications that any network needs.

use std::process::ExitCode;

use aldis::Controller;

use crate::failure::CommandFailure;

/// Arguments of `aldis run`. What is given here goes before what the file says.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis run                                       listen on 6653 and 6633, all defaults
  aldis run --listen 127.0.0.1:6653 --workers 1   one worker, this machine only
  aldis run --http 127.0.0.1:8090                 REST on another port, off for none
  aldis run --config aldis.toml --log debug       settings from a file, every connection logged
  aldis run --apps learning-switch                another application, of those that \"aldis apps\" lists
  aldis run --design maestro-round-robin --set bdu-us=300 --weight 1=4
                                                  another design and knob; switch 1 is due four times as much

Knobs (--set, or [knobs] in the file); \"aldis designs\" says what each design has:
  max-read-bytes=N      batching=per-read|fixed|adaptive   write=batched|immediate
  ibt=REQUESTS          bdu-us=MICROSECONDS                prt=REQUESTS|none
  io-threads=N          period-ms=MILLISECONDS             hysteresis-pct=PERCENT
  core-binding, request-binding, output-batching, priorities, shed=true|false

Signals:
  HUP         read the --config file again; ibt, bdu-us, prt, shed, stats, weights, rules and static flows count at once
  USR1        write the counters as JSON: to the --stats file, or a line to standard output
  INT, TERM   stop; the second time at once

A first network, in a second terminal (as root):
  mn --controller remote,ip=127.0.0.1,port=6653 --switch ovs,protocols=OpenFlow13,datapath=user --topo single,3 --test pingall")]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    args: aldis::Args,
}

/// Runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// One sentence: a bad setting, a file that cannot be read, a port that is taken.
pub(crate) fn run(Args { args }: Args) -> Result<ExitCode, CommandFailure> {
    Controller::with_args(args).with_default_apps().run()?;
    Ok(ExitCode::SUCCESS)
}
