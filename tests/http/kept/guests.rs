//! Guests of the configuration follow it when it is read again.

use super::*;

/// What is said of the guests, by their names.
fn specs(api: &Api) -> Vec<(String, Value)> {
    let page = api.get("/api/v1/guests").json();
    let named = |guest: &Value| (guest["name"].as_str().unwrap().to_owned(), guest["spec"].clone());
    page["items"].as_array().unwrap().iter().map(named).collect()
}

fn names(api: &Api) -> Vec<String> {
    specs(api).into_iter().map(|(name, _)| name).collect()
}

fn guest(name: &str, connect: &str, more: &str) -> String {
    format!("[[guest]]\nname = \"{name}\"\nconnect = \"{connect}\"\n{more}\n")
}

/// A grant that is apart from those of other numbers.
fn apart(numbers: &str) -> String {
    ["priorities", "groups", "meters"].map(|key| format!("{key} = \"{numbers}\"\n")).concat()
}

fn reload(api: &Api) -> Vec<String> {
    let answer = post(api, "/api/v1/reload", &json!({}));
    assert_eq!(answer.status, 200, "{}", answer.json());
    let answer = answer.json();
    assert_eq!(answer["waiting"], json!([]));
    let lines = answer["applied"].as_array().unwrap().iter();
    lines.map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn guests_are_added_changed_and_removed_without_a_restart() {
    let folder = Folder::new("guests-follow");
    let file = folder.file("aldis.toml");
    // Other controllers, which serve as guests. Each takes the switch from one guest alone: a
    // second connection with the same datapath id would be a duplicate.
    let [served, other] = [(); 2].map(|()| Running::start(&["--apps", "learning-switch"]));
    let (at, elsewhere) = (served.address.as_str(), other.address.as_str());
    let write = |guests: &[String]| std::fs::write(&file, guests.concat()).unwrap();
    write(&[
        guest("bounded", at, &apart("1-9")),
        guest("moves", "127.0.0.1:1", &apart("10-19")),
        guest("goes", "127.0.0.1:1", &apart("20-29")),
    ]);
    let (controller, api) = serving(&["--config", &file, "--apps", "topology"]);
    let _network = Network::start(&controller, Version::V13, "single,1", &[]);
    when(&api, "/api/v1/guests/bounded", |guest| guest["state"] == "serving");
    assert_eq!(names(&api), ["bounded", "goes", "moves"]);
    assert_eq!(reload(&api), [""; 0]);

    write(&[
        guest("comes", "127.0.0.1:1", &apart("20-29")),
        guest("moves", elsewhere, &apart("10-19")),
        guest("bounded", at, &(apart("1-9") + "weight = 3\nrate = 9\notherwise = \"drop\"")),
    ]);
    let lines = reload(&api);
    let said = ["guest \"goes\" is gone", "guest \"comes\" is new", "guest \"moves\" is another"];
    for line in said.into_iter().chain(["guest \"bounded\" is another"]) {
        assert!(lines.iter().any(|said| said == line), "{line}: {lines:?}");
    }
    assert_eq!(lines.len(), 4, "{lines:?}");
    // Its grant is that of the guest that went.
    assert_eq!(names(&api), ["bounded", "comes", "moves"]);
    when(&api, "/api/v1/guests/moves", |guest| guest["state"] == "serving");
    let bounded = api.get("/api/v1/guests/bounded").json();
    assert_eq!((&bounded["spec"]["weight"], &bounded["spec"]["rate"]), (&3.into(), &9.into()));
    assert_eq!(bounded["spec"]["otherwise"], "drop");
    // Where bounds alone changed, its connection stays.
    assert_eq!(
        (&bounded["state"], &bounded["counts"]["connections"]),
        (&"serving".into(), &1.into())
    );

    // What is refused changes nothing, and what cannot be added is told.
    let before = specs(&api);
    write(&[guest("twice", at, ""), guest("twice", at, "")]);
    assert!(post(&api, "/api/v1/reload", &json!({})).is_problem(422, "there are two guests"));
    assert_eq!(specs(&api), before);
    write(&[guest("one", at, ""), guest("two", at, "")]);
    let lines = reload(&api);
    assert!(lines.iter().any(|line| line.starts_with("guest \"two\" is not there: ")), "{lines:?}");
    assert_eq!(names(&api), ["one"]);
}

#[test]
fn a_guest_of_the_configuration_counts_before_that_of_its_name_that_was_added_over_http() {
    let folder = Folder::new("guests-both");
    let file = folder.file("aldis.toml");
    std::fs::write(&file, guest("own", "127.0.0.1:1", &apart("1-9"))).unwrap();
    let (_controller, api) = serving(&["--config", &file]);
    let those = "10-19";
    let spec = json!({
        "connect": "127.0.0.1:2", "priorities": those, "groups": those, "meters": those
    });
    assert_eq!(put(&api, "/api/v1/guests/both", &spec).status, 201);
    let connect = |name: &str| api.get(&format!("/api/v1/guests/{name}")).json()["connect"].clone();
    // One that was removed over HTTP stays away, as long as the file says the same.
    assert_eq!(delete(&api, "/api/v1/guests/own").status, 200);
    assert_eq!(reload(&api), [""; 0]);
    assert_eq!(names(&api), ["both"]);
    std::fs::write(&file, guest("both", "127.0.0.1:3", &apart("10-19"))).unwrap();
    assert_eq!(reload(&api), ["guest \"own\" is gone", "guest \"both\" is new"]);
    assert_eq!(connect("both"), "127.0.0.1:3");
    std::fs::write(&file, "").unwrap();
    assert_eq!(reload(&api), ["guest \"both\" is gone"]);
    assert_eq!(connect("both"), "127.0.0.1:2");
}
