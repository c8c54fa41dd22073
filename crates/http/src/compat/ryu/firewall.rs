//! `/firewall`: Ryu's `rest_firewall`. A switch is a firewall from the first `enable` or `disable`
//! on: then only ARP passes, and what a rule allows; and nothing at all while it is disabled.

use aldis_apps::static_flows::StaticFlow;
use aldis_wire::msg::{Field, Match};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use super::body::{DictBody, PathParts, wrong};
use super::rules::{self, BELOW, OfSwitches, RuleWords};
use super::switch_request::AskedSwitch;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

pub(super) const WORDS: RuleWords = RuleWords {
    app: "ryu-firewall",
    role: "firewall",
    id: "rule_id",
    listed: ["access_control_list", "rules"],
    added: "Rule added. : rule_id=",
    deleted: "Rule deleted. : ruleID=",
    missing: ["Rule is not exist.", " : ruleID="],
};

/// Above all rules: ARP passes, and above that nothing, where the firewall is disabled.
const ARP: u16 = 59_500;
const STOPPED: u16 = 60_000;

const ETH_ARP: u16 = 0x0806;

/// A flow besides the rules.
fn name(switch: AskedSwitch, what: &str) -> String {
    format!("{} {} {what}", WORDS.app, switch.dpid)
}

fn has(all: &[StaticFlow], name: &str) -> bool {
    all.iter().any(|flow| *flow.name == *name)
}

pub(super) async fn status(State(shared): Ctx, at: PathParts) -> OfSwitches {
    let all = rules::kept(&shared)?;
    let show = |switch: AskedSwitch| {
        let runs = has(&all, &name(switch, "rest")) && !has(&all, &name(switch, "stopped"));
        rules::shown(switch, "status", if runs { "enable" } else { "disable" })
    };
    Ok(Json(rules::switches(&shared, &at, WORDS.role)?.into_iter().map(show).collect()))
}

pub(super) async fn enable(State(shared): Ctx, at: PathParts) -> OfSwitches {
    switched(&shared, &at, true).await
}

pub(super) async fn disable(State(shared): Ctx, at: PathParts) -> OfSwitches {
    switched(&shared, &at, false).await
}

async fn switched(shared: &Shared, at: &PathParts, runs: bool) -> OfSwitches {
    let switches = rules::switches(shared, at, WORDS.role)?;
    let (mut add, mut gone, mut answers) = (vec![], vec![], vec![]);
    let alone = shared.rules_changing.lock().await;
    let all = rules::kept(shared)?;
    for switch in switches {
        let arp = Match { fields: vec![Field::EthType(ETH_ARP)] };
        let stopped = name(switch, "stopped");
        let mut flows = vec![
            rules::flow(
                name(switch, "arp"),
                switch,
                ARP,
                arp,
                rules::pass(shared, switch, vec![]),
            )?,
            rules::flow(name(switch, "rest"), switch, BELOW, Match::new(), vec![])?,
        ];
        match (runs, has(&all, &stopped)) {
            (true, true) => gone.push(stopped),
            (false, false) => {
                flows.push(rules::flow(stopped, switch, STOPPED, Match::new(), vec![])?);
            }
            (true, false) | (false, true) => {}
        }
        add.extend(flows.into_iter().filter(|flow| !all.contains(flow)));
        let details = if runs { "firewall running." } else { "firewall stopped." };
        answers.push(rules::shown(switch, "command_result", rules::result(true, details)));
    }
    rules::change(shared, alone, add, gone).await?;
    Ok(Json(answers))
}

pub(super) async fn log_status(State(shared): Ctx, at: PathParts) -> OfSwitches {
    let switches = rules::switches(&shared, &at, WORDS.role)?;
    Ok(Json(switches.into_iter().map(|one| rules::shown(one, "log_status", "disable")).collect()))
}

pub(super) async fn log() -> Problem {
    let detail = "packets that are blocked are not logged here: the flow \"ryu-firewall SWITCH rest\" \
                  counts them, and a rule of the application acl with the action \"mirror\" copies \
                  those that pass to a port";
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not-here", detail)
}

pub(super) async fn list(State(shared): Ctx, at: PathParts) -> OfSwitches {
    rules::list(&shared, &at, &WORDS, |flow| {
        if flow.instructions.is_empty() { "DENY".into() } else { "ALLOW".into() }
    })
}

pub(super) async fn add(
    State(shared): Ctx,
    at: PathParts,
    DictBody(mut rule): DictBody,
) -> OfSwitches {
    let allows = match rule.remove("actions") {
        None => true,
        Some(Value::String(text)) if text == "ALLOW" => true,
        Some(Value::String(text)) if text == "DENY" => false,
        Some(other) => return Err(wrong("actions", &other, "ALLOW or DENY")),
    };
    rules::add(&shared, &at, &WORDS, rule, |switch| {
        Ok(if allows { rules::pass(&shared, switch, vec![]) } else { vec![] })
    })
    .await
}

pub(super) async fn delete(State(shared): Ctx, at: PathParts, body: DictBody) -> OfSwitches {
    rules::delete(&shared, &at, &WORDS, &body).await
}
