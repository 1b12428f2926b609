//! The model that would be asked, and whether it can be.
//!
//! A server is called and hung up on: no request is made and no key is sent.

use std::collections::BTreeSet;
use std::time::Duration;

use offshoot_types::tier::Tier;
use tokio::net::TcpStream;

use super::Finding;
use crate::assemble::{self, Models};
use crate::config::{HeaderSetting, Provider, Settings, Sourced};

/// How long a server may take to pick up.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let what = "model";
    let model = &settings.model;
    let mut findings = vec![loadable(what, model, settings)];
    for tier in Tier::ALL {
        let what = match tier {
            Tier::Small => "small model",
            Tier::Standard => "standard model",
            Tier::Large => "large model",
        };
        findings.push(match settings.tiers.get(&tier) {
            Some(model) => loadable(what, model, settings),
            None => Finding::ok(what, unmapped(tier, &model.value)),
        });
    }
    let child = settings.child_model.as_ref();
    findings.extend(child.map(|model| loadable("child model", model, settings)));
    let chosen = settings.tiers.values().chain([model]).chain(child);
    let used = chosen.filter_map(|model| Some(model.value.split_once('/')?.0));
    let used: BTreeSet<&str> = used.collect();
    for (name, provider) in &settings.providers {
        if !used.contains(name.as_str()) {
            continue;
        }
        let address = address(&provider.base_url.value);
        let host = address.as_ref().map(|(host, _)| host.clone()).ok();
        findings.push(match address {
            Ok((host, port)) => call(provider, &host, port).await,
            Err(why) => Finding::fail("model server", format!("{}: {why}", place(provider))),
        });
        findings.extend(key(provider, host.as_deref()));
    }
    findings
}

fn loadable(what: &'static str, model: &Sourced<String>, settings: &Settings) -> Finding {
    let name = assemble::chosen(model, settings);
    match name.and_then(|name| Models::load(&name, settings)) {
        Ok(_) => Finding::ok(what, format!("{}, {}", model.value, model.source.phrase())),
        Err(stop) => Finding::fail(what, stop.to_string()),
    }
}

/// Says what agents of a tier get that is not mapped.
fn unmapped(tier: Tier, model: &str) -> String {
    match tier {
        Tier::Small if assemble::is_offline(model) => "offline, as the model is".to_owned(),
        Tier::Small => "not set: sessions get no title, agents of this tier get `child_model`, \
                        else their parent's model"
            .to_owned(),
        Tier::Standard => format!("not set: the session's model, {model}"),
        Tier::Large => {
            "not set: agents of this tier get `child_model`, else their parent's model".to_owned()
        }
    }
}

/// Calls the server and hangs up.
async fn call(provider: &Provider, host: &str, port: u16) -> Finding {
    let what = "model server";
    let place = place(provider);
    let called = tokio::time::timeout(PATIENCE, TcpStream::connect((host, port))).await;
    match called {
        Ok(Ok(_)) => Finding::ok(what, format!("{place}, answers")),
        Ok(Err(error)) => Finding::fail(what, format!("{place}: connect: {error}")),
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            Finding::fail(what, format!("{place}: no answer within {seconds} s"))
        }
    }
}

/// Says where the server is and who says so, without what is secret of it.
fn place(provider: &Provider) -> String {
    let Sourced { value, source } = &provider.base_url;
    let address = offshoot_models::public_address(value);
    format!("{address}, {}", source.phrase())
}

/// Says whether the key and the secret headers are there; `None` for a server that takes none.
fn key(provider: &Provider, host: Option<&str>) -> Option<Finding> {
    let what = "model key";
    let mut headers = provider.headers.values();
    let unset = headers.find_map(|header| match &header.value {
        HeaderSetting::Variable(name) => (!provider.header_keys.contains_key(name)).then_some(name),
        HeaderSetting::Text(_) => None,
    });
    if let Some(name) = unset {
        return Some(Finding::fail(what, format!("{name} is not set")));
    }
    let name = &provider.api_key_env.as_ref()?.value;
    Some(match &provider.key {
        Some(key) if key.expose().chars().all(|letter| letter.is_ascii_graphic()) => {
            Finding::ok(what, format!("{name} is set"))
        }
        Some(_) => Finding::fail(
            what,
            format!("{name} holds characters that no key has; is all of it the key?"),
        ),
        None if host == Some("api.openai.com") => Finding::fail(what, format!("{name} is not set")),
        None => Finding::warn(
            what,
            format!("{name} is not set, which is right only for a server that needs no key"),
        ),
    })
}

/// Returns the host and the port of an address.
fn address(url: &str) -> Result<(String, u16), &'static str> {
    let (rest, usual) = match url.split_once("://") {
        Some(("http", rest)) => (rest, 80),
        Some(("https", rest)) => (rest, 443),
        Some(_) | None => return Err("it has to begin with http:// or https://"),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("a name or a password in an address is not used; put the key into a variable");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => return Err("its [ is not closed"),
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err("it names no host");
    }
    let port = match port {
        Some(port) => port.parse().map_err(|_| "its port is not a number")?,
        None => usual,
    };
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_browsers_do() {
        let ok = |url: &str| address(url).unwrap();
        let at = |host: &str, port| (host.to_owned(), port);
        assert_eq!(ok("https://api.openai.com/v1"), at("api.openai.com", 443));
        assert_eq!(ok("http://localhost:11434/v1/"), at("localhost", 11434));
        assert_eq!(ok("http://[::1]:8080"), at("::1", 8080));
        assert_eq!(ok("http://[::1]/v1"), at("::1", 80));
        assert_eq!(ok("https://host?x=1"), at("host", 443));
    }

    #[test]
    fn what_is_no_address_is_said_to_be_none() {
        for url in [
            "",
            "localhost:8080",
            "ftp://host",
            "http://",
            "http://:80",
            "http://host:port",
            "http://host:99999",
            "http://[::1",
            "http://user:word@host/",
        ] {
            assert!(address(url).is_err(), "{url}");
        }
    }
}
