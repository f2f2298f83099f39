//! What a server offers and answers, in the words of this house. Whatever it says is data.

use std::collections::BTreeSet;

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use super::wire::Offered;
use crate::provider;

/// Longer names are refused by the APIs of models.
const LONGEST_NAME: usize = 64;
/// So many tools of one server are told; more would crowd out everything else.
const MOST_TOOLS: usize = 128;
/// So much of a description is told, in bytes.
const MOST_DESCRIPTION: usize = 4 << 10;
/// A tool whose schema is longer, in bytes, is left out.
const MOST_SCHEMA: usize = 64 << 10;

/// The tools of a server as a model is told of them, each with what the server itself calls it, and those that are left
/// out, with the reason.
pub(super) fn definitions(server: &str, offered: &[Offered], taken: &mut BTreeSet<String>) -> (Vec<(provider::Tool, Offered)>, Vec<String>) {
    let (mut told, mut left_out) = (Vec::new(), Vec::new());
    if offered.len() > MOST_TOOLS {
        left_out.push(format!("{} of its {} tools: {MOST_TOOLS} are told", offered.len() - MOST_TOOLS, offered.len()));
    }
    for tool in offered.iter().take(MOST_TOOLS) {
        let Some(schema) = schema(&tool.schema) else {
            left_out.push(format!("{:?}: its schema is no object's, or is longer than {MOST_SCHEMA} bytes", clean(&tool.name, 80)));
            continue;
        };
        let name = name(server, &tool.name, taken);
        taken.insert(name.clone());
        told.push((provider::Tool { name, description: clean(&tool.description, MOST_DESCRIPTION), schema }, tool.clone()));
    }
    (told, left_out)
}

/// `mcp__SERVER__TOOL`, as the APIs take it, and like none that is taken.
fn name(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "_-".contains(letter) { letter } else { '_' };
    let whole: String = format!("mcp__{server}__").chars().chain(tool.chars().take(LONGEST_NAME).map(plain)).take(LONGEST_NAME).collect();
    let numbered = |number: usize| {
        let end = format!("_{number}");
        whole.chars().take(LONGEST_NAME - end.len()).collect::<String>() + &end
    };
    std::iter::once(whole.clone()).chain((2..).map(numbered)).find(|name| !taken.contains(name)).unwrap_or(whole)
}

/// An object's schema, as the APIs want it.
fn schema(offered: &Value) -> Option<Value> {
    let mut schema = offered.as_object()?.clone();
    schema.remove("$schema");
    match schema.get("type") {
        None => drop(schema.insert("type".into(), json!("object"))),
        Some(of) => (of == "object").then_some(())?,
    }
    schema.entry("properties").or_insert_with(|| json!({}));
    let schema = Value::Object(schema);
    (schema.to_string().len() <= MOST_SCHEMA).then_some(schema)
}

/// Without what terminals and logs would act on, and not longer than that.
pub(super) fn clean(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default().chars().filter(|letter| !letter.is_control() || "\n\t".contains(*letter)).collect()
}

/// What a call came to: the words, and whether it has failed.
pub(super) fn result(result: &CallToolResult) -> (String, bool) {
    let mut parts: Vec<String> = result.content.iter().map(part).collect();
    // Servers that answer with data say it in words too, for those who do not know of it.
    if let Some(data) = result.structured_content.as_ref().filter(|_| !result.content.iter().any(|part| matches!(part, ContentBlock::Text(_)))) {
        parts.push(data.to_string());
    }
    let is_error = result.is_error.unwrap_or_default();
    match parts.is_empty() {
        true if is_error => ("It has failed, and says no more.".into(), true),
        true => ("It is done; it says no more.".into(), false),
        false => (parts.join("\n"), is_error),
    }
}

fn part(part: &ContentBlock) -> String {
    match part {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => not_shown("image", &image.data),
        ContentBlock::Audio(audio) => not_shown("audio", &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => format!("[{uri}: {}]", not_shown("data", blob).trim_matches(['[', ']'])),
            _ => "[a resource: not shown]".into(),
        },
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        _ => "[content of a kind that is not known here: not shown]".into(),
    }
}

/// Names content that a model is not shown; it comes as base64.
fn not_shown(what: &str, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    match bytes {
        0..1024 => format!("[{what}, {bytes} bytes: not shown]"),
        _ => format!("[{what}, {} KiB: not shown]", bytes.div_ceil(1024)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(name: &str, schema: Value) -> Offered {
        Offered { name: name.into(), description: "Does it.\u{1b}[31m\u{7}".into(), schema, only_reads: false }
    }

    fn names(tools: &[&str]) -> Vec<String> {
        let all: Vec<Offered> = tools.iter().map(|name| offered(name, json!({ "type": "object" }))).collect();
        definitions("web", &all, &mut BTreeSet::new()).0.into_iter().map(|(tool, _)| tool.name).collect()
    }

    #[test]
    fn names_are_plain_short_and_each_ones_own() {
        assert_eq!(names(&["open", "open page", "open.page", "open"]), ["mcp__web__open", "mcp__web__open_page", "mcp__web__open_page_2", "mcp__web__open_2"]);
        let long = "x".repeat(100);
        let two = names(&[&long, &long, "\u{202e}\n\"};rm"]);
        assert_eq!(two.iter().map(String::len).collect::<Vec<_>>(), [64, 64, 17]);
        assert!(two[0] != two[1] && two[1].ends_with("_2"), "{two:?}");
        assert!(two.concat().chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)), "{two:?}");
    }

    #[test]
    fn what_two_servers_offer_is_kept_apart() {
        let mut taken = BTreeSet::new();
        let one = definitions("a", &[offered("b__c", json!({}))], &mut taken).0;
        let other = definitions("a__b", &[offered("c", json!({}))], &mut taken).0;
        assert_eq!((one[0].0.name.as_str(), other[0].0.name.as_str()), ("mcp__a__b__c", "mcp__a__b__c_2"));
    }

    #[test]
    fn schemas_are_those_of_objects() {
        let all = [
            offered("bare", json!({ "$schema": "x" })),
            offered("list", json!({ "type": "array" })),
            offered("none", json!(null)),
            offered("vast", json!({ "type": "object", "description": "x".repeat(MOST_SCHEMA) })),
        ];
        let (told, left_out) = definitions("web", &all, &mut BTreeSet::new());
        assert_eq!((told.len(), left_out.len()), (1, 3), "{left_out:?}");
        assert_eq!(told[0].0.schema, json!({ "type": "object", "properties": {} }));
        assert_eq!(told[0].0.description, "Does it.[31m");
        let many = vec![offered("one", json!({})); MOST_TOOLS + 3];
        let (told, left_out) = definitions("web", &many, &mut BTreeSet::new());
        assert_eq!((told.len(), left_out.len()), (MOST_TOOLS, 1));
    }

    #[test]
    fn results_are_words() {
        let of = |value: Value| result(&serde_json::from_value(value).unwrap());
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(16 << 10) });
        let cases = [
            (json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }), ("a\nb", false)),
            (json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }), ("no", true)),
            (json!({ "content": [image] }), ("[image, 12 KiB: not shown]", false)),
            (json!({ "content": [{ "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }] }), ("[audio, 3 bytes: not shown]", false)),
            (json!({ "content": [], "structuredContent": { "a": 1 } }), ("{\"a\":1}", false)),
            (json!({ "content": [{ "type": "text", "text": "one" }], "structuredContent": { "a": 1 } }), ("one", false)),
            (json!({ "content": [{ "type": "resource", "resource": { "uri": "file:///a", "text": "in it" } }] }), ("[file:///a]\nin it", false)),
            (json!({ "content": [{ "type": "resource_link", "uri": "file:///b", "name": "b" }] }), ("[b: file:///b]", false)),
            (json!({ "content": [] }), ("It is done; it says no more.", false)),
            (json!({ "content": [], "isError": true }), ("It has failed, and says no more.", true)),
        ];
        for (value, (text, is_error)) in cases {
            assert_eq!(of(value), (text.to_owned(), is_error));
        }
    }
}
