//! Bodies as clients of Ryu write them: JSON, or a literal of Python.
//!
//! Ryu reads bodies with `ast.literal_eval`, so that scripts send what `str(dict)` gives as well as
//! what `json.dumps` does: `{'dpid': 1, 'match': {'dl_type': 0x800}, 'actions': (),}`. Both are
//! read here into the same values. Outside of texts, a `#` begins a comment, to the end of its
//! line. What Python would read otherwise than it was meant is refused: a key that is there twice.

use std::iter::Peekable;
use std::str::CharIndices;

use serde_json::{Map, Number, Value};

use crate::limits::{DEPTH_MAX, VALUES_MAX};

/// Reads one value, and nothing behind it.
///
/// # Errors
/// What is wrong, and where: in characters from 1.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = LiteralReader { text, chars: text.char_indices().peekable(), values: 0 };
    let value = reader.value(0)?;
    match reader.next_token() {
        None => Ok(value),
        Some(_) => Err(reader.wrong("there is more behind the end")),
    }
}

struct LiteralReader<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    /// How many were begun.
    values: usize,
}

impl<'a> LiteralReader<'a> {
    fn wrong(&mut self, what: &str) -> String {
        let at = self.at();
        format!("{what}, at character {}", self.text[..at].chars().count() + 1)
    }

    /// The place of the next character, in bytes.
    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    /// The next character that is no space and in no comment, left where it is.
    fn next_token(&mut self) -> Option<char> {
        loop {
            while self.chars.next_if(|(_, c)| c.is_ascii_whitespace()).is_some() {}
            let (_, next) = *self.chars.peek()?;
            if next != '#' {
                return Some(next);
            }
            while self.chars.next_if(|(_, c)| !matches!(c, '\n' | '\r')).is_some() {}
        }
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.next_token() == Some(wanted) && self.chars.next().is_some()
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth >= DEPTH_MAX {
            return Err(self.wrong("nested too deep"));
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(self.wrong(&format!("more than {VALUES_MAX} values")));
        }
        match self.next_token() {
            Some('{') => self.dict(depth),
            Some('[') => self.list(']', depth),
            Some('(') => self.list(')', depth),
            Some(quote @ ('\'' | '"')) => self.text(quote).map(Value::String),
            Some(c) if c.is_ascii_digit() || c == '-' || c == '+' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.word(),
            Some(_) => Err(self.wrong("no value begins like this")),
            None => Err(self.wrong("it ends too early")),
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Value, String> {
        self.chars.next();
        let mut map = Map::new();
        loop {
            if self.takes('}') {
                return Ok(Value::Object(map));
            }
            let key = match self.value(depth + 1)? {
                Value::String(key) => key,
                Value::Number(key) => key.to_string(),
                _ => return Err(self.wrong("a key has to be text")),
            };
            if !self.takes(':') {
                return Err(self.wrong("a colon is missing"));
            }
            let value = self.value(depth + 1)?;
            if map.contains_key(&key) {
                return Err(self.wrong("the key of this is there twice"));
            }
            map.insert(key, value);
            if !self.takes(',') && self.next_token() != Some('}') {
                return Err(self.wrong("a comma or a closing brace is missing"));
            }
        }
    }

    fn list(&mut self, end: char, depth: usize) -> Result<Value, String> {
        self.chars.next();
        let mut all = vec![];
        loop {
            if self.takes(end) {
                return Ok(Value::Array(all));
            }
            all.push(self.value(depth + 1)?);
            if !self.takes(',') && self.next_token() != Some(end) {
                return Err(self.wrong("a comma or a closing bracket is missing"));
            }
        }
    }

    fn text(&mut self, quote: char) -> Result<String, String> {
        self.chars.next();
        let mut text = String::new();
        loop {
            match self.chars.next() {
                Some((_, c)) if c == quote => return Ok(text),
                Some((_, '\\')) => text.extend(self.escaped()?),
                Some((_, c)) => text.push(c),
                None => return Err(self.wrong("a text does not end")),
            }
        }
    }

    /// What a backslash and what follows it stand for.
    fn escaped(&mut self) -> Result<Option<char>, String> {
        let Some((_, c)) = self.chars.next() else {
            return Err(self.wrong("a text does not end"));
        };
        Ok(Some(match c {
            '\n' => return Ok(None),
            '\\' | '\'' | '"' | '/' => c,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            _ => return Err(self.wrong("this is no escape")),
        }))
    }

    fn code(&mut self, digits: usize) -> Result<char, String> {
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.chars.next().and_then(|(_, c)| c.to_digit(16));
            let Some(digit) = digit else { return Err(self.wrong("a digit is missing")) };
            code = code * 16 + digit;
        }
        char::from_u32(code).ok_or_else(|| self.wrong("this is no character"))
    }

    /// Letters, digits and what else stands in numbers and names.
    fn run(&mut self) -> &'a str {
        let from = self.at();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
        while self.chars.next_if(|(_, c)| is_part(*c)).is_some() {}
        let to = self.at();
        &self.text[from..to]
    }

    fn number(&mut self) -> Result<Value, String> {
        let run = self.run();
        let digits = run.trim_start_matches(['+', '-']);
        let radix = |prefixes: [&str; 2]| prefixes.iter().find_map(|p| digits.strip_prefix(p));
        let whole = [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)];
        let based = whole.iter().find_map(|(prefixes, base)| Some((radix(*prefixes)?, *base)));
        let number = match based {
            Some((digits, base)) if run.len() == digits.len() + 2 => {
                u64::from_str_radix(digits, base).ok().map(Number::from)
            }
            Some(_) => None,
            None => run.parse::<u64>().map(Number::from).ok().or_else(|| signed(run)),
        };
        number.map(Value::Number).ok_or_else(|| self.wrong("this is no number that is read here"))
    }

    fn word(&mut self) -> Result<Value, String> {
        let run = self.run();
        let quote = self.chars.peek().map(|(_, c)| *c).filter(|c| matches!(c, '\'' | '"'));
        match (run, quote) {
            ("b" | "u", Some(quote)) => self.text(quote).map(Value::String),
            ("true" | "True", _) => Ok(Value::Bool(true)),
            ("false" | "False", _) => Ok(Value::Bool(false)),
            ("null" | "None", _) => Ok(Value::Null),
            _ => Err(self.wrong("a name stands where a value has to be")),
        }
    }
}

/// A number below zero, or one with a fraction.
fn signed(run: &str) -> Option<Number> {
    run.parse::<i64>().map(Number::from).ok().or_else(|| {
        let fraction = run.contains(['.', 'e', 'E']).then(|| run.parse::<f64>().ok())??;
        Number::from_f64(fraction)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literals_of_python_and_json_are_read_alike() {
        let python = "{'dpid': 1, 'cookie': 0x10, \"match\": {'dl_type': 2048, 'nw_src': u'10.0.0.1'},\n \
                      'actions': [{'type': 'OUTPUT', 'port': 2,},], 'none': None, 'yes': True, 'both': (1, 'a')}";
        let value = parse(python).unwrap();
        let expected = json!({
            "dpid": 1, "cookie": 16, "match": {"dl_type": 2048, "nw_src": "10.0.0.1"},
            "actions": [{"type": "OUTPUT", "port": 2}], "none": null, "yes": true, "both": [1, "a"],
        });
        assert_eq!(value, expected);
        assert_eq!(parse(&expected.to_string()), Ok(expected));
        assert_eq!(parse(r#" "a\n\u00e9\x41\'" "#), Ok(json!("a\né\u{41}'")));
        assert_eq!(parse("-1"), Ok(json!(-1)));
        assert_eq!(parse("6.76e+08"), Ok(json!(676_000_000.0)));
        assert_eq!(parse("18446744073709551615"), Ok(json!(u64::MAX)));
    }

    #[test]
    fn comments_are_passed_over_and_texts_stay_whole() {
        let python = "# a flow\n{ # the switch, by its \"number\"\n 'dpid': 1, # {\r\n 'name': 'a # b', \"n\": \"#\"# , }\n \
                      , 'actions': [ # none }\n ], 'both': 0x10# sixteen\r}\n# the end";
        let expected = json!({"dpid": 1, "name": "a # b", "n": "#", "actions": [], "both": 16});
        assert_eq!(parse(python), Ok(expected));
        assert_eq!(parse("'a\\# b'").unwrap_err(), "this is no escape, at character 5");
        assert_eq!(parse("# alone").unwrap_err(), "it ends too early, at character 8");
        assert_eq!(parse("{'a': # 1}").unwrap_err(), "it ends too early, at character 11");
        assert_eq!(
            parse(&"#".repeat(1 << 20)),
            Err("it ends too early, at character 1048577".into())
        );
    }

    #[test]
    fn what_is_neither_is_refused_with_its_place() {
        for (text, words) in [
            ("", "it ends too early, at character 1"),
            ("{", "it ends too early"),
            ("{'a' 1}", "a colon is missing, at character 6"),
            ("{'a': 1 'b': 2}", "a comma or a closing brace"),
            ("{'a': 1, 'a': 2}", "there twice"),
            ("{[]: 1}", "a key has to be text"),
            ("[1 2]", "a comma or a closing bracket"),
            ("'a", "does not end"),
            ("'\\", "does not end"),
            ("'\\q'", "no escape"),
            ("'\\ud800'", "no character"),
            ("__import__('os')", "no value begins like this"),
            ("open('x')", "a name stands"),
            ("1 1", "more behind the end"),
            ("18446744073709551616", "no number"),
            ("0x", "no number"),
            ("0x-1", "no number"),
            ("1_0", "no number"),
            ("nan", "a name"),
            ("1e999", "no number"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.contains(words), "{text}: {wrong}");
        }
        assert!(parse(&"[".repeat(1 << 20)).unwrap_err().contains("too deep"));
        assert!(parse(&format!("[{}]", "0,".repeat(VALUES_MAX - 1))).is_ok());
        assert!(parse(&"[0,".repeat(8)).is_err());
        let many = parse(&format!("[{}]", "0,".repeat(VALUES_MAX))).unwrap_err();
        assert_eq!(many, "more than 10000 values, at character 20000");
        assert!(parse(&"{'a':".repeat(1 << 16)).unwrap_err().contains("too deep"));
    }
}
