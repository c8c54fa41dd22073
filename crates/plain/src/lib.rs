//! What is wrong with a value, in plain words instead of serde's: what was given, what is wanted,
//! and the name that was probably meant. For requests, and for the configuration.

/// The types whose names serde puts into its sentences, as people call them.
const WANTED: [(&str, &str); 22] = [
    ("a sequence", "a list"),
    ("a map", "a table of keys and values"),
    ("a boolean", "true or false"),
    ("a string", "text in quotes"),
    ("a borrowed string", "text in quotes"),
    ("string", "text in quotes"),
    ("path string", "a path in quotes"),
    ("string or map", "text in quotes"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number, 0 or more"),
    ("u128", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
    ("i8", "a whole number from -128 to 127"),
    ("i16", "a whole number from -32768 to 32767"),
    ("i32", "a whole number from -2147483648 to 2147483647"),
    ("i64", "a whole number"),
    ("isize", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("unit", "nothing"),
];

/// What the standard library says of a number or a word that it cannot read, and the same in our
/// words.
const PARSED: [(&str, &str); 6] = [
    ("invalid digit found in string", "a whole number is wanted"),
    ("cannot parse integer from empty string", "a whole number is wanted, and nothing is given"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "a number is wanted"),
    ("provided string was not `true` or `false`", "true or false is wanted"),
];

/// The longest name that others are compared with, in letters: longer ones are no slip of the
/// finger.
const NAME_MAX: usize = 40;

/// A sentence of serde's in plain words; any other sentence as it is.
pub fn plain(said: &str) -> String {
    let (said, place) = split_place(said);
    rephrased(said).unwrap_or_else(|| said.to_owned()) + place
}

/// serde_json says ` at line 1 column 2` behind everything.
fn split_place(said: &str) -> (&str, &str) {
    let at = said
        .rfind(" at line ")
        .filter(|at| said[*at..].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' '));
    said.split_at(at.unwrap_or(said.len()))
}

fn rephrased(said: &str) -> Option<String> {
    if let Some(rest) = said.strip_prefix("invalid type: ").or(said.strip_prefix("invalid value: "))
    {
        let (given, wanted) = rest.rsplit_once(", expected ")?;
        return Some(format!(
            "{} is given where {} is wanted",
            given_in_words(given),
            want(wanted)
        ));
    }
    if let Some(rest) = said.strip_prefix("invalid length ") {
        let (length, wanted) = rest.split_once(", expected ")?;
        return Some(format!("a list of {length} is given where {} is wanted", want(wanted)));
    }
    if let Some((name, accepted)) = unknown(said, "unknown field `") {
        return Some(format!("there is no key `{name}` here; {}", instead(name, accepted)));
    }
    if let Some((name, accepted)) = unknown(said, "unknown variant `") {
        return Some(format!("`{name}` is not accepted; {}", instead(name, accepted)));
    }
    if let Some(name) = said.strip_prefix("missing field ") {
        return Some(format!("{name} is missing"));
    }
    if let Some(name) = said.strip_prefix("duplicate field ") {
        return Some(format!("{name} is there twice"));
    }
    if let Some(rest) = said.strip_prefix("Cannot parse ") {
        let (given, kind) = rest.split_once(" to a `")?;
        return Some(format!(
            "{given} is given where {} is wanted",
            want(kind.trim_end_matches('`'))
        ));
    }
    // Of a query: the key, and what is wrong with it.
    if let Some((key, why)) = said.split_once(": ")
        && !key.contains(' ')
        && let Some(words) = rephrased(why)
    {
        return Some(format!("{key}: {words}"));
    }
    let (before, ours) =
        PARSED.iter().find_map(|(std, ours)| Some((said.strip_suffix(std)?, ours)))?;
    Some(format!("{before}{ours}"))
}

fn unknown<'s>(said: &'s str, begin: &str) -> Option<(&'s str, &'s str)> {
    let (name, rest) = said.strip_prefix(begin)?.split_once('`')?;
    Some((name, rest.strip_prefix(", ")?))
}

/// The name that was meant, where one is close, and all that are accepted.
fn instead(name: &str, accepted: &str) -> String {
    let Some(names) = accepted.strip_prefix("expected ") else {
        return "none is accepted".into();
    };
    let names = names.strip_prefix("one of ").unwrap_or(names);
    let each = names.split('`').skip(1).step_by(2);
    format!("{}accepted: {names}", meant(name, each))
}

/// `did you mean `x`? `, where one of these names is close to that which is wrong; else nothing.
pub fn meant<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest(wrong, names).map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

/// The name that differs least from a wrong one, where no more than every third letter does.
pub fn nearest<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wrong: Vec<char> = wrong.chars().take(NAME_MAX + 1).collect();
    let most = (wrong.len() / 3).max(1);
    let distances = names.into_iter().map(|name| (distance(&wrong, name), name));
    let close = distances.filter(|(distance, name)| *distance <= most && *distance < name.len());
    close.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Letters that are missing, too many, wrong, or swapped with the next one (optimal string
/// alignment).
fn distance(wrong: &[char], name: &str) -> usize {
    let name: Vec<char> = name.chars().take(NAME_MAX + 1).collect();
    let (mut before, mut last) = (vec![], (0..=name.len()).collect::<Vec<_>>());
    for (at, letter) in wrong.iter().enumerate() {
        let mut row = vec![at + 1];
        for (to, other) in name.iter().enumerate() {
            let mut least =
                (last[to] + usize::from(letter != other)).min(last[to + 1] + 1).min(row[to] + 1);
            if at > 0 && to > 0 && *letter == name[to - 1] && wrong[at - 1] == *other {
                least = least.min(before[to - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[name.len()]
}

/// What was given, as serde names it, in words.
fn given_in_words(given: &str) -> String {
    let between = |kind: &str| given.strip_prefix(kind)?.strip_prefix(" `")?.strip_suffix('`');
    if let Some(number) = between("integer").or(between("floating point")) {
        return format!("the number {number}");
    }
    if let Some(truth) = between("boolean") {
        return truth.to_owned();
    }
    if let Some(text) = given.strip_prefix("string ") {
        return format!("the text {text}");
    }
    match given {
        "sequence" => "a list".into(),
        "map" => "a table of keys and values".into(),
        "null" | "unit value" => "null".into(),
        other => other.to_owned(),
    }
}

/// What is wanted, likewise.
fn want(wanted: &str) -> &str {
    if wanted.starts_with("struct ") {
        return "a table of keys and values";
    }
    if wanted.starts_with("enum ") {
        return "text in quotes";
    }
    WANTED.iter().find(|(name, _)| *name == wanted).map_or(wanted, |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_serde_is_left() {
        for (said, plainly) in [
            (
                "invalid type: integer `3`, expected a sequence",
                "the number 3 is given where a list is wanted",
            ),
            (
                "invalid type: string \"two, expected x\", expected i64",
                "the text \"two, expected x\" is given where a whole number is wanted",
            ),
            (
                "invalid value: integer `70000`, expected u16 at line 1 column 21",
                "the number 70000 is given where a whole number from 0 to 65535 is wanted at line 1 column 21",
            ),
            (
                "invalid type: null, expected struct Change",
                "null is given where a table of keys and values is wanted",
            ),
            (
                "invalid type: boolean `true`, expected a string",
                "true is given where text in quotes is wanted",
            ),
            ("missing field `ports` at line 1 column 2", "`ports` is missing at line 1 column 2"),
            ("duplicate field `a`", "`a` is there twice"),
            (
                "unknown field `wrokers`, expected one of `listen`, `workers`",
                "there is no key `wrokers` here; did you mean `workers`? accepted: `listen`, `workers`",
            ),
            (
                "unknown field `x`, expected `listen` or `log`",
                "there is no key `x` here; accepted: `listen` or `log`",
            ),
            (
                "unknown field `x`, there are no fields",
                "there is no key `x` here; none is accepted",
            ),
            ("limit: invalid digit found in string", "limit: a whole number is wanted"),
            ("x: unknown field `x`, expected `y`", "x: there is no key `x` here; accepted: `y`"),
            (
                "Cannot parse `x` to a `u32`",
                "`x` is given where a whole number from 0 to 4294967295 is wanted",
            ),
            ("7 seconds; accepted are 8 to 9", "7 seconds; accepted are 8 to 9"),
        ] {
            assert_eq!(plain(said), plainly);
        }
    }

    #[test]
    fn a_slip_of_the_finger_is_understood_and_another_word_is_not() {
        let names = ["run", "switches", "weights", "flows", "static-flows", "hub"];
        for (wrong, name) in [
            ("swiches", Some("switches")),
            ("rn", Some("run")),
            ("rnu", Some("run")),
            ("flwos", Some("flows")),
            ("static-flow", Some("static-flows")),
            ("hubb", Some("hub")),
            ("frobnicate", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(wrong, names), name, "{wrong}");
        }
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, [long.as_str()]), Some(long.as_str()));
    }
}
