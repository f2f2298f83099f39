//! Tool calls that cannot be run: the model gets the reason, and tries again. None of them is an error of the turn.

use serde_json::Value;

use super::Tool;
use crate::conversation::ToolCall;
use crate::nearest::nearest;

/// A call as it came: its arguments are text.
pub(super) fn parse(id: String, name: String, arguments: &str, cut_off: bool) -> ToolCall {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let (input, malformed) = match serde_json::from_str(arguments) {
        Ok(input @ Value::Object(_)) => (input, None),
        Ok(_) => (Value::String(arguments.to_owned()), Some("they are JSON, but no object".to_owned())),
        Err(_) if cut_off => (Value::String(arguments.to_owned()), Some("the answer was as long as it may be, and they are cut off".to_owned())),
        Err(e) => (Value::String(arguments.to_owned()), Some(e.to_string())),
    };
    ToolCall { id, name, input, malformed }
}

/// What a call is answered with that cannot be run as it stands: its tool does not exist, or its arguments are no JSON
/// object. `None`: it can be tried.
pub fn refusal(call: &ToolCall, tools: &[Tool]) -> Option<String> {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let meant = nearest(&call.name, &names).map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        let problem = call.malformed.as_ref().map(|problem| format!(" Its arguments are no JSON object: {problem}.")).unwrap_or_default();
        return Some(format!("There is no tool {:?}{meant} The tools are: {}.{problem}", call.name, names.join(", ")));
    };
    call.malformed.as_ref().map(|problem| wrong_input(tool, &format!("they are no JSON object: {problem}")))
}

/// What a call is answered with whose arguments its tool does not take.
pub fn wrong_input(tool: &Tool, problem: &str) -> String {
    format!("{} was not run, for its arguments are wrong: {problem}. They must fit this schema: {}", tool.name, tool.schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_that_cannot_be_run_is_answered_with_the_reason() {
        let tools = [Tool { name: "read_file".into(), description: String::new(), schema: json!({ "type": "object" }) }];
        let refused = |name: &str, arguments: &str, cut_off| refusal(&parse("1".into(), name.into(), arguments, cut_off), &tools);
        assert_eq!(refused("read_file", "{\"path\":\"a\"}", false), None);
        assert_eq!(refused("read_file", " ", false), None);
        let cases = [
            ("readFile", "{}", false, "There is no tool \"readFile\"; did you mean \"read_file\"? The tools are: read_file."),
            ("read_file", "[1]", false, "they are JSON, but no object"),
            ("read_file", "{\"path\":", false, "EOF while parsing"),
            ("read_file", "{\"path\":", true, "cut off. They must fit this schema: {\"type\":\"object\"}"),
        ];
        for (name, arguments, cut_off, expected) in cases {
            let message = refused(name, arguments, cut_off).unwrap();
            assert!(message.contains(expected), "{message}");
        }
        let call = parse("1".into(), "x".into(), "nonsense", false);
        assert_eq!(call.object(), json!({ "malformed": "nonsense" }));
    }
}
