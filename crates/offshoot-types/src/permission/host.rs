//! Hosts: the targets of `net.fetch`, and patterns of them.
//!
//! A pattern is a whole host (`example.com`), everything below one
//! (`*.example.com`, at any depth and not the domain itself), or `*`; a port at
//! its end is that port only. Names are compared part by part and not as text, so
//! `example.com` is neither `notexample.com` nor `example.com.evil.org`. Addresses
//! have one spelling. What is no host fits no pattern for sure.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::argv::Fit;
use super::pattern::Kind;

/// A pattern of hosts, taken apart.
#[derive(Clone, Debug)]
pub(super) struct HostPattern {
    /// In lower case, without a dot at its end; empty for any.
    name: String,
    reach: Reach,
    port: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Any,
    Below,
    Exactly,
}

impl HostPattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(super) fn of(pattern: &str) -> Result<Self, &'static str> {
        if pattern == "*" {
            return Ok(Self {
                name: String::new(),
                reach: Reach::Any,
                port: None,
            });
        }
        if pattern.contains("//") || pattern.contains('/') {
            return Err("a host is expected here, not an address: leave out what stands around it");
        }
        let (name, reach) = match pattern.strip_prefix("*.") {
            Some(name) => (name, Reach::Below),
            None => (pattern, Reach::Exactly),
        };
        if name.contains(['*', '?']) {
            return Err("in a host a star may only be its first part, as in `*.example.com`");
        }
        if !name.is_ascii() {
            return Err("a host is written in ASCII: `xn--…` where a name has other letters");
        }
        let host = Host::of(name).ok_or("it is not the name of a host")?;
        Ok(Self {
            name: host.name,
            reach,
            port: host.port,
        })
    }

    /// Tells how specific it is: the kind of match, and how much of the name it fixes.
    pub(super) fn weight(&self) -> (Kind, usize) {
        let kind = match self.reach {
            Reach::Any => Kind::Any,
            Reach::Below => Kind::Begins,
            Reach::Exactly => Kind::Exact,
        };
        // A port narrows further, whatever the name.
        (kind, self.name.len() * 2 + usize::from(self.port.is_some()))
    }

    /// Fits it to a target; what is no host may be any.
    pub(super) fn fit(&self, target: Option<&Host>) -> Option<Fit> {
        if self.reach == Reach::Any {
            return Some(Fit::Surely);
        }
        let Some(Host { name, port }) = target else {
            return Some(Fit::Maybe);
        };
        let fits = match self.reach {
            Reach::Any => true,
            Reach::Exactly => *name == self.name,
            Reach::Below => name
                .strip_suffix(self.name.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        };
        match (self.port, port) {
            _ if !fits => None,
            (None, _) => Some(Fit::Surely),
            // The tool did not say which: it may be this one.
            (Some(_), None) => Some(Fit::Maybe),
            (Some(own), Some(port)) => (own == *port).then_some(Fit::Surely),
        }
    }
}

/// A host, as a tool names it: a name or an address, and maybe a port.
#[derive(Clone, Debug)]
pub(super) struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// Reads a target; `None` if it is no host.
    pub(super) fn of(target: &str) -> Option<Self> {
        let (name, port) = match target.strip_prefix('[') {
            // An address of IPv6 has colons of its own, and so it has brackets.
            Some(rest) => {
                let (address, behind) = rest.split_once(']')?;
                match behind.strip_prefix(':') {
                    Some(port) => (address, Some(port)),
                    None => (address, behind.is_empty().then_some(None)?),
                }
            }
            None => match target.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (target, None),
            },
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let name = if target.starts_with('[') {
            // One address has many spellings, and may be one of IPv4 in the form of the other.
            let address: Ipv6Addr = name.parse().ok()?;
            address.to_canonical().to_string()
        } else {
            known(name)?
        };
        let port = match port {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            Some(_) => return None,
            None => None,
        };
        Some(Self { name, port })
    }
}

/// Returns a name, or an address of IPv4 in its one spelling. What only some take for an address, as
/// `127.1`, `0177.0.0.1` and `2130706433`, is `None`: it may be any.
fn known(name: String) -> Option<String> {
    let part = |part: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !part.is_empty() && part.chars().all(letter)
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        let address: Ipv4Addr = name.parse().ok()?;
        return Some(address.to_string());
    }
    name.split('.').all(part).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, target: &str, expected: Option<Fit>) {
        let fit = HostPattern::of(pattern)
            .unwrap()
            .fit(Host::of(target).as_ref());
        assert_eq!(fit, expected, "{pattern} for {target}");
    }

    #[test]
    fn a_host_is_that_host_and_no_other() {
        for same in [
            "example.com",
            "EXAMPLE.com",
            "example.com.",
            "example.com:80",
        ] {
            check("example.com", same, Some(Fit::Surely));
        }
        for other in [
            "notexample.com",
            "example.com.evil.org",
            "www.example.com",
            "example.co",
            "example-com",
        ] {
            check("example.com", other, None);
        }
    }

    #[test]
    fn a_star_is_everything_below_and_not_the_domain_itself() {
        check("*.example.com", "a.example.com", Some(Fit::Surely));
        check("*.example.com", "a.b.Example.com", Some(Fit::Surely));
        for other in [
            "example.com",
            "evilexample.com",
            "a.example.com.evil.org",
            "a.example.org",
        ] {
            check("*.example.com", other, None);
        }
        check("*", "anything.at.all", Some(Fit::Surely));
    }

    #[test]
    fn a_port_is_that_port_only() {
        check("example.com:8443", "example.com:8443", Some(Fit::Surely));
        check("example.com:8443", "example.com:443", None);
        check("example.com:8443", "example.com", Some(Fit::Maybe));
        check("[::1]:80", "[::1]:80", Some(Fit::Surely));
        check("[::1]", "[::1]:80", Some(Fit::Surely));
        check("127.0.0.1", "127.0.0.1", Some(Fit::Surely));
        check("127.0.0.1", "127.0.0.10", None);
    }

    #[test]
    fn an_address_is_the_same_however_it_is_written() {
        for same in ["[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]:80"] {
            check("[::1]", same, Some(Fit::Surely));
            check("[0::1]", same, Some(Fit::Surely));
        }
        for mapped in ["[::ffff:127.0.0.1]", "[::FFFF:7f00:1]:80", "127.0.0.1."] {
            check("127.0.0.1", mapped, Some(Fit::Surely));
        }
        for unclear in [
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.0.0.0x1",
        ] {
            check("127.0.0.1", unclear, Some(Fit::Maybe));
            assert!(HostPattern::of(unclear).is_err(), "{unclear}");
        }
        check("a.0x.org", "a.0x.org", Some(Fit::Surely));
    }

    #[test]
    fn what_is_no_host_fits_nothing_for_sure() {
        for trick in [
            "",
            "example.com@evil.org",
            "evil.org/example.com",
            "https://example.com",
            "example.com evil.org",
            "example.com\n",
            "example..com",
            "exämple.com",
            "example.com:80:90",
            "example.com:99999",
            "[::1",
            "[evil.org]",
            "[::1]x",
        ] {
            check("example.com", trick, Some(Fit::Maybe));
            check("*.example.com", trick, Some(Fit::Maybe));
            check("*", trick, Some(Fit::Surely));
        }
    }

    #[test]
    fn a_pattern_that_means_no_host_is_refused() {
        for wrong in [
            "https://example.com",
            "example.com/path",
            "ex*mple.com",
            "*example.com",
            "*.*.com",
            "exämple.com",
            "",
            "*.",
            "a b",
        ] {
            assert!(HostPattern::of(wrong).is_err(), "{wrong}");
        }
    }
}
