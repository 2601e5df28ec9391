//! Attributes and structures as netlink writes them.

use netlink_packet_core::NLA_HEADER_SIZE;

/// An attribute within the options, padded to whole words.
pub(super) fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = NLA_HEADER_SIZE + value.len();
    let mut bytes = Vec::with_capacity(length.next_multiple_of(4));
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The value of an attribute within the options.
pub(super) fn attribute(options: &[u8], kind: u16) -> Option<Vec<u8>> {
    netlink_packet_core::NlasIterator::new(options)
        .flatten()
        .find(|nla| nla.kind() == kind)
        .map(|nla| nla.value().to_vec())
}

/// Four bytes of a structure.
pub(super) fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}
