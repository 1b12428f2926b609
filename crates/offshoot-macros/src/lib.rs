//! The attribute that makes a tool of an async function.
//!
//! Use it as `offshoot::tool`: the code that it writes names the library `offshoot`. The parameters of
//! the function become the fields of a struct, whose JSON Schema is what a model is shown.

mod options;
mod tool;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

use options::Options;

/// Makes a tool of an async function that returns a `Result`.
///
/// The function becomes a unit struct of its name that implements `Tool`, so `builder.tool(lookup)`
/// offers it to agents. The function itself stays callable as `lookup::call(…)`.
///
/// * Its doc comment is the description that a model reads, and the doc comments of its parameters
///   describe these. A parameter of type `Option` may be left out of a call.
/// * A parameter implements `serde::Deserialize` and `schemars::JsonSchema`, the answer
///   `serde::Serialize`, the error `Display`. An error is an answer: the model reads its text.
/// * `reads` says that the tool changes nothing: its calls run side by side, and read-only agents have
///   it.
/// * `needs("net.fetch", url)` says that a call needs a permission for what the parameter `url` names.
///   It can be given more than once.
/// * `name = "…"` and `description = "…"` replace what the function says.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as Options);
    let function = parse_macro_input!(function as ItemFn);
    let written = tool::write(&options, function);
    written
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
