//! `crew doctor` for people.

use super::escape::line;
use super::table::Shade;
use crate::health::{Finding, Level};

/// The findings in lines, those about one thing together, and at the end what it comes to.
pub(crate) fn lines(findings: &[Finding], colours: bool) -> Vec<String> {
    let mut lines: Vec<String> = findings.iter().map(|finding| told(finding, colours)).collect();
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    lines.push(match (count(Level::Problem), count(Level::Fixed)) {
        (0, 0) => "no problems".to_owned(),
        (0, fixed) => format!("{} put right", counted(fixed)),
        (left, 0) => counted(left),
        (left, fixed) => format!("{}, {} put right", counted(left), fixed),
    });
    lines
}

fn told(finding: &Finding, colours: bool) -> String {
    let (word, shade) = match finding.level {
        Level::Ok => ("ok", Shade::Ready),
        Level::Note => ("note", Shade::Quiet),
        Level::Problem => ("problem", Shade::Wrong),
        Level::Fixed => ("fixed", Shade::Active),
    };
    let place = match (&finding.file, &finding.task, finding.line, finding.column) {
        (Some(file), _, Some(line_number), Some(column)) => format!(" {}:{line_number}:{column}", line(file)),
        (Some(file), ..) => format!(" {}", line(file)),
        (None, Some(task), ..) => format!(" task {}", line(task.as_str())),
        (None, None, ..) => String::new(),
    };
    format!("{} {}{place}: {}", shade.paint(&format!("{word:<7}"), colours), finding.check, line(&finding.message))
}

fn counted(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        problems => format!("{problems} problems"),
    }
}
