//! Why this machine does not allow the namespaces that a run needs.

use std::fs;
use std::io;

use serde::Serialize;

use super::{has_capabilities, scratch};

/// Why something cannot be done, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// Why it cannot be done.
    pub why: String,
    /// What to do.
    pub advice: String,
}

/// Settings of kernels that forbid namespaces, each with its forbidding value, what it means, and what to do.
const SETTINGS: [(&str, &str, &str, &str); 4] = [
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "only root may make user namespaces here (kernel.unprivileged_userns_clone is 0)",
        "run as root, or let root set `sysctl -w kernel.unprivileged_userns_clone=1`",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "user namespaces are turned off (user.max_user_namespaces is 0)",
        "run as root, or let root set `sysctl -w user.max_user_namespaces=10000`",
    ),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)",
        "run as root, or let root set `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or give Python an AppArmor profile with `userns`",
    ),
    (
        "user/max_net_namespaces",
        "0",
        "network namespaces are turned off (user.max_net_namespaces is 0)",
        "let root set `sysctl -w user.max_net_namespaces=10000`",
    ),
];

/// Why a run in namespaces is not possible, found out by trying it. `None`: it is possible.
pub fn obstacle() -> Option<Obstacle> {
    let error = scratch(Vec::new).err()?;
    Some(explain(&error, |setting| {
        fs::read_to_string(format!("/proc/sys/{setting}")).ok()
    }))
}

fn explain(error: &io::Error, setting: impl Fn(&str) -> Option<String>) -> Obstacle {
    let is_root = has_capabilities().unwrap_or(false);
    for (name, forbidding, why, advice) in SETTINGS {
        let is_for_users = !name.ends_with("net_namespaces");
        let found = setting(name).is_some_and(|value| value.trim() == forbidding);
        if found && !(is_for_users && is_root) {
            return Obstacle {
                why: why.to_owned(),
                advice: advice.to_owned(),
            };
        }
    }
    let (what, advice) = match is_root {
        true => (
            "network namespaces",
            "check that the kernel has CONFIG_NET_NS, and that no container forbids `unshare`",
        ),
        false => (
            "user and network namespaces",
            "run as root; in a container, add the capabilities NET_ADMIN, NET_RAW and SYS_ADMIN and a seccomp profile that allows `unshare`",
        ),
    };
    Obstacle {
        why: format!("the kernel refuses {what} ({error})"),
        advice: advice.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_obstacle_says_what_to_do() {
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        let net_off = explain(&error, |name| {
            (name == "user/max_net_namespaces").then(|| String::from("0\n"))
        });
        assert!(
            net_off.why.contains("user.max_net_namespaces"),
            "{net_off:?}"
        );
        let unknown = explain(&error, |_| None);
        assert!(unknown.why.contains("permission denied"), "{unknown:?}");
        assert!(!unknown.advice.is_empty());
    }
}
