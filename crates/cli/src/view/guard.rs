//! Who may talk to the server: its own page, and programs on purpose. Not a web page from elsewhere.
//!
//! A page from elsewhere can make a browser connect to this server; the browser then says where the page is from
//! (`Origin`). And a name that is made to point at this machine brings the page's own name along (`Host`). So the host
//! must be an address or `localhost`, and the origin, if there is one, the server itself. Programs that are no
//! browsers need not send an origin.

use axum::http::{HeaderMap, header};
use std::net::{IpAddr, Ipv6Addr};

/// What is accepted.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The port of the server.
    pub port: u16,
    /// Whether it was told to listen to others than this machine.
    pub open: bool,
}

impl Guard {
    /// Why a request is refused, if it is.
    pub fn refusal(&self, headers: &HeaderMap) -> Option<&'static str> {
        let Some(host) = single(headers, header::HOST) else {
            return Some("a request without one Host is refused");
        };
        if !self.is_own(host) {
            return Some(
                "this Host is refused: the page is at the address that linkwork printed, in numbers and not by a name",
            );
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = single(headers, header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
            if origin != Some(host) {
                return Some("this Origin is refused: only the page of this server may drive it");
            }
        }
        None
    }

    /// Whether a host is an address that this server has, with its port.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            // the colons of an address without a port are in brackets
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.port) {
            return false;
        }
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let address = match bare {
            Some(bare) => bare.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => name.parse().ok().filter(IpAddr::is_ipv4),
        };
        address.is_some_and(|address| self.open || address.is_loopback())
    }
}

fn single(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(open: bool, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        Guard { port: 8080, open }.refusal(&headers).is_some()
    }

    #[test]
    fn the_own_page_and_programs_are_let_in() {
        for host in ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"] {
            assert!(!is_refused(false, host, None), "{host}");
            assert!(!is_refused(false, host, Some(&format!("http://{host}"))), "{host}");
        }
        assert!(!is_refused(true, "192.168.1.7:8080", Some("http://192.168.1.7:8080")));
    }

    #[test]
    fn pages_from_elsewhere_are_not() {
        for host in [
            "example.org:8080",
            "127.0.0.1",
            "127.0.0.1:81",
            "localhost.example.org:8080",
            "192.168.1.7:8080",
            "",
            ":8080",
            "[::1]",
            "::1:8080",
            "[127.0.0.1]:8080",
            "127.0.0.1:8080:8080",
            "127.0.0.1:99999",
        ] {
            assert!(is_refused(false, host, None), "{host}");
        }
        let own = "127.0.0.1:8080";
        for origin in [
            "http://example.org",
            "null",
            "https://127.0.0.1:8080",
            "http://127.0.0.1",
            "http://localhost:8080",
            "file://",
        ] {
            assert!(is_refused(false, own, Some(origin)), "{origin}");
        }
        // a name stays refused when the server listens to others
        assert!(is_refused(true, "example.org:8080", Some("http://example.org:8080")));
    }

    #[test]
    fn two_hosts_are_no_host() {
        let mut headers = HeaderMap::new();
        assert!(Guard { port: 80, open: false }.refusal(&headers).is_some());
        headers.append(header::HOST, "127.0.0.1".parse().unwrap());
        assert!(Guard { port: 80, open: false }.refusal(&headers).is_none());
        headers.append(header::HOST, "example.org".parse().unwrap());
        assert!(Guard { port: 80, open: false }.refusal(&headers).is_some());
    }
}
