//! Tools for models that were not made to call them: told in words, and called by an answer that can be nothing but one
//! object `{"tool": NAME, "input": {…}}`, since the server makes it fit a schema.

use serde_json::{Value, json};

use super::super::{Tool, call};
use super::{result_text, texts};
use crate::conversation::{Message, Role, ToolCall};
use crate::opening::indented;

/// What a call is named whose tool cannot be told.
const UNREADABLE: &str = "unreadable";

/// The standing instructions with the tools in them.
pub(super) fn system(instructions: &str, tools: &[Tool]) -> String {
    let tools: Vec<String> = tools.iter().map(|tool| format!("- {}: {}\n  input: {}", tool.name, tool.description, tool.schema)).collect();
    let how = "Answer with one JSON object and nothing else: {\"tool\": NAME, \"input\": OBJECT}. It calls a tool; its result comes with the next message. \
               The tools, each with the schema of its input:";
    [instructions, how, &tools.join("\n")].iter().filter(|part| !part.trim().is_empty()).copied().collect::<Vec<_>>().join("\n\n")
}

/// The request, whose answer must fit one of the tools. The order within counts, and a [`Value`] keeps none: the model
/// writes in the order of the schema, and has to name the tool before it can know what to put in.
pub(super) fn with_format(body: &Value, tools: &[Tool]) -> String {
    let of = |tool: &Tool| {
        let name = json!({ "type": "string", "const": tool.name });
        let properties = format!("{{\"tool\":{name},\"input\":{}}}", tool.schema);
        format!("{{\"type\":\"object\",\"properties\":{properties},\"required\":[\"tool\",\"input\"],\"additionalProperties\":false}}")
    };
    // A choice of one is none, and some servers cannot do it.
    let schema = match tools {
        [tool] => of(tool),
        tools => format!("{{\"anyOf\":[{}]}}", tools.iter().map(of).collect::<Vec<_>>().join(",")),
    };
    let format = format!("{{\"type\":\"json_schema\",\"json_schema\":{{\"name\":\"call\",\"schema\":{schema}}}}}");
    let body = body.to_string();
    format!("{},\"response_format\":{format}}}", body.strip_suffix('}').unwrap_or(&body))
}

/// A message as such a model knows it: its calls are what it said, and their results are what the user says.
pub(super) fn message(message: &Message) -> Value {
    let text = texts(message);
    let (role, parts): (_, Vec<String>) = match message.role {
        Role::User => ("user", message.results().map(|result| format!("Result:\n{}", indented(&result_text(result)))).chain([text]).collect()),
        Role::Assistant => ("assistant", [text].into_iter().chain(message.calls().map(said)).collect()),
    };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    json!({ "role": role, "content": parts.join("\n\n") })
}

fn said(call: &ToolCall) -> String {
    match (&call.malformed, &call.input) {
        (Some(_), Value::String(raw)) => raw.clone(),
        _ => format!("{{\"tool\":{},\"input\":{}}}", json!(call.name), call.input),
    }
}

/// The call that an answer is.
pub(super) fn read(answer: &str, cut_off: bool) -> ToolCall {
    // The server's name for the answer may be the same each time; the conversation makes it another one then.
    let whole = call::parse("call".to_owned(), UNREADABLE.to_owned(), answer.trim(), cut_off);
    let problem = |problem: &str| ToolCall { input: Value::String(answer.to_owned()), malformed: Some(problem.to_owned()), ..whole.clone() };
    if whole.malformed.is_some() {
        return whole;
    }
    let Some(name) = whole.input.get("tool").and_then(Value::as_str) else { return problem("\"tool\" does not name one") };
    match whole.input.get("input") {
        Some(input @ Value::Object(_)) => ToolCall { name: name.to_owned(), input: input.clone(), ..whole },
        _ => problem("\"input\" is no object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_named_before_its_input() {
        let tool = |name: &str| Tool { name: name.into(), description: String::new(), schema: json!({ "type": "object" }) };
        let text = with_format(&json!({ "model": "m" }), &[tool("a"), tool("b\"")]);
        assert!(text.starts_with("{\"model\":\"m\",\"response_format\":{"), "{text}");
        assert!(text.contains("\"properties\":{\"tool\":{\"const\":\"b\\\"\",\"type\":\"string\"},\"input\":{\"type\":\"object\"}}"), "{text}");
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }
}
