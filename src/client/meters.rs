//! `aldis meters`: the meters that switches have now.

use std::process::ExitCode;

use aldis_http::api::inventory::{Band, Meter};

use super::each::SwitchList;
use super::{ClientArgs, text};

/// Arguments of `aldis meters`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only those of the switch of this datapath id
    #[arg(value_name = "DPID")]
    dpid: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each. OpenFlow 1.0 has none.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let list = SwitchList {
        path: "meters",
        names: ("meter", "meters"),
        columns: &["meter", "flags", "bands", "flows", "packets", "bytes", "age"],
        breakable: &[],
        short: false,
        new: true,
    };
    args.ask.of_switches(args.dpid.as_deref(), &list, row)
}

fn row(meter: &Meter) -> Vec<String> {
    let band = |band: &Band| format!("{} above {}, burst {}", band.effect, band.rate, band.burst);
    let bands: Vec<_> = meter.bands.iter().map(band).collect();
    vec![
        meter.meter.clone(),
        meter.flags.join(" "),
        bands.join(" | "),
        text::count(meter.flows),
        text::count(meter.packets),
        text::count(meter.bytes),
        text::age(meter.age_s),
    ]
}
