//! Any program.

use bloatlab_tcp::TcpConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::load::{Bounds, Load};
use super::program::{self, Programs};
use crate::check::rules::{Check, fail};

/// Any program, and a server for it if it needs one. Only engines in real time run it, and only if the user allows it.
///
/// Both are lists of words: the program and its arguments, without a shell. In an argument, `$BLOATLAB_SERVER` stands for the address of the server,
/// and `$BLOATLAB_SECONDS` for the time from the start of the flow to its stop. When the flow stops, both programs are ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The program of the host that receives the data.
    pub client: Vec<String>,
    /// The program of the host that sends the data. It starts first.
    #[serde(default)]
    pub server: Vec<String>,
}

impl Kind for Params {
    fn check(&self, path: &str, _tcp: &TcpConfig) -> Check {
        if self.client.first().is_none_or(String::is_empty) {
            return fail(format!("{path}.client"), "must name a program".to_owned());
        }
        let names = [("client", &self.client), ("server", &self.server)];
        let unusable = names
            .into_iter()
            .find(|(_, words)| words.iter().any(|word| word.contains('\0')));
        match unusable {
            Some((key, _)) => fail(
                format!("{path}.{key}"),
                "must not contain a null character".to_owned(),
            ),
            None => Ok(()),
        }
    }

    fn load(&self, _bounds: &Bounds) -> Load {
        program::load()
    }

    fn is_program() -> bool {
        true
    }

    fn programs(&self, _cca: &str) -> Option<Programs> {
        Some(Programs {
            server: self.server.clone(),
            client: self.client.clone(),
            needs_permission: true,
            ..Programs::default()
        })
    }
}
