//! The tables of a file that have a line for a model: what it costs, how much it takes.
//!
//! Only models of a server are named here: a script says both of itself, and
//! `offline` costs nothing and takes everything.

use offshoot_types::caps::Price;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Reading, entries};
use crate::exit::Stop;

/// What the names of models begin with that are told of in a file.
const NAMED: &str = "openai-chat/";

/// What a price is made of; the first two have to be there.
const PRICE: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// How many tokens a model may be said to take.
const WINDOW: (u64, u64) = (1, 1_000_000_000);

impl Reading<'_> {
    /// Reads how many tokens conversations with models may have.
    pub(super) fn windows(&mut self, table: &DeTable<'_>) -> Result<(), Stop> {
        for (key, value) in entries(table) {
            let model = key.get_ref().as_ref();
            let name = format!("windows.\"{}\"", model.escape_debug());
            if model.strip_prefix(NAMED).is_none_or(str::is_empty) {
                let what = format!("`{name}` names no model whose window is set here");
                let way = "write \"openai-chat/NAME\" = TOKENS; a script says its window itself";
                return Err(self.page.fault(&what, &key.span(), Some(way)));
            }
            let window = self.count(&name, WINDOW, value)?;
            self.layer.windows.insert(model.to_owned(), window);
        }
        Ok(())
    }

    /// Reads what models cost.
    pub(super) fn prices(&mut self, table: &DeTable<'_>) -> Result<(), Stop> {
        for (key, value) in entries(table) {
            let model = key.get_ref().as_ref();
            let name = format!("prices.\"{}\"", model.escape_debug());
            if model.strip_prefix(NAMED).is_none_or(str::is_empty) {
                let what = format!("`{name}` names no model whose price is set here");
                let way = "write [prices.\"openai-chat/NAME\"]; a script says its price itself";
                return Err(self.page.fault(&what, &key.span(), Some(way)));
            }
            let price = self.price(&name, self.table(&name, value)?, value)?;
            let price = self.sourced(price, value);
            self.layer.prices.insert(model.to_owned(), price);
        }
        Ok(())
    }

    fn price(
        &self,
        name: &str,
        table: &DeTable<'_>,
        at: &Spanned<DeValue<'_>>,
    ) -> Result<Price, Stop> {
        let mut amounts = [None; 4];
        for (key, value) in entries(table) {
            let found = PRICE.iter().position(|known| known == key.get_ref());
            let Some(place) = found else {
                let what = format!("unknown key `{name}.{}`", key.get_ref().escape_debug());
                let way = format!("there are: {}", PRICE.join(", "));
                return Err(self.page.fault(&what, &key.span(), Some(&way)));
            };
            let amount = self.amount(&format!("{name}.{}", PRICE[place]), value)?;
            amounts[place] = Some(amount);
        }
        let [input, output, cache_read, cache_write] = amounts;
        let (Some(input), Some(output)) = (input, output) else {
            let what = format!("`{name}` needs `input` and `output`");
            return Err(self.page.fault(&what, &at.span(), None));
        };
        let price = Price {
            input,
            output,
            cache_read,
            cache_write,
        };
        if !price.is_sound() {
            let what = format!("`{name}` is not made of amounts of dollars");
            return Err(self.page.fault(&what, &at.span(), None));
        }
        Ok(price)
    }
}
