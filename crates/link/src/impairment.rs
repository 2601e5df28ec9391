//! Boxes that act on a packet at once: they drop it, damage it, duplicate it or let it pass.
//!
//! Each kind is one file and one line in the list below. The name of the module is the kind.

mod chance;
mod factory;
pub mod gilbert_elliott;

pub use chance::VaryingProbability;
pub use factory::{Action, Factory, Impairment};

/// Declares the modules of the impairments and the configuration type.
macro_rules! registry {
    ($($variant:ident => $module:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// An impairment and its parameters, as written in a scenario: a table with a `kind`.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[schemars(inline)]
        #[allow(missing_docs, reason = "The schema takes the description of each kind from its parameters.")]
        pub enum ImpairmentConfig {
            $($variant($module::Params),)+
        }

        impl ImpairmentConfig {
            /// Every kind.
            pub const KINDS: &[&str] = &[$(stringify!($module)),+];

            /// The parameters.
            pub fn params(&self) -> &dyn Factory {
                match self {
                    $(Self::$variant(params) => params,)+
                }
            }

            /// The parameters, to change them.
            pub fn params_mut(&mut self) -> &mut dyn Factory {
                match self {
                    $(Self::$variant(params) => params,)+
                }
            }
        }
    };
}

registry! {
    Loss => loss,
    Corrupt => corrupt,
    Duplicate => duplicate,
    Outage => outage,
}
