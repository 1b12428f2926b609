//! What is written in the brackets of the attribute.
//!
//! Each option counts once, except `needs`. An unknown one is refused where it stands.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitStr, Token, parenthesized};

/// The options of one tool.
#[derive(Default)]
pub(crate) struct Options {
    /// The tool only looks.
    pub(crate) reads: bool,
    /// Its id, where that is not the name of the function.
    pub(crate) name: Option<LitStr>,
    /// Its description, where that is not the doc comment.
    pub(crate) description: Option<LitStr>,
    /// The permissions that a call needs.
    pub(crate) needs: Vec<Need>,
}

/// A permission that a call needs.
pub(crate) struct Need {
    pub(crate) capability: LitStr,
    /// The parameter that names the target.
    pub(crate) parameter: Ident,
}

enum Setting {
    Reads,
    Name(LitStr),
    Description(LitStr),
    Needs(Need),
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        let parsed = Punctuated::<(Ident, Setting), Token![,]>::parse_terminated_with(input, one)?;
        for (key, option) in parsed {
            let is_second = match option {
                Setting::Reads => std::mem::replace(&mut options.reads, true),
                Setting::Name(text) => options.name.replace(text).is_some(),
                Setting::Description(text) => options.description.replace(text).is_some(),
                Setting::Needs(need) => {
                    options.needs.push(need);
                    false
                }
            };
            if is_second {
                return Err(Error::new(key.span(), format!("`{key}` is given twice")));
            }
        }
        Ok(options)
    }
}

fn one(input: ParseStream<'_>) -> syn::Result<(Ident, Setting)> {
    let key: Ident = input.parse()?;
    let text = |input: ParseStream<'_>| {
        input.parse::<Token![=]>()?;
        input.parse::<LitStr>()
    };
    let option = match key.to_string().as_str() {
        "reads" => Setting::Reads,
        "name" => Setting::Name(text(input)?),
        "description" => Setting::Description(text(input)?),
        "needs" => {
            let inner;
            parenthesized!(inner in input);
            let capability = inner.parse()?;
            inner.parse::<Token![,]>()?;
            let parameter = inner.parse()?;
            Setting::Needs(Need {
                capability,
                parameter,
            })
        }
        _ => {
            let known = "known are reads, name, description, needs";
            let text = format!("unknown option `{key}`; {known}");
            return Err(Error::new(key.span(), text));
        }
    };
    Ok((key, option))
}
