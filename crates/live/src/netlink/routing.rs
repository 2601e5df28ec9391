//! Routes that depend on the device by which a packet came.

use std::io;
use std::net::Ipv4Addr;

use netlink_packet_route::route::{RouteAttribute, RouteHeader, RouteScope};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::links::route;
use super::{NEW, Netlink, doing};

impl Netlink {
    /// Lets packets that come by this device look for their route in `table`.
    ///
    /// # Errors
    /// The kernel has no routing by rules.
    pub fn add_rule(&mut self, device: &str, table: u32) -> io::Result<()> {
        let mut message = RuleMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![
            RuleAttribute::Iifname(device.to_owned()),
            RuleAttribute::Table(table),
        ];
        let result = self.request(RouteNetlinkMessage::NewRule(message), NEW);
        doing(|| format!("adding a rule for the device {device}"), result)
    }

    /// Adds routes to single hosts: table, host, and the index of the device that leads to it.
    ///
    /// # Errors
    /// There is no such device, or there is such a route.
    pub fn add_host_routes(
        &mut self,
        routes: impl IntoIterator<Item = (u32, Ipv4Addr, u32)>,
    ) -> io::Result<()> {
        let messages = routes.into_iter().map(|(table, host, device)| {
            let mut message = route(device, host, 32);
            message.header.table = RouteHeader::RT_TABLE_UNSPEC;
            message.header.scope = RouteScope::Link;
            message.attributes.push(RouteAttribute::Table(table));
            RouteNetlinkMessage::NewRoute(message)
        });
        let result = self.requests(messages, NEW);
        doing(|| String::from("adding routes to hosts"), result)
    }
}
