//! Options that cannot be together: what one of them says would be passed over, and the result be
//! of something else.

use super::{BenchLoadArgs, ModeArg};
use aldis_emulator::load::DemandSpread;

/// # Errors
/// One sentence: which two they are, and what to say instead.
pub(super) fn check(args: &BenchLoadArgs) -> Result<(), String> {
    if args.mode == Some(ModeArg::Connect) {
        return connect(args);
    }
    if args.mode == Some(ModeArg::Latency) && args.outstanding.is_some() {
        let why = "--mode latency has one request outstanding a switch, and --outstanding says how many: leave it out, or \
                   say --mode throughput";
        return Err(why.into());
    }
    rate(args)
}

/// What divides or multiplies a rate wants one.
fn rate(args: &BenchLoadArgs) -> Result<(), String> {
    let has_rate = args.rate.or(args.switch_rate).is_some()
        || !args.steps.is_empty()
        || args.scenario.is_some();
    let lone = [
        (args.on_off.is_some(), "--on-off divides a rate over time"),
        (args.spread != DemandSpread::Even, "--spread divides a rate among the switches"),
        (args.scale != 1.0, "--scale multiplies a rate"),
    ];
    match lone.into_iter().find(|&(is_said, _)| is_said) {
        Some((_, why)) if !has_rate => {
            Err(format!("{why}: say --rate, --switch-rate, --steps or --scenario as well"))
        }
        _ => Ok(()),
    }
}

/// Handshakes have no requests, and their switches connect as soon as they can.
fn connect(args: &BenchLoadArgs) -> Result<(), String> {
    let requests = [
        (args.outstanding.is_some(), "--outstanding"),
        (args.rate.is_some(), "--rate"),
        (args.switch_rate.is_some(), "--switch-rate"),
        (!args.steps.is_empty(), "--steps"),
        (args.scenario.is_some(), "--scenario"),
        (args.scale != 1.0, "--scale"),
        (args.spread != DemandSpread::Even, "--spread"),
        (args.on_off.is_some(), "--on-off"),
        (!args.weights.is_empty(), "--weights"),
        (args.hot_port > 1, "--hot-port"),
        (args.storm > 0, "--storm"),
        (args.probe.probes > 0, "--probes"),
        (args.slow.is_some(), "--slow"),
        (args.dead > 0, "--dead"),
    ];
    let pauses = [
        (args.delay > 0, "-D"),
        (args.connect_group.is_some(), "-I"),
        (args.connect_pause > 0, "-i"),
        (args.poll, "--poll"),
    ];
    let said = |options: &[(bool, &'static str)]| {
        options.iter().find(|(is_said, _)| *is_said).map(|(_, option)| *option)
    };
    match (said(&requests), said(&pauses)) {
        (Some(option), _) => Err(format!(
            "--mode connect measures handshakes and offers no requests, of which {option} speaks: leave it out, or say \
             another --mode"
        )),
        (None, Some(option)) => Err(format!(
            "--mode connect has every switch connect again as soon as it can, and never waits as {option} says: leave it \
             out, or say another --mode"
        )),
        (None, None) => Ok(()),
    }
}
