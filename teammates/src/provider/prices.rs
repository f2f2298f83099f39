//! What calls cost, by a table that a person wrote. None is invented: without its price the cost of a call is not known.

use std::collections::BTreeMap;

use toml::Table;

use super::Usage;
use crate::nearest::nearest;

/// What models cost, by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Price {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

/// Why a table of prices cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("config.toml: [prices.{model:?}]: {problem}")]
pub struct PriceError {
    model: String,
    problem: String,
}

const KEYS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];

impl Prices {
    /// Those of `[prices.MODEL]`: `input`, `output`, `cacheRead`, `cacheWrite`, each in US dollars for a million tokens.
    pub fn of(tables: &BTreeMap<String, Table>) -> Result<Prices, PriceError> {
        let of = |(model, table): (&String, &Table)| {
            let price = Price::of(table).map_err(|problem| PriceError { model: model.clone(), problem })?;
            Ok((model.clone(), price))
        };
        tables.iter().map(of).collect::<Result<_, _>>().map(Prices)
    }

    /// What a call cost, in US dollars. `None`: something in it has no price.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        let price = self.0.get(model)?;
        let parts = [(usage.input, price.input), (usage.output, price.output), (usage.cache_read, price.cache_read), (usage.cache_write, price.cache_write)];
        parts.iter().try_fold(0.0, |sum, (tokens, price)| match (tokens, price) {
            (0, _) => Some(sum),
            (tokens, Some(price)) => Some(sum + dollars(*tokens, *price)),
            _ => None,
        })
    }
}

#[allow(clippy::cast_precision_loss)] // exact up to 2^53 tokens
fn dollars(tokens: u64, price: f64) -> f64 {
    tokens as f64 * price / 1e6
}

impl Price {
    fn of(table: &Table) -> Result<Price, String> {
        let mut price = Price::default();
        for (key, value) in table {
            let place = match key.as_str() {
                "input" => &mut price.input,
                "output" => &mut price.output,
                "cacheRead" => &mut price.cache_read,
                "cacheWrite" => &mut price.cache_write,
                _ => {
                    let meant = nearest(key, &KEYS).unwrap_or_default();
                    return Err(format!("unknown key {key:?}: did you mean {meant:?}?"));
                }
            };
            #[allow(clippy::cast_precision_loss)] // exact up to 2^53 dollars
            let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
            *place = Some(
                number
                    .filter(|number| number.is_finite() && *number >= 0.0)
                    .ok_or_else(|| format!("{key:?} is no price: it is a number of US dollars that is not negative"))?,
            );
        }
        Ok(price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Prices, PriceError> {
        Prices::of(&BTreeMap::from([("large".to_owned(), text.parse().unwrap())]))
    }

    #[test]
    fn a_cost_is_known_where_all_its_parts_are() {
        let prices = of("input = 3\noutput = 15.0\ncacheRead = 0.3").unwrap();
        let usage = Usage { input: 1_000_000, output: 100_000, cache_read: 2_000_000, cache_write: 0 };
        let cost = prices.cost("large", &usage).unwrap();
        assert!((cost - 5.1).abs() < 1e-9, "{cost}");
        assert_eq!(prices.cost("large", &Usage { cache_write: 1, ..usage }), None);
        assert_eq!(prices.cost("small", &usage), None);
        assert_eq!(prices.cost("large", &Usage::default()), Some(0.0));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for (text, expected) in [
            ("cache_read = 1", "unknown key \"cache_read\": did you mean \"cacheRead\"?"),
            ("input = -1", "\"input\" is no price"),
            ("output = \"1\"", "\"output\" is no price"),
            ("output = nan", "\"output\" is no price"),
        ] {
            let message = of(text).unwrap_err().to_string();
            assert!(message.starts_with("config.toml: [prices.\"large\"]: ") && message.contains(expected), "{message}");
        }
    }
}
