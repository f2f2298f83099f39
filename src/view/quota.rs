//! What was asked of models, as a table.

use board::ledger::Sum;
use serde_json::Value;

use super::escape;
use super::table::{self, Line, Shade};

/// One line a sum and one for all of them. `by`: what the sums are of; `None`: there is only the one for all.
pub(crate) fn table(by: Option<&str>, sums: &[(String, Sum)], total: &Sum, width: Option<u16>, colours: bool) -> Vec<String> {
    let of = by.unwrap_or_default().to_uppercase();
    let header = [of.as_str(), "CALLS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "USD", "SECONDS"];
    let rows = sums.iter().map(|(of, sum)| (escape::line(of).into_owned(), sum, Shade::Plain));
    let last = ("all".to_owned(), total, if sums.is_empty() { Shade::Plain } else { Shade::Quiet });
    let rows = rows.chain([last]).map(|(of, sum, shade)| Line { cells: [vec![of], cells(sum)].concat(), shade });
    table::lay_out(&header, rows.collect(), width, colours)
}

/// The numbers for a script, without the crumbs that adding up in binary leaves.
pub(crate) fn json(sum: &Sum) -> Value {
    let usd = sum.usd.map(|usd| (usd * 1e9).round() / 1e9);
    serde_json::json!(Sum { usd, ..*sum })
}

fn cells(sum: &Sum) -> Vec<String> {
    let usd = match (sum.usd, sum.unpriced) {
        (None, _) => "-".to_owned(),
        (Some(usd), 0) => format!("{usd:.4}"),
        // Some calls have no price: it is at least this much.
        (Some(usd), _) => format!("{usd:.4}+"),
    };
    let numbers = [sum.calls, sum.input_tokens, sum.output_tokens, sum.cache_read, sum.cache_write].map(|number| number.to_string());
    [numbers.to_vec(), vec![usd, format!("{:.1}", std::time::Duration::from_millis(sum.ms).as_secs_f64())]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_and_one_for_all() {
        let priced = Sum { calls: 2, input_tokens: 10, usd: Some(0.1 + 0.2), ms: 1500, ..Sum::default() };
        let partly = Sum { unpriced: 1, ..priced };
        let lines = table(Some("teammate"), &[("a\nb".into(), priced), ("-".into(), Sum::default())], &partly, None, false);
        let words: Vec<Vec<&str>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0][..2], ["TEAMMATE", "CALLS"]);
        assert_eq!(words[1], ["a\\nb", "2", "10", "0", "0", "0", "0.3000", "1.5"]);
        assert_eq!(words[2], ["-", "0", "0", "0", "0", "0", "-", "0.0"]);
        assert_eq!(words[3], ["all", "2", "10", "0", "0", "0", "0.3000+", "1.5"]);
        assert_eq!(json(&priced)["usd"].to_string(), "0.3");
        assert!(json(&Sum::default()).get("usd").is_none());
    }
}
