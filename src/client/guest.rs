//! `aldis guest`: other controllers, to which a running controller presents its switches.

use std::process::ExitCode;

use aldis_apps::spelling::{Matching, Spelled};
use aldis_control::weights::Switches;
use aldis_guest::{ExperimenterIds, GuestSpec, NumberRanges, Otherwise};
use aldis_http::api::Page;
use aldis_http::api::guests::Guest;
use serde_json::{Map, Value};

use super::table::TextTable;
use super::{ClientArgs, escape, listed, text};

/// Arguments of `aldis guest`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis guest add ryu --connect 127.0.0.1:6654
      everything for a controller that listens there, as \"ryu-manager --ofp-tcp-listen-port 6654\" does
  aldis guest add lab-3 --connect :6655 --match vlan_vid=10 --switches 1-4 --ports 1-8 --tables 10-19
      the packets of one VLAN, at four switches
  aldis guest add watch --connect :6656 --read-only --observe
      copies of all requests, and no changes
  aldis guest list             what each is doing, and how much of it
  aldis guest show lab-3       one, its grant and its switches
  aldis guest pause lab-3      it is disconnected, and its requests go on to the next application
  aldis guest resume lab-3     it is connected again, also out of quarantine
  aldis guest remove lab-3     it is gone")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: GuestCommand,
}

#[derive(clap::Subcommand)]
enum GuestCommand {
    /// Present the switches to another controller, within a grant.
    Add(Box<AddGuest>),
    /// List the guests, with what they are doing.
    List(ListGuests),
    /// Print what is known of a guest: its grant, its switches, and what was counted.
    Show(OneGuest),
    /// Disconnect a guest; no request goes to it until it is resumed.
    Pause(OneGuest),
    /// Have a guest that is paused or in quarantine connected again.
    Resume(OneGuest),
    /// Remove a guest, and close its connections.
    Remove(OneGuest),
}

#[derive(clap::Args)]
#[command(after_help = "\
Numbers are 7, 10-19 or 1-4,9. What is left out is granted whole.

Examples:
  aldis guest add lab-3 --connect 127.0.0.1:6655 --match vlan_vid=10 --tables 10-19 --priorities 100-200
  aldis guest add web --connect :6656 --match eth_type=0x0800,ip_proto=6,tcp_dst=80 --rate 5000 --otherwise drop
  aldis guest add far --connect far.example:6654 --tls --tls-authority ca.pem --tls-name far.example
      over TLS; --tls-certificate and --tls-key where it wants a certificate
  aldis guest add nicira --connect :6657 --experimenters 0x2320 --weight 4
      Nicira's extensions are passed on, and it is due four times as much of a worker as other guests")]
struct AddGuest {
    /// Its name: small letters, digits and "-"
    #[arg(value_name = "NAME")]
    name: String,
    /// Where it listens for switches, as the running controller reaches it; ":6654" on its machine
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    connect: String,
    /// The switches that it may see: datapath ids, first octets (00:00:*), ranges (1-100)
    #[arg(long, value_name = "SWITCHES,…", value_delimiter = ',', value_parser = switches)]
    switches: Vec<Switches>,
    /// The packets that are its own: NAME=VALUE, separated by commas
    #[arg(long = "match", value_name = "FIELDS")]
    matching: Option<Matching>,
    /// The ports that it may see and use
    #[arg(long, value_name = "NUMBERS")]
    ports: Option<NumberRanges>,
    /// The tables that it may change
    #[arg(long, value_name = "NUMBERS")]
    tables: Option<NumberRanges>,
    /// The priorities of its flows
    #[arg(long, value_name = "NUMBERS")]
    priorities: Option<NumberRanges>,
    /// The groups that it may use
    #[arg(long, value_name = "NUMBERS")]
    groups: Option<NumberRanges>,
    /// The meters that it may use
    #[arg(long, value_name = "NUMBERS")]
    meters: Option<NumberRanges>,
    /// The experimenters whose messages are passed on, both ways: 0x2320, or 0x2320,0x4f4e4600
    #[arg(long, value_name = "IDS")]
    experimenters: Option<ExperimenterIds>,
    /// It may ask, and change nothing
    #[arg(long)]
    read_only: bool,
    /// It gets copies: the requests go on to the next application all the same
    #[arg(long)]
    observe: bool,
    /// Most requests a second that it is handed, of all switches together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Bytes that may wait for it at one switch [default: 1048576]
    #[arg(long, value_name = "BYTES")]
    queue: Option<u64>,
    /// Its share of a worker, beside other guests that have much to say [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    weight: Option<u16>,
    /// What becomes of a request that it cannot take: it is away or paused, or its queue is full
    /// [default: next]
    #[arg(long, value_name = "WHAT", value_parser = ["next", "drop"])]
    otherwise: Option<String>,
    #[command(flatten)]
    tls: GuestTlsArgs,
    #[command(flatten)]
    ask: ClientArgs,
}

/// How connections to it are encrypted. The files are those of the controller's machine.
#[derive(clap::Args)]
#[group(skip)]
struct GuestTlsArgs {
    /// Connect to it over TLS
    #[arg(long, requires = "tls_authority")]
    tls: bool,
    /// The authorities of which one has to have signed its certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_authority: Option<String>,
    /// The certificate that it is shown, as PEM; none where this is left out
    #[arg(long, value_name = "FILE", requires_all = ["tls", "tls_key"])]
    tls_certificate: Option<String>,
    /// The certificate's private key, as PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls", "tls_certificate"])]
    tls_key: Option<String>,
    /// The name that its certificate has to bear [default: its address]
    #[arg(long, value_name = "HOST", requires = "tls")]
    tls_name: Option<String>,
}

impl GuestTlsArgs {
    /// The files as JSON, with what was said alone.
    fn body(&self) -> Option<Value> {
        let files = [
            ("authority", &self.tls_authority),
            ("certificate", &self.tls_certificate),
            ("key", &self.tls_key),
            ("name", &self.tls_name),
        ];
        let said = files
            .into_iter()
            .filter_map(|(name, file)| Some((name.to_owned(), Value::from(file.as_deref()?))));
        self.tls.then(|| Value::Object(said.collect()))
    }
}

#[derive(clap::Args)]
struct ListGuests {
    #[command(flatten)]
    ask: ClientArgs,
}

#[derive(clap::Args)]
struct OneGuest {
    /// The guest
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    ask: ClientArgs,
}

/// A host and a port: the controller, not this command, looks the host up.
fn address(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    match port.filter(|port| *port != 0) {
        Some(_) => Ok(text.to_owned()),
        None => Err("no address; write it as 127.0.0.1:6654, or :6654 on that machine".into()),
    }
}

fn switches(text: &str) -> Result<Switches, String> {
    text.trim().parse().map_err(|why| format!("{why}"))
}

/// Does it, and prints what there is then.
///
/// # Errors
/// One sentence: no answer, or the controller refuses.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    match args.command {
        GuestCommand::Add(addition) => addition.run(),
        GuestCommand::List(ListGuests { ask }) => ask.list("/api/v1/guests", NAMES, &COLUMNS, row),
        GuestCommand::Show(OneGuest { name, ask }) => ask.show(&path(&name), one),
        GuestCommand::Pause(named) => named.change("pause"),
        GuestCommand::Resume(named) => named.change("resume"),
        GuestCommand::Remove(OneGuest { name, ask }) => {
            let answer = ask.http.delete(&path(&name))?;
            ask.print(&answer, |left: &Page<Guest>| listed(left, NAMES, &COLUMNS, row))
        }
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/guests/{}", escape(name))
}

impl AddGuest {
    fn run(self) -> Result<ExitCode, String> {
        let answer = self.ask.http.put(&path(&self.name), &self.body().to_string())?;
        self.ask.print(&answer, one)
    }

    /// The spec as JSON, with what was said alone.
    fn body(&self) -> Value {
        let text = |value: &dyn ToString| Value::from(value.to_string());
        let numbers = |numbers: &Option<NumberRanges>| numbers.as_ref().map(|it| text(it));
        let all: Vec<Value> = self.switches.iter().map(|it| text(it)).collect();
        let matching = self.matching.as_ref().map(Matching::in_words);
        let fields = [
            ("connect", Some(Value::from(self.connect.as_str()))),
            ("switches", (!all.is_empty()).then(|| Value::from(all))),
            ("match", matching.map(|fields| fields.into_iter().collect())),
            ("ports", numbers(&self.ports)),
            ("tables", numbers(&self.tables)),
            ("priorities", numbers(&self.priorities)),
            ("groups", numbers(&self.groups)),
            ("meters", numbers(&self.meters)),
            ("experimenters", self.experimenters.as_ref().map(|ids| text(ids))),
            ("read_only", self.read_only.then_some(Value::from(true))),
            ("observe", self.observe.then_some(Value::from(true))),
            ("rate", self.rate.map(Value::from)),
            ("queue", self.queue.map(Value::from)),
            ("weight", self.weight.map(Value::from)),
            ("otherwise", self.otherwise.as_deref().map(Value::from)),
            ("tls", self.tls.body()),
        ];
        let said = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(said.collect::<Map<_, _>>())
    }
}

impl OneGuest {
    fn change(self, how: &str) -> Result<ExitCode, String> {
        let answer = self.ask.http.post(&format!("{}/{how}", path(&self.name)), "{}")?;
        self.ask.print(&answer, one)
    }
}

/// One of them, and several.
const NAMES: (&str, &str) = ("guest", "guests");

/// What is listed of a guest.
const COLUMNS: [&str; 7] = ["guest", "state", "switches", "requests", "shed", "refused", "reason"];

fn row(guest: &Guest) -> Vec<String> {
    let connected = guest.switches.iter().filter(|switch| switch.version.is_some()).count();
    vec![
        guest.name.clone(),
        guest.state.name().to_owned(),
        format!("{connected} of {}", guest.switches.len()),
        guest.counts.requests.to_string(),
        guest.counts.shed.to_string(),
        guest.counts.refused.to_string(),
        guest.reason.clone().unwrap_or_default(),
    ]
}

fn one(guest: &Guest) -> TextTable {
    let counts = &guest.counts;
    let state = match &guest.reason {
        Some(reason) => format!("{}: {reason}", guest.state.name()),
        None => guest.state.name().to_owned(),
    };
    let head = vec![("guest", guest.name.clone()), ("connect", guest.connect.clone())];
    let counted = [
        ("requests", counts.requests),
        ("shed", counts.shed),
        ("missed", counts.missed),
        ("messages", counts.messages),
        ("refused", counts.refused),
        ("faults", counts.faults),
        ("replies", counts.replies),
        ("connections", counts.connections),
    ];
    let counted = counted.map(|(name, count)| (name, count.to_string()));
    let switches = guest.switches.iter().map(|switch| {
        let standing = match (&switch.version, &switch.reason) {
            (Some(version), _) => format!("OpenFlow {version}"),
            (None, Some(reason)) => format!("not connected: {reason}"),
            (None, None) => "not connected".to_owned(),
        };
        (switch.dpid.as_str(), standing)
    });
    let rows = head.into_iter().chain([("state", state)]).chain(grant(&guest.spec));
    TextTable::pairs(rows.chain(counted).chain(switches).collect())
}

/// What it may see and change, and what is done for it.
fn grant(spec: &GuestSpec) -> Vec<(&'static str, String)> {
    let all = || "all".to_owned();
    let is_slice = spec.ports.is_some() || !spec.matching.0.fields.is_empty();
    let numbers = |numbers: &Option<Spelled<NumberRanges>>| {
        numbers.as_ref().map_or_else(all, |numbers| numbers.0.to_string())
    };
    // A slice has no groups and no meters but those that are named.
    let shared = |those: &Option<Spelled<NumberRanges>>| match those {
        None if is_slice => "none".to_owned(),
        those => numbers(those),
    };
    let switches: Vec<_> = spec.switches.iter().map(|it| it.0.to_string()).collect();
    let experimenters = spec.experimenters.as_ref();
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let otherwise = match spec.otherwise {
        Otherwise::Next => "the next application",
        Otherwise::Drop => "dropped",
    };
    vec![
        ("switches", if switches.is_empty() { all() } else { switches.join(" ") }),
        ("match", text::fields(&spec.matching.in_words())),
        ("ports", numbers(&spec.ports)),
        ("tables", numbers(&spec.tables)),
        ("priorities", numbers(&spec.priorities)),
        ("groups", shared(&spec.groups)),
        ("meters", shared(&spec.meters)),
        ("experimenters", experimenters.map_or_else(|| "none".to_owned(), |ids| ids.0.to_string())),
        ("read only", yes(spec.read_only)),
        ("observe", yes(spec.observe)),
        ("rate", spec.rate.map_or_else(|| "no limit".to_owned(), |rate| format!("{rate}/s"))),
        ("queue", format!("{} bytes", spec.queue)),
        ("weight", spec.weight.to_string()),
        ("otherwise", otherwise.to_owned()),
        ("tls", yes(spec.tls.is_some())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AldisCommand, Cli};
    use clap::Parser;
    use serde_json::json;

    /// What is added by a command line, as JSON.
    fn added(line: &str) -> Result<Value, String> {
        let cli = Cli::try_parse_from(line.split_whitespace());
        match cli.map_err(|error| error.to_string())?.command {
            AldisCommand::Guest(Args { command: GuestCommand::Add(guest) }) => Ok(guest.body()),
            _ => Err(format!("{line} adds nothing")),
        }
    }

    #[test]
    fn every_part_of_a_grant_can_be_said() {
        let line = "aldis guest add lab-3 --connect :6655 --switches 1-4,00:00:* --match \
                    vlan_vid=10,in_port=3 --ports 1-8 --tables 10-19 --priorities 100-200 \
                    --groups 1-9 --meters 3 --read-only --observe --rate 500 --queue 65536 \
                    --otherwise drop --experimenters 0x2320,7 --weight 3 --tls --tls-authority \
                    ca.pem --tls-certificate a.pem --tls-key a.key --tls-name a.example";
        let body = added(line).unwrap();
        let spec: GuestSpec = serde_json::from_value(body).unwrap();
        let expected = json!({
            "connect": "127.0.0.1:6655", "switches": ["1-4", "00:00:*"],
            "match": {"vlan_vid": 10, "in_port": 3}, "ports": "1-8", "tables": "10-19",
            "priorities": "100-200", "groups": "1-9", "meters": 3, "read-only": true,
            "observe": true, "rate": 500, "queue": 65536, "otherwise": "drop",
            "experimenters": "0x2320,0x7", "weight": 3,
            "tls": {
                "authority": "ca.pem", "certificate": "a.pem", "key": "a.key", "name": "a.example"
            }
        });
        assert_eq!(spec, serde_json::from_value(expected).unwrap());
    }

    #[test]
    fn what_is_left_out_is_left_to_the_controller() {
        let body = added("aldis guest add ryu --connect far.example:6654").unwrap();
        assert_eq!(body, json!({"connect": "far.example:6654"}));
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_a_controller_is_asked() {
        for (rest, words) in [
            ("", "--connect"),
            ("--connect localhost", "127.0.0.1:6654"),
            ("--connect :0", "127.0.0.1:6654"),
            ("--connect :1 --tables 9-1", "10-19"),
            ("--connect :1 --switches s1", "a datapath id"),
            ("--connect :1 --match vlan=3", "vlan"),
            ("--connect :1 --rate 0", "--rate"),
            ("--connect :1 --otherwise wait", "next, drop"),
            ("--connect :1 --weight 0", "--weight"),
            ("--connect :1 --experimenters nicira", "0x2320"),
            ("--connect :1 --tls", "--tls-authority"),
            ("--connect :1 --tls-authority ca.pem", "--tls"),
            ("--connect :1 --tls --tls-authority ca.pem --tls-certificate a.pem", "--tls-key"),
        ] {
            let refused = added(&format!("aldis guest add a {rest}")).unwrap_err();
            assert!(refused.contains(words), "{rest}: {refused}");
        }
    }

    /// The commands of the help and of the page on guests are commands.
    #[test]
    fn the_examples_are_understood() {
        // As a shell reads the loop over students, for the first of them.
        let page = include_str!("../../docs/guests.md").replace("\\\n", "");
        let page = page.replace("$((6700 + student))", "6701").replace("$student", "1");
        let page = page.replace("$((2 * student - 1))-$((2 * student))", "1-2");
        let help = crate::help::laid_out(<Cli as clap::CommandFactory>::command(), 100);
        let behind = |names: &[&str]| {
            let found = names.iter().try_fold(&help, |command, name| command.find_subcommand(name));
            found.and_then(|command| command.get_after_help()).map(ToString::to_string).unwrap()
        };
        let texts = [page, behind(&["guest"]), behind(&["guest", "add"])];
        let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
        let mut known = 0;
        for line in lines.filter(|line| line.starts_with("aldis guest ")) {
            let typed = line.split("  ").next().unwrap_or_default();
            let typed = typed.split(" #").next().unwrap_or_default();
            let read = Cli::try_parse_from(typed.split_whitespace());
            assert!(read.is_ok(), "{typed}: {}", read.err().unwrap());
            known += 1;
        }
        assert!(known > 10, "{known}");
    }

    #[test]
    fn a_guest_is_a_line_and_its_grant_a_table() {
        let guest: Guest = serde_json::from_value(json!({
            "name": "lab-3", "connect": "127.0.0.1:6655", "state": "shedding",
            "reason": "its queue is full",
            "switches": [
                {"dpid": "0000000000000001", "version": "1.3"},
                {"dpid": "0000000000000002", "reason": "no HELLO came"},
                {"dpid": "0000000000000003"}
            ],
            "counts": {
                "requests": 12, "shed": 3, "missed": 4, "messages": 5, "refused": 6, "faults": 7,
                "replies": 8, "connections": 9
            },
            "spec": {
                "name": "lab-3", "connect": "127.0.0.1:6655", "match": {"vlan_vid": 10},
                "tables": "10-19", "otherwise": "drop", "queue": 5000, "weight": 3,
                "experimenters": "0x2320", "tls": {"authority": "ca.pem"}
            }
        }))
        .unwrap();
        let line = ["lab-3", "shedding", "1 of 3", "12", "3", "6", "its queue is full"];
        assert_eq!(row(&guest), line);
        let table = one(&guest).to_string();
        let rows: Vec<(&str, &str)> = table
            .lines()
            .map(|line| line.split_once("  ").map_or((line, ""), |(a, b)| (a, b.trim())))
            .collect();
        for row in [
            ("state", "shedding: its queue is full"),
            ("match", "vlan_vid=10"),
            ("switches", "all"),
            ("tables", "10-19"),
            ("ports", "all"),
            ("groups", "none"),
            ("rate", "no limit"),
            ("queue", "5000 bytes"),
            ("weight", "3"),
            ("experimenters", "0x2320"),
            ("tls", "yes"),
            ("otherwise", "dropped"),
            ("missed", "4"),
            ("connections", "9"),
            ("0000000000000001", "OpenFlow 1.3"),
            ("0000000000000002", "not connected: no HELLO came"),
            ("0000000000000003", "not connected"),
        ] {
            assert!(rows.contains(&row), "{row:?} is missing:\n{table}");
        }
    }
}
