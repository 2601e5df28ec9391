//! Algorithms of the user's own.

use bloatlab_aqm::Qdisc;
use bloatlab_cc::CongestionControl;

use crate::packet::Packet;

/// Where a user's own algorithms come from.
pub trait Plugins: Sync {
    /// A congestion control for one connection.
    ///
    /// # Errors
    /// Why it could not be made, in one line.
    fn congestion_control(
        &self,
        params: &bloatlab_cc::PythonParams,
    ) -> Result<Box<dyn CongestionControl>, String>;

    /// A queue discipline for one link.
    ///
    /// # Errors
    /// Why it could not be made, in one line.
    fn queue(&self, params: &bloatlab_aqm::PythonParams) -> Result<Box<dyn Qdisc<Packet>>, String>;
}

/// No algorithm of the user's own.
pub struct NoPlugins;

impl Plugins for NoPlugins {
    fn congestion_control(
        &self,
        params: &bloatlab_cc::PythonParams,
    ) -> Result<Box<dyn CongestionControl>, String> {
        Err(format!(
            "congestion control `{}` is written in Python and needs Python to run",
            params.class
        ))
    }

    fn queue(&self, params: &bloatlab_aqm::PythonParams) -> Result<Box<dyn Qdisc<Packet>>, String> {
        Err(format!(
            "queue `{}` is written in Python and needs Python to run",
            params.class
        ))
    }
}
