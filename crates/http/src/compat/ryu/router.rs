//! `/router`: Ryu's `rest_router`. A router answers ARP and ICMP at addresses of its own and learns
//! its neighbours from packets: that is an application, and Ryu's own runs unchanged.

use axum::http::StatusCode;

use crate::problem::Problem;

pub(super) async fn elsewhere() -> Problem {
    let detail = "addresses of routers are not kept here: Ryu's own rest_router runs unchanged with \
                  \"aldis ryu --python PYTHON rest_router.py\", and answers at 127.0.0.1:8081 \
                  (docs/from-ryu.md)";
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not-here", detail)
}
