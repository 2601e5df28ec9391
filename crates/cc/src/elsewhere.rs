//! What a congestion control and its parameters are called in Linux, ns-3 and ns-2.

use bloatlab_params::{Description, Parameter};
use serde::Serialize;
use serde_json::{Map, Value};

/// The names of an algorithm in other systems.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Elsewhere {
    /// Linux, if it has the algorithm.
    pub linux: Option<Linux>,
    /// The `TypeId` in ns-3.
    pub ns3: Option<&'static str>,
    /// The agent in ns-2, with the name that `Agent/TCP/Linux` selects.
    pub ns2: Option<&'static str>,
}

/// An algorithm of Linux.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Linux {
    /// The name for `net.ipv4.tcp_congestion_control` and `TCP_CONGESTION`.
    pub name: &'static str,
    /// The kernel module. `None`: it is part of every kernel.
    pub module: Option<&'static str>,
    /// Parameters of the module that correspond to ours.
    pub parameters: &'static [LinuxParameter],
}

/// A parameter of a kernel module.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LinuxParameter {
    /// Our name.
    pub ours: &'static str,
    /// The name in Linux.
    pub name: &'static str,
    /// How a value of ours becomes one of Linux's.
    pub value: Conversion,
    /// Linux's default.
    pub default: u32,
}

/// How a value becomes one of Linux's, which are whole numbers.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversion {
    /// `true` is 1, `false` is 0.
    Flag,
    /// Times this factor, rounded.
    Times(f64),
    /// A duration in ms.
    Milliseconds,
    /// A share as the number of times that 1 is halved.
    Shift,
    /// One of these words.
    Words(&'static [(&'static str, u32)]),
}

impl Elsewhere {
    /// An algorithm that ns-3 alone has.
    pub const fn ns3(name: &'static str) -> Self {
        Self {
            linux: None,
            ns3: Some(name),
            ns2: None,
        }
    }
}

impl Linux {
    /// An algorithm of a module without parameters.
    pub const fn module(name: &'static str, module: &'static str) -> Self {
        Self {
            name,
            module: Some(module),
            parameters: &[],
        }
    }
}

impl LinuxParameter {
    /// A parameter with this conversion and default.
    pub const fn new(
        ours: &'static str,
        name: &'static str,
        value: Conversion,
        default: u32,
    ) -> Self {
        Self {
            ours,
            name,
            value,
            default,
        }
    }
}

impl Conversion {
    /// The value in Linux, or `None` if Linux cannot express it.
    fn of(self, value: &Value) -> Option<u32> {
        match self {
            Self::Flag => value.as_bool().map(u32::from),
            Self::Times(factor) => Some((value.as_f64()? * factor).round() as u32),
            Self::Milliseconds => {
                let duration: bloatlab_units::Duration = value.as_str()?.parse().ok()?;
                let whole = duration.0.is_multiple_of(bloatlab_units::MILLISECOND);
                whole.then_some((duration.0 / bloatlab_units::MILLISECOND) as u32)
            }
            Self::Shift => {
                let share = value.as_f64()?;
                (0..=10).find(|shift| share * f64::from(1_u32 << shift) == 1.0)
            }
            Self::Words(words) => {
                let given = value.as_str()?;
                words
                    .iter()
                    .find(|(word, _)| *word == given)
                    .map(|(_, number)| *number)
            }
        }
    }
}

/// An algorithm of Linux, with the parameters of its module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxAlgorithm {
    /// The name for `net.ipv4.tcp_congestion_control` and `TCP_CONGESTION`.
    pub name: &'static str,
    /// The kernel module. `None`: it is part of every kernel.
    pub module: Option<&'static str>,
    /// The parameters of the module that correspond to ours.
    pub parameters: Vec<ModuleParameter>,
}

/// The value of a parameter of a kernel module. It is the same for all connections of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleParameter {
    /// Our name.
    pub ours: &'static str,
    /// The file under `/sys` that holds the value.
    pub file: String,
    /// The value.
    pub value: u32,
    /// Linux's default.
    pub default: u32,
}

/// What an algorithm with these parameters is in Linux.
///
/// # Errors
/// `parameter: reason` if Linux has no counterpart of the algorithm or of a value.
pub(crate) fn linux(
    elsewhere: &Elsewhere,
    description: &Description,
    values: &Map<String, Value>,
) -> Result<LinuxAlgorithm, String> {
    let kind = description.kind;
    let Some(linux) = elsewhere.linux else {
        return Err(format!(
            "kind: Linux has no `{kind}`; choose an algorithm that it has"
        ));
    };
    let mut parameters = Vec::new();
    for parameter in &description.parameters {
        let value = &values[&parameter.name];
        parameters.extend(linux_parameter(&linux, parameter, value)?);
    }
    Ok(LinuxAlgorithm {
        name: linux.name,
        module: linux.module,
        parameters,
    })
}

impl LinuxAlgorithm {
    /// The commands that select it on a Linux host, one per line of a shell script.
    pub(crate) fn commands(&self) -> Vec<String> {
        let module = self.module.map(|module| format!("modprobe {module}"));
        let parameters = self.parameters.iter();
        let changed = parameters.filter(|parameter| parameter.value != parameter.default);
        let name = self.name;
        module
            .into_iter()
            .chain(
                changed.map(|parameter| format!("echo {} > {}", parameter.value, parameter.file)),
            )
            .chain([format!("sysctl -w net.ipv4.tcp_congestion_control={name}")])
            .collect()
    }
}

/// The value of one parameter, if the module has it.
fn linux_parameter(
    linux: &Linux,
    parameter: &Parameter,
    value: &Value,
) -> Result<Option<ModuleParameter>, String> {
    let name = &parameter.name;
    let known = linux.parameters.iter().find(|known| known.ours == *name);
    let found = known.and_then(|known| Some((known, known.value.of(value)?)));
    match (found, linux.module) {
        (Some((known, number)), Some(module)) => Ok(Some(ModuleParameter {
            ours: known.ours,
            file: format!("/sys/module/{module}/parameters/{}", known.name),
            value: number,
            default: known.default,
        })),
        (Some((known, number)), None) if number == known.default => Ok(None),
        // Linux's own way is the nearest to our default, and is a variant of some algorithms.
        _ if *value == parameter.default || *value == "linux" => Ok(None),
        _ => Err(format!(
            "{name}: Linux's `{}` has no setting for {value}; leave the default, {}",
            linux.name, parameter.default
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::{CcConfig, elsewhere};
    use serde_json::{Value, json};

    fn commands(cca: Value) -> Result<Vec<String>, String> {
        let cca: CcConfig = serde_json::from_value(cca).expect("a congestion control");
        cca.linux_commands()
    }

    #[test]
    fn values_are_converted_to_those_of_linux() {
        assert_eq!(
            commands(json!({
                "kind": "cubic", "c": 0.8, "beta": 0.8, "fast_convergence": false, "slow_start": "standard"
            }))
            .unwrap(),
            [
                "modprobe tcp_cubic",
                "echo 819 > /sys/module/tcp_cubic/parameters/beta",
                "echo 82 > /sys/module/tcp_cubic/parameters/bic_scale",
                "echo 0 > /sys/module/tcp_cubic/parameters/fast_convergence",
                "echo 0 > /sys/module/tcp_cubic/parameters/hystart",
                "sysctl -w net.ipv4.tcp_congestion_control=cubic",
            ]
        );
        assert_eq!(
            commands(json!({ "kind": "dctcp", "g": 0.125 })).unwrap()[1],
            "echo 3 > /sys/module/tcp_dctcp/parameters/dctcp_shift_g"
        );
        assert_eq!(
            commands(json!({ "kind": "hybla", "rtt0": "50ms" })).unwrap()[1],
            "echo 50 > /sys/module/tcp_hybla/parameters/rtt0"
        );
    }

    #[test]
    fn what_linux_lacks_is_refused_by_name() {
        for (cca, parameter) in [
            (json!("vivace"), "kind: Linux has no `vivace`"),
            (
                json!({ "kind": "bbr", "cwnd_gain": 3.0 }),
                "cwnd_gain: Linux's `bbr` has no setting for 3.0",
            ),
            (
                json!({ "kind": "dctcp", "g": 0.3 }),
                "g: Linux's `dctcp` has no setting for 0.3",
            ),
            (
                json!({ "kind": "hybla", "rtt0": "2500us" }),
                "rtt0: Linux's `hybla` has no setting",
            ),
            (json!({ "kind": "cubic", "variant": "linux" }), "nothing"),
        ] {
            match commands(cca) {
                Err(why) => assert!(why.starts_with(parameter), "{why}"),
                Ok(_) => assert_eq!(parameter, "nothing"),
            }
        }
    }

    #[test]
    fn defaults_are_linuxs_and_parameters_exist() {
        for config in CcConfig::all() {
            let (_, elsewhere) = elsewhere()
                .into_iter()
                .find(|(kind, _)| *kind == config.kind())
                .unwrap();
            let Some(linux) = elsewhere.linux else {
                continue;
            };
            let commands = config.linux_commands().unwrap();
            assert_eq!(
                commands.len(),
                1 + usize::from(linux.module.is_some()),
                "{commands:?}"
            );
            let values = serde_json::to_value(&config).unwrap();
            for parameter in linux.parameters {
                assert!(
                    values.get(parameter.ours).is_some(),
                    "{}: {}",
                    config.kind(),
                    parameter.ours
                );
            }
        }
    }
}
