//! Network cards that the sockets of a process go through.

use super::{Search, Use};
use crate::Root;
use crate::reader::Reader;
use firsttouch_linux::network::{Routes, Socket, Through, sockets};
use firsttouch_sorted::SortedSet;

impl Search<'_> {
    /// Adds the cards that the sockets go through.
    pub(super) fn sockets(&mut self) {
        let inode = |target: &str| target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
        let own: SortedSet<u64> = self.open.iter().filter_map(|(_, target)| inode(target)).collect();
        if own.is_empty() {
            return;
        }
        let (outer, process) = (self.reader, self.process.clone());
        let text = |name: &str| outer.text(&format!("{process}/net/{name}")).unwrap_or_default();
        let routes = Routes::parse(&text("route"), &text("ipv6_route"), &text("if_inet6"));
        // In another network namespace a name means another interface, which the process's own view of /sys shows.
        let namespace = |process: &str| outer.root.link_text(&format!("{process}/ns/net"));
        let is_foreign = namespace(&process).is_some_and(|own| Some(own) != namespace("proc/self"));
        let its_root = Root::at(outer.root.path().join(&process).join("root"));
        let its_reader = Reader::new(&its_root);
        let reader = if is_foreign { &its_reader } else { outer };
        for (table, words) in [("tcp", "port"), ("tcp6", "port"), ("udp", "UDP port"), ("udp6", "UDP port")] {
            for socket in sockets(&text(table)).iter().filter(|socket| own.contains(&socket.inode)) {
                self.socket(reader, &routes, socket, Use { what: describe(socket, words), bytes: None });
            }
        }
    }

    fn socket(&mut self, reader: &Reader<'_>, routes: &Routes, socket: &Socket, used: Use) {
        let card = |name: &str| reader.root.resolve(&format!("sys/class/net/{name}"));
        match routes.through(socket) {
            Through::Loopback => {}
            Through::Unknown => self.cannot_tell("no route is known that it goes by".to_owned(), used),
            Through::Interface(name) => match card(&name) {
                Some(folder) => self.add(reader, &folder, used),
                None => self.cannot_tell(format!("nothing is known of the interface {name}"), used),
            },
            // Of all interfaces those that are hardware: bridges to containers say nothing about this program.
            Through::Every => {
                for folder in routes.interfaces().iter().filter_map(|name| card(name)) {
                    if self.machine.near_folder(reader, "", &folder).is_ok() {
                        self.add(reader, &folder, used.clone());
                    }
                }
            }
        }
    }
}

fn describe(socket: &Socket, words: &str) -> String {
    let ((local, own_port), (remote, port)) = (socket.local, socket.remote);
    if !remote.is_unspecified() {
        format!("connection to {remote} {words} {port}")
    } else if local.is_unspecified() {
        format!("listening on {words} {own_port} of every interface")
    } else {
        format!("listening on {local} {words} {own_port}")
    }
}
