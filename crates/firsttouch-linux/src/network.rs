//! The network of a process as `/proc/PID/net` shows it: its sockets and, by the routes, the interfaces they use.
//!
//! The files show the network namespace of the process. Addresses are printed there in the byte order of the machine,
//! which is little-endian wherever we run, but for `if_inet6` and `ipv6_route`. Routes other than those of the main table
//! (policy routing) are not shown and not known here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A socket of the tables `tcp`, `tcp6`, `udp`, `udp6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its number, by which `/proc/PID/fd` names it: `socket:[4711]`.
    pub inode: u64,
    /// Address and port on this side; the unspecified address is every one.
    pub local: (IpAddr, u16),
    /// Address and port on the other side; unspecified where there is none.
    pub remote: (IpAddr, u16),
}

/// Reads one of the tables; lines that are none of a socket are passed over.
///
/// ```
/// use firsttouch_linux::network::sockets;
/// let line = "   0: 020200C0:0016 010200C0:D431 01 00000000:00000000 02:0000 00000000     0        0 1049 2";
/// let socket = sockets(line)[0];
/// assert_eq!((socket.local.0.to_string(), socket.local.1), ("192.0.2.2".to_owned(), 22));
/// assert_eq!(socket.inode, 1049);
/// ```
pub fn sockets(table: &str) -> Vec<Socket> {
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(Socket {
            local: end_point(words.get(1)?)?,
            remote: end_point(words.get(2)?)?,
            inode: words.get(9)?.parse().ok()?,
        })
    };
    table.lines().filter_map(socket).collect()
}

fn end_point(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let address: IpAddr = match address.len() {
        8 => Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.to_le_bytes()).into(),
        32 => {
            let mut bytes = [0; 16];
            for (index, word) in bytes.chunks_exact_mut(4).enumerate() {
                let text = address.get(index * 8..index * 8 + 8)?;
                word.copy_from_slice(&u32::from_str_radix(text, 16).ok()?.to_le_bytes());
            }
            // A socket for both families speaks to the older one by addresses of the newer.
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

/// What a socket goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Through {
    /// Nothing: both ends are on this machine.
    Loopback,
    /// This interface.
    Interface(String),
    /// Whatever the packets come by: it is bound to no address.
    Every,
    /// No route that is known leads there.
    Unknown,
}

/// Addresses and routes of a network namespace.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    v4: Vec<Route>,
    v6: Vec<Route>,
    addresses: Vec<(Ipv6Addr, String)>,
}

#[derive(Clone, Debug)]
struct Route {
    network: IpAddr,
    prefix: u32,
    metric: u32,
    /// Reached without a gateway: the interface has an address of this network.
    direct: bool,
    interface: String,
}

impl Routes {
    /// Reads the texts of `route`, `ipv6_route` and `if_inet6`; lines that do not read are passed over.
    pub fn parse(route: &str, ipv6_route: &str, if_inet6: &str) -> Routes {
        Routes {
            v4: route.lines().filter_map(v4_route).collect(),
            v6: ipv6_route.lines().filter_map(v6_route).collect(),
            addresses: if_inet6.lines().filter_map(v6_address).collect(),
        }
    }

    /// The interfaces that there are routes by, without the loopback, by name.
    pub fn interfaces(&self) -> Vec<String> {
        let named = self.v4.iter().chain(&self.v6).map(|route| &route.interface);
        let mut names: Vec<String> = named
            .chain(self.addresses.iter().map(|(_, name)| name))
            .filter(|name| *name != "lo")
            .cloned()
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What a socket goes through, by its own address, which is that of an interface, or else by the way to the other
    /// end.
    pub fn through(&self, socket: &Socket) -> Through {
        let (local, remote) = (socket.local.0, socket.remote.0);
        if local.is_loopback() || remote.is_loopback() || local == remote && !local.is_unspecified() {
            return Through::Loopback;
        }
        if local.is_unspecified() && remote.is_unspecified() {
            return Through::Every;
        }
        let own = match local {
            IpAddr::V4(_) => self.best(local, true),
            IpAddr::V6(own) => {
                self.addresses.iter().find(|(address, _)| *address == own).map(|(_, name)| name.as_str())
            }
        };
        let found = own.or_else(|| if remote.is_unspecified() { None } else { self.best(remote, false) });
        match found {
            Some("lo") => Through::Loopback,
            Some(name) => Through::Interface(name.to_owned()),
            None => Through::Unknown,
        }
    }

    /// The interface of the narrowest route that an address lies in; of several, that of the least metric.
    fn best(&self, address: IpAddr, direct: bool) -> Option<&str> {
        let routes = if address.is_ipv4() { &self.v4 } else { &self.v6 };
        let fitting = routes.iter().filter(|route| {
            (!direct || route.direct && route.prefix > 0) && shares(route.network, address, route.prefix)
        });
        let best = fitting.min_by_key(|route| (std::cmp::Reverse(route.prefix), route.metric))?;
        Some(&best.interface)
    }
}

/// Whether two addresses of one family begin with the same `prefix` bits.
fn shares(network: IpAddr, address: IpAddr, prefix: u32) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (network.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            (network.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
        }
        _ => false,
    }
}

/// Flags of a route (`RTF_…`): it is in use, it goes by a gateway, it refuses.
const UP: u32 = 1;
const GATEWAY: u32 = 2;
const REJECT: u32 = 0x200;

fn v4_route(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let address =
        |index: usize| Some(Ipv4Addr::from(u32::from_str_radix(words.get(index)?, 16).ok()?.to_le_bytes()));
    let flags = u32::from_str_radix(words.get(3)?, 16).ok()?;
    let is_usable = flags & UP != 0 && flags & REJECT == 0;
    is_usable.then_some(())?;
    Some(Route {
        network: address(1)?.into(),
        prefix: address(7)?.to_bits().leading_ones(),
        metric: words.get(6)?.parse().ok()?,
        direct: flags & GATEWAY == 0,
        interface: (*words.first()?).to_owned(),
    })
}

fn v6_route(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let flags = u32::from_str_radix(words.get(8)?, 16).ok()?;
    let is_usable = flags & UP != 0 && flags & REJECT == 0;
    is_usable.then_some(())?;
    Some(Route {
        network: Ipv6Addr::from(u128::from_str_radix(words.first()?, 16).ok()?).into(),
        prefix: u32::from_str_radix(words.get(1)?, 16).ok().filter(|prefix| *prefix <= 128)?,
        metric: u32::from_str_radix(words.get(5)?, 16).ok()?,
        direct: flags & GATEWAY == 0,
        interface: (*words.get(9)?).to_owned(),
    })
}

fn v6_address(line: &str) -> Option<(Ipv6Addr, String)> {
    let mut words = line.split_ascii_whitespace();
    let address = u128::from_str_radix(words.next()?, 16).ok()?;
    Some((Ipv6Addr::from(address), words.nth(4)?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROUTE: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
ib0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
tun0\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
dead\t0003000A\t00000000\t0200\t0\t0\t0\t00FFFFFF\t0\t0\t0
";
    const ROUTE_6: &str = "\
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eth0
";
    const ADDRESSES_6: &str = "\
00000000000000000000000000000001 01 80 10 80       lo
fd000000000000000000000000000002 04 40 00 82     eth1
";

    fn through(local: &str, remote: &str) -> Through {
        let end = |address: &str| (address.parse().unwrap(), 1);
        let socket = Socket { inode: 1, local: end(local), remote: end(remote) };
        Routes::parse(ROUTE, ROUTE_6, ADDRESSES_6).through(&socket)
    }

    #[test]
    fn sockets_go_by_their_own_address_first() {
        let by = |name: &str| Through::Interface(name.to_owned());
        assert_eq!(through("192.0.2.2", "203.0.113.9"), by("eth0"));
        assert_eq!(through("10.1.2.3", "203.0.113.9"), by("ib0"), "the address is that of a card");
        assert_eq!(through("10.0.2.3", "0.0.0.0"), by("tun0"), "the narrowest network");
        assert_eq!(through("10.0.3.3", "0.0.0.0"), by("ib0"), "a route that refuses is none");
        assert_eq!(through("198.51.100.7", "203.0.113.9"), by("eth0"), "by the way to the other end");
        assert_eq!(through("198.51.100.7", "0.0.0.0"), Through::Unknown);
        assert_eq!(through("fd00::2", "fd00::9"), by("eth1"));
        assert_eq!(through("2001:db8::1", "2001:db8::2"), by("eth0"));
        for (local, remote) in
            [("127.0.0.1", "127.0.0.1"), ("10.1.2.3", "10.1.2.3"), ("::1", "::"), ("::1", "::1")]
        {
            assert_eq!(through(local, remote), Through::Loopback, "{local} {remote}");
        }
        for unspecified in ["0.0.0.0", "::"] {
            assert_eq!(through(unspecified, unspecified), Through::Every);
        }
        let names = Routes::parse(ROUTE, ROUTE_6, ADDRESSES_6).interfaces();
        assert_eq!(names, ["eth0", "eth1", "ib0", "tun0", "wlan0"]);
    }

    #[test]
    fn both_families_read() {
        let table = "  sl  local_address                         remote_address                        st …\n   \
            0: 0000000000000000FFFF0000020200C0:1F90 0000000000000000FFFF0000010200C0:D431 01 0:0 00:0 0 0 0 77 1\n   \
            1: B80D0120000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 78 1\n";
        let read = sockets(table);
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].local, ("192.0.2.2".parse().unwrap(), 8080));
        assert_eq!(read[1].local, ("2001:db8::1".parse().unwrap(), 22));
        assert!(read[1].remote.0.is_unspecified());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(
            table in "( {0,3}[0-9]: ([0-9A-F]{8}|[0-9A-F]{0,33}):[0-9A-F]{0,5}( [0-9A-F:]{0,33}){0,9}\n?){0,3}|.{0,60}",
            route in "([a-z0-9]{1,5}(\t[0-9A-F]{0,9}){0,11}\n){0,3}|.{0,60}",
            route_6 in "([0-9a-f]{0,33}( [0-9a-f]{0,33}){0,8} eth0\n){0,3}|.{0,60}",
        ) {
            let routes = Routes::parse(&route, &route_6, &route_6);
            for socket in sockets(&table) {
                let _ = routes.through(&socket);
            }
        }
    }
}
