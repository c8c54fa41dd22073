//! Makes the document out of what the code says of itself. Tests do, and renew the copy: a
//! controller that describes itself anew at each start would be built a minute longer.

use utoipa::OpenApi;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Object, Schema, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Required, Response};

use super::examples;
use crate::routes::{Foreign, RouteTable};
use crate::{api, metrics, openapi, problem};

/// Everything that can be asked for.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Aldis",
        description = "A fair and fast OpenFlow controller. Lists come in pages: `next` is the `cursor` of the page behind. \
                       What was not done is told as problem+json (RFC 9457).",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        api::health::show,
        api::version::show,
        api::switches::list,
        api::switches::show,
        api::ports::of_switch,
        api::ports::show,
        api::ports::list,
        api::port_statistics::list,
        api::statistics::show,
        api::events::follow,
        api::events::recent,
        api::events::socket,
        api::log::list,
        api::log::follow,
        api::me::show,
        api::recording::show,
        api::reports::list,
        api::hosts::list,
        api::links::list,
        api::paths::show,
        api::apps::show,
        api::apps::install,
        api::apps::replace,
        api::apps::remove,
        api::apps::shadow,
        api::apps::end_shadow,
        api::apps::promote,
        api::apps::log,
        api::apps::start,
        api::apps::stop,
        api::apps::order,
        api::apps::reset_order,
        api::guests::list,
        api::guests::show,
        api::guests::put,
        api::guests::remove,
        api::guests::pause,
        api::guests::resume,
        api::weights::design,
        api::weights::set_design,
        api::weights::show,
        api::weights::set,
        api::weights::reset,
        api::static_flows::list,
        api::static_flows::change,
        api::static_flows::show,
        api::static_flows::put,
        api::static_flows::remove,
        api::acl::list,
        api::acl::put_all,
        api::acl::show,
        api::acl::put,
        api::acl::remove,
        api::names::list,
        api::names::put,
        api::names::remove,
        api::reload::reload,
        api::trace::follow,
        api::flows::list,
        api::flows::change,
        api::flows::remove,
        api::flows::change_many,
        api::inventory::groups,
        api::inventory::meters,
        api::inventory::ports,
        api::inventory::queues,
        api::inventory::tables,
        api::app_routes::home_redirect,
        api::app_routes::home,
        api::app_routes::get,
        api::app_routes::post,
        api::app_routes::put,
        api::app_routes::delete,
        metrics::show,
        openapi::show,
    ),
    components(schemas(problem::Problem))
)]
struct Document;

/// The document.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let keys = [("token", HttpAuthScheme::Bearer), ("password", HttpAuthScheme::Basic)];
    let components = document.components.get_or_insert_default();
    for (name, scheme) in keys.clone() {
        components.add_security_scheme(name, SecurityScheme::Http(Http::new(scheme)));
    }
    // Either, or none where a server on loopback knows no keys.
    let mut either = vec![SecurityRequirement::default()];
    either.extend(keys.map(|(name, _)| SecurityRequirement::new::<_, [&str; 0], &str>(name, [])));
    document.security = Some(either);
    for route in RouteTable::all().foreign {
        let method = match route.method {
            "post" => HttpMethod::Post,
            "put" => HttpMethod::Put,
            "delete" => HttpMethod::Delete,
            _ => HttpMethod::Get,
        };
        document.paths.add_path_operation(route.path, vec![method], foreign(&route));
    }
    examples::add(&mut document);
    document
}

/// A route of another controller: its answers are described where that is.
fn foreign(route: &Foreign) -> Operation {
    let words: Vec<&str> = route.path.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let id = [&[route.tag, route.method], &words[..]].concat();
    let id = id.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    let text = || Schema::Object(Object::with_type(Type::String));
    let parts = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters = parts.map(|name| {
        let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path);
        parameter.required(Required::True).schema(Some(text())).build()
    });
    let answer = |what: &str| Response::new(what);
    let done = match route.method {
        "get" => "As the other controller shows it",
        _ => "Done, and confirmed by the switch where one is concerned",
    };
    let operation = OperationBuilder::new()
        .operation_id(Some(id))
        .tag(route.tag)
        .summary(Some(route.summary))
        .parameters(Some(parameters))
        .response("200", answer(done))
        .response("400", answer("Something is wrong with the request, or the switch refuses it"))
        .response("404", answer("There is no such switch, or nothing of that name"));
    let any = ContentBuilder::new().schema(Some(Schema::Object(Object::new()))).build();
    match examples::of(route.method, route.path) {
        None => operation.build(),
        Some(_) => {
            let body = RequestBodyBuilder::new().content("application/json", any).build();
            operation.request_body(Some(body)).build()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    const COPY: &str = "../../openapi/aldis.json";

    #[test]
    fn what_is_described_and_what_is_routed_are_the_same() {
        let document = serde_json::to_value(document()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let described: BTreeSet<_> = paths
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().unwrap().keys();
                methods.map(|method| (method.clone(), path.clone()))
            })
            .collect();
        let routed: BTreeSet<_> = RouteTable::all()
            .known
            .into_iter()
            .map(|(method, path)| (method.to_owned(), path.to_owned()))
            .collect();
        assert_eq!(described, routed);
        let operations = paths.values().flat_map(|methods| methods.as_object().unwrap().values());
        let names: BTreeSet<_> =
            operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
        assert_eq!(names.len(), routed.len(), "each has a name of its own: {names:?}");
    }

    #[test]
    fn the_copy_is_fresh() {
        let mut fresh = serde_json::to_string_pretty(&document()).unwrap();
        fresh.push('\n');
        let copy = Path::new(env!("CARGO_MANIFEST_DIR")).join(COPY);
        if std::env::var_os("ALDIS_RENEW").is_some() {
            std::fs::write(&copy, &fresh).unwrap();
        }
        let stale = std::fs::read_to_string(&copy).unwrap_or_default() != fresh;
        assert!(!stale, "renew it: ALDIS_RENEW=1 cargo test -p aldis-http openapi");
    }
}
