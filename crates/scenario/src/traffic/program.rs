//! Programs as senders of data: what the kinds of traffic that start them have in common.

use super::load::Load;

/// The programs of a flow. They run on real hosts, so only an engine in real time can start them.
///
/// `$BLOATLAB_SERVER` in an argument is replaced by the address of the host that sends the data, `$BLOATLAB_SECONDS` by the time that the flow lasts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// The program of the host that sends the data, with its arguments; empty: there is none. It starts first.
    pub server: Vec<String>,
    /// The program of the host that receives the data, with its arguments.
    pub client: Vec<String>,
    /// The client prints a line for each page that it has fetched: the time that it took, in seconds.
    pub reports_fetches: bool,
    /// The document's author chose the programs, so they run only with the user's permission.
    pub needs_permission: bool,
}

/// What programs put on the network costs no simulation: they run in real time.
pub(super) fn load() -> Load {
    Load::default()
}

/// A command line of words.
pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
