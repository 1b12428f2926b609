//! Writes the struct and the `Tool` that a function becomes.
//!
//! Everything but the struct is inside a `const` block, so the attribute adds one name and works
//! wherever an item may stand, also inside a function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, Expr, FnArg, Ident, ItemFn, Lit, Meta, Pat, PatType, Type};

use crate::options::{Need, Options};

/// One parameter of the function.
struct Parameter {
    name: Ident,
    ty: Type,
    attributes: Vec<Attribute>,
}

/// Returns what stands in the place of the function.
pub(crate) fn write(options: &Options, mut function: ItemFn) -> syn::Result<TokenStream> {
    check(&function)?;
    let parameters = take_parameters(&mut function)?;
    let name = function.sig.ident.clone();
    let id = match &options.name {
        Some(given) => given.value(),
        None => name.to_string().trim_start_matches("r#").to_owned(),
    };
    let description = match &options.description {
        Some(given) => given.value(),
        None => doc(&function.attrs),
    };
    if description.trim().is_empty() {
        let text = "a model reads what the tool is for: write a doc comment, or `description = …`";
        return Err(Error::new(name.span(), text));
    }
    let needs = options
        .needs
        .iter()
        .map(|need| write_need(need, &parameters));
    let needs = needs.collect::<syn::Result<Vec<_>>>()?;
    let reads = options.reads.then(|| quote!(.reads()));

    let (docs, others): (Vec<_>, Vec<_>) = function
        .attrs
        .drain(..)
        .partition(|attribute| attribute.path().is_ident("doc"));
    function.attrs = others;
    let visibility = std::mem::replace(&mut function.vis, syn::parse_quote!(pub));
    function.sig.ident = format_ident!("call");
    let fields = parameters.iter().map(|parameter| {
        let Parameter {
            name,
            ty,
            attributes,
        } = parameter;
        quote!(#(#attributes)* #name: #ty)
    });
    let names: Vec<_> = parameters.iter().map(|it| &it.name).collect();
    let call_doc = format!("Calls the function of the tool `{id}`.");
    Ok(quote! {
        #(#docs)*
        #[expect(non_camel_case_types, reason = "it has the name of the function")]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #name;

        const _: () = {
            use ::offshoot::macro_support as support;

            #[derive(support::serde::Deserialize, support::schemars::JsonSchema)]
            #[serde(crate = "::offshoot::macro_support::serde", deny_unknown_fields)]
            #[schemars(crate = "::offshoot::macro_support::schemars")]
            struct Arguments {
                #(#fields),*
            }

            impl #name {
                #[doc = #call_doc]
                #function
            }

            static TOOL: ::std::sync::LazyLock<::offshoot::FnTool<Arguments>> =
                ::std::sync::LazyLock::new(|| {
                    ::offshoot::FnTool::typed(#id, #description, |arguments: Arguments| {
                        let Arguments { #(#names),* } = arguments;
                        #name::call(#(#names),*)
                    })
                    #reads
                    #(#needs)*
                });

            impl ::offshoot::Tool for #name {
                fn spec(&self) -> &support::ToolSpec {
                    TOOL.spec()
                }

                fn needs(
                    &self,
                    arguments: &::offshoot::RawJson,
                    place: &support::Place,
                ) -> ::std::result::Result<::std::vec::Vec<support::Need>, ::std::string::String>
                {
                    support::Tool::needs(&*TOOL, arguments, place)
                }

                fn run(
                    &self,
                    work: support::Work,
                ) -> support::BoxFuture<'static, support::Outcome> {
                    TOOL.run(work)
                }
            }
        };
    })
}

/// Refuses a function that cannot be a tool, where it stands.
fn check(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(Error::new(
            signature.fn_token.span,
            "a tool is an async function",
        ));
    }
    if !signature.generics.params.is_empty() {
        let text = "a tool has no generic parameters: a model could not choose them";
        return Err(Error::new_spanned(&signature.generics, text));
    }
    if matches!(signature.output, syn::ReturnType::Default) {
        let text = "a tool returns a `Result`: its answer, or an error that the model reads";
        return Err(Error::new(signature.ident.span(), text));
    }
    Ok(())
}

/// Returns the parameters, and takes off them the attributes that belong to the fields.
fn take_parameters(function: &mut ItemFn) -> syn::Result<Vec<Parameter>> {
    let inputs = function.sig.inputs.iter_mut();
    inputs
        .map(|input| match input {
            FnArg::Receiver(receiver) => {
                let text = "a tool is a free function: it has no `self`";
                Err(Error::new_spanned(receiver, text))
            }
            FnArg::Typed(PatType { attrs, pat, ty, .. }) => match pat.as_ref() {
                Pat::Ident(named) if named.subpat.is_none() && named.by_ref.is_none() => {
                    Ok(Parameter {
                        name: named.ident.clone(),
                        ty: ty.as_ref().clone(),
                        attributes: std::mem::take(attrs),
                    })
                }
                pattern => {
                    let text = "a parameter of a tool has a name: it is what a model writes";
                    Err(Error::new_spanned(pattern, text))
                }
            },
        })
        .collect()
}

fn write_need(need: &Need, parameters: &[Parameter]) -> syn::Result<TokenStream> {
    let Need {
        capability,
        parameter,
    } = need;
    if parameters.iter().all(|known| known.name != *parameter) {
        let text = format!("the function has no parameter `{parameter}`");
        return Err(Error::new(parameter.span(), text));
    }
    Ok(quote! {
        .needs(#capability, |arguments: &Arguments| {
            ::std::string::ToString::to_string(&arguments.#parameter)
        })
    })
}

/// Returns the text of doc comments, one line each, without the space that begins them.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        });
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned());
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
