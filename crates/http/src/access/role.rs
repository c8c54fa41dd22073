//! What a key is good for, and what each route needs.

use std::fmt;
use std::str::FromStr;

/// What a key may do; each role includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AccessRole {
    /// Look.
    Read,
    /// Change the network: flows, rules, weights.
    Write,
    /// Change the controller itself: what it keeps, what it runs.
    Admin,
}

/// Below these, whatever is not read is for administrators; and what is read too where it is a
/// secret.
const OF_ADMINS: [(&str, bool); 8] = [
    // Lines quote the configuration and name files.
    ("/api/v1/log", true),
    // Every packet that a switch hands over is in it.
    ("/api/v1/recording", true),
    ("/api/v1/store", true),
    ("/api/v1/config", false),
    ("/api/v1/reload", false),
    ("/api/v1/apps", false),
    ("/api/v1/sequences", false),
    ("/api/v1/guests", false),
];

/// What is asked for with a body, and changes nothing.
const QUESTIONS: [&str; 4] = [
    "/api/v1/trace",
    "/stats/flow/{dpid}",
    "/stats/flowdesc/{dpid}",
    "/stats/aggregateflow/{dpid}",
];

/// What is asked for without a body, and changes something: as scripts of Floodlight's ask for it.
const ORDERS: [&str; 4] = [
    "/wm/acl/clear/json",
    "/wm/staticentrypusher/clear/{dpid}/json",
    "/wm/staticflowpusher/clear/{dpid}/json",
    "/wm/staticflowentrypusher/clear/{dpid}/json",
];

impl AccessRole {
    /// All, the least first.
    pub const ALL: [AccessRole; 3] = [AccessRole::Read, AccessRole::Write, AccessRole::Admin];

    /// What a route needs, by its method and its path as the router has it. A route that the table
    /// does not name needs a role that is good enough for its method.
    pub(crate) fn needed(method: &str, path: &str) -> AccessRole {
        let looks = ["get", "head", "options"].contains(&method) && !ORDERS.contains(&path);
        let reads = looks || QUESTIONS.contains(&path);
        let below = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match OF_ADMINS.iter().find(|(prefix, _)| below(prefix)) {
            Some((_, secret)) if *secret || !reads => AccessRole::Admin,
            _ if reads => AccessRole::Read,
            _ => AccessRole::Write,
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            AccessRole::Read => "read",
            AccessRole::Write => "write",
            AccessRole::Admin => "admin",
        }
    }
}

impl fmt::Display for AccessRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRole(String);

impl fmt::Display for BadRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no role {:?}; the roles are: read, write, admin", self.0)
    }
}

impl std::error::Error for BadRole {}

impl FromStr for AccessRole {
    type Err = BadRole;

    fn from_str(name: &str) -> Result<Self, BadRole> {
        let found = AccessRole::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| BadRole(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_needs_what_its_method_does() {
        for (method, path, role) in [
            ("get", "/api/v1/switches", AccessRole::Read),
            ("get", "/api/v1/nobody/thought/of/it", AccessRole::Read),
            ("post", "/api/v1/flows", AccessRole::Write),
            ("brew", "/coffee", AccessRole::Write),
            ("post", "/api/v1/trace", AccessRole::Read),
            ("post", "/api/v1/tracer", AccessRole::Write),
            ("get", "/api/v1/store/export", AccessRole::Admin),
            ("get", "/api/v1/log", AccessRole::Admin),
            ("get", "/api/v1/log/follow", AccessRole::Admin),
            ("get", "/api/v1/recording", AccessRole::Admin),
            ("get", "/api/v1/apps/{name}/log", AccessRole::Read),
            ("get", "/api/v1/me", AccessRole::Read),
            ("post", "/api/v1/reload", AccessRole::Admin),
            ("get", "/api/v1/apps", AccessRole::Read),
            ("post", "/api/v1/apps/{name}/stop", AccessRole::Admin),
            ("put", "/api/v1/sequences/{on}", AccessRole::Admin),
            ("get", "/api/v1/guests/{name}", AccessRole::Read),
            ("put", "/api/v1/guests/{name}", AccessRole::Admin),
            ("post", "/api/v1/guests/{name}/pause", AccessRole::Admin),
            ("delete", "/api/v1/guests/{name}", AccessRole::Admin),
            ("get", "/api/v1/config", AccessRole::Read),
            ("put", "/api/v1/config", AccessRole::Admin),
            ("put", "/api/v1/configurations", AccessRole::Write),
            ("post", "/stats/flow/{dpid}", AccessRole::Read),
            ("post", "/stats/flowentry/add", AccessRole::Write),
            ("get", "/wm/staticentrypusher/list/{dpid}/json", AccessRole::Read),
            ("get", "/wm/staticentrypusher/clear/{dpid}/json", AccessRole::Write),
            ("get", "/wm/staticflowentrypusher/clear/{dpid}/json", AccessRole::Write),
        ] {
            assert_eq!(AccessRole::needed(method, path), role, "{method} {path}");
        }
    }

    #[test]
    fn a_role_is_written_as_it_is_read() {
        for role in AccessRole::ALL {
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert!(
            "root".parse::<AccessRole>().unwrap_err().to_string().contains("read, write, admin")
        );
    }
}
