//! The macro that declares the generators of values over time by name.

/// Declares the modules of the generators, and how a value, a delay and a rate may vary.
macro_rules! registry {
    (
        any: { $($(#[$any_doc:meta])* $any:ident => $any_module:ident),+ $(,)? }
        delay: { $($(#[$delay_doc:meta])* $delay:ident => $delay_module:ident),+ $(,)? }
        rate: { $($(#[$rate_doc:meta])* $rate:ident => $rate_module:ident),+ $(,)? }
    ) => {
        $(pub mod $any_module;)+
        $(pub mod $delay_module;)+
        $(pub mod $rate_module;)+

        /// How a value changes over time.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case", bound = "Q: Quantity")]
        #[schemars(bound = "Q: Quantity", rename = "{Q}Variation")]
        pub enum Variation<Q> {
            $($(#[$any_doc])* $any($any_module::Params<Q>),)+
        }

        impl<Q: Quantity> Variation<Q> {
            fn factory(&self) -> &dyn factory::Factory {
                match self {
                    $(Self::$any(params) => params,)+
                }
            }
        }

        /// How a delay changes over time.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[schemars(rename = "DurationVariation")]
        pub enum DelayVariation {
            $($(#[$any_doc])* $any($any_module::Params<bloatlab_units::Duration>),)+
            $($(#[$delay_doc])* $delay($delay_module::Params),)+
        }

        impl DelayVariation {
            fn factory(&self) -> &dyn factory::Factory {
                match self {
                    $(Self::$any(params) => params,)+
                    $(Self::$delay(params) => params,)+
                }
            }
        }

        /// How a rate changes over time.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum RateVariation {
            $($(#[$any_doc])* $any($any_module::Params<bloatlab_units::Rate>),)+
            /// Deliveries at random.
            Poisson(poisson::Params),
            /// Deliveries from a trace.
            Mahimahi(mahimahi::Params),
            /// Rates from a file.
            File(rate_file::Params),
            $($(#[$rate_doc])* $rate($rate_module::Params),)+
        }

        /// A generator of rates.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "The variants are those of `RateVariation`.")]
        pub enum RateSource {
            $($any($any_module::Params<bloatlab_units::Rate>),)+
            $($rate($rate_module::Params),)+
        }

        impl RateSource {
            fn factory(&self) -> &dyn factory::Factory {
                match self {
                    $(Self::$any(params) => params,)+
                    $(Self::$rate(params) => params,)+
                }
            }
        }

        impl RateVariation {
            /// Refuses values out of range, as `parameter: reason`. Reads the file that it names, and stores its digest.
            ///
            /// # Errors
            /// The first parameter that is out of range, or a file that holds no trace.
            pub fn load(&mut self, files: &dyn Files) -> Result<LoadedRate, String> {
                let source = match self {
                    $(Self::$any(params) => RateSource::$any(params.clone()),)+
                    $(Self::$rate(params) => RateSource::$rate(params.clone()),)+
                    Self::Poisson(params) => return Ok(LoadedRate::Poisson(params.clone())),
                    Self::Mahimahi(params) => return params.read(files).map(LoadedRate::Trace),
                    Self::File(params) => return params.read(files).map(LoadedRate::Timeline),
                };
                source.factory().validate()?;
                Ok(LoadedRate::Source(source))
            }

            /// The file that it names, if it names one.
            pub fn file(&self) -> Option<&str> {
                match self {
                    Self::Mahimahi(params) => params.file.as_deref(),
                    Self::File(params) => Some(&params.file),
                    _ => None,
                }
            }
        }
    };
}
