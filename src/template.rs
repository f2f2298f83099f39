//! Templates of `crew add`: `{}` stands for a line of the input, `{/}` for its last path component.

/// Whether a text has a place for a line.
pub(crate) fn is_template(text: &str) -> bool {
    text.contains("{}") || text.contains("{/}")
}

/// The text with the line in its places, as it is.
pub(crate) fn fill(template: &str, line: &str) -> String {
    template.replace("{/}", base_name(line)).replace("{}", line)
}

/// A shell command with the line in its places, each as one quoted word, whatever quotes stand around them: nothing of
/// the line is ever read by the shell. `\{}` stays as it is.
pub(crate) fn fill_command(template: &str, line: &str) -> String {
    let mut out = String::with_capacity(template.len() + 2 * line.len());
    let mut inside: Vec<Inside> = Vec::new();
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        let place = [("{}", line), ("{/}", base_name(line))].into_iter().find_map(|(place, value)| Some((value, rest.strip_prefix(place)?)));
        if let Some((value, after)) = place {
            // Quotes around the place are closed before it and opened again after it.
            let around = match inside.last() {
                Some(Inside::Single) => "'",
                Some(Inside::Double) => "\"",
                Some(Inside::Parentheses) | None => "",
            };
            out.extend([around, &quote(value), around]);
            rest = after;
            continue;
        }
        let mut taken = c.len_utf8();
        match (inside.last(), c) {
            (Some(Inside::Single), '\'') | (Some(Inside::Double), '"') | (Some(Inside::Parentheses), ')') => drop(inside.pop()),
            (Some(Inside::Single), _) => {}
            (_, '\\') => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            // Within double quotes a substitution begins anew.
            (_, '$') if rest[1..].starts_with('(') => {
                inside.push(Inside::Parentheses);
                taken += 1;
            }
            (Some(Inside::Double), _) => {}
            (_, '\'') => inside.push(Inside::Single),
            (_, '"') => inside.push(Inside::Double),
            (_, '(') => inside.push(Inside::Parentheses),
            _ => {}
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// What the shell reads a place of a command in.
enum Inside {
    Single,
    Double,
    Parentheses,
}

/// A text as one word of a shell command.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn base_name(line: &str) -> &str {
    let trimmed = line.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        Some((_, name)) => name,
        None if trimmed.is_empty() => line,
        None => trimmed,
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // A shell says how it reads what was quoted for it.
mod tests {
    use super::*;

    #[test]
    fn plain_places_are_filled_as_they_are() {
        assert_eq!(fill("resize {/} of {}", "photos/a b.jpg"), "resize a b.jpg of photos/a b.jpg");
        for (line, name) in [("a", "a"), ("a/b/", "b"), ("/", "/"), ("/a", "a"), ("", "")] {
            assert_eq!(base_name(line), name, "{line}");
        }
        assert!(is_template("x {/}") && !is_template("awk '{print}'"));
    }

    /// What a shell makes of a command with a hostile line in it.
    fn shell_says(template: &str, line: &str) -> String {
        let command = fill_command(template, line);
        let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_line_is_one_word_wherever_its_place_is() {
        let hostile =
            ["plain", "a b", "it's", "\"double\"", "$(echo pwned)", "`echo pwned`", "$HOME", "a\\b", "; echo pwned", "-n", "*", "a\nb", "!x", ")", "("];
        for line in hostile {
            for template in [
                "printf %s {}",
                "printf %s '{}'",
                "printf %s \"{}\"",
                "printf %s \"$(printf %s {})\"",
                "(printf %s {})",
                "x=\"$(printf %s '{}')\"; printf %s \"$x\"",
            ] {
                assert_eq!(shell_says(template, line), line, "{template}");
            }
            assert_eq!(shell_says("printf '%s|' 'pre {} post' \"pre {} post\" pre{}post", line), format!("pre {line} post|pre {line} post|pre{line}post|"));
        }
        assert_eq!(shell_says("printf %s {/}", "a/it's"), "it's");
        assert_eq!(shell_says("printf %s \\{}", "x"), "{}");
        assert_eq!(shell_says("printf %s \\\"{}", "a b"), "\"a b");
    }
}
