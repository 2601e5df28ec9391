//! A congestion control in Python. Each call of the sender calls Python once.

use std::sync::Arc;

use bloatlab_cc::{CongestionControl, Signal};
use bloatlab_sim::Control;
use bloatlab_units::Nanos;
use pyo3::prelude::*;

use crate::complaint::complaint;

/// The values that a congestion control sets.
#[pyclass(module = "bloatlab._core")]
#[derive(Default)]
pub struct Window {
    /// Congestion window, bytes.
    #[pyo3(get, set)]
    cwnd: u64,
    /// Slow-start threshold, bytes.
    #[pyo3(get, set)]
    ssthresh: u64,
    /// Maximum segment size, bytes of payload.
    #[pyo3(get, set)]
    mss: u64,
    /// Pacing rate in bytes per second. 0 for no pacing.
    #[pyo3(get, set)]
    pacing: u64,
    /// Bytes that pacing may send in one burst; below two segments, each segment is paced.
    #[pyo3(get, set)]
    quantum: u64,
}

/// A delivery-rate sample. There is none if `interval` is 0.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
#[derive(Clone)]
pub struct RateSample {
    delivered: u64,
    interval: u64,
    prior_delivered: u64,
    app_limited: bool,
}

/// What the sender learns from one ACK. Times are in ns, amounts in bytes.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
pub struct Ack {
    now: u64,
    acked: u64,
    delivered_now: u64,
    delivered: u64,
    lost_now: u64,
    lost: u64,
    rtt: u64,
    one_way: u64,
    srtt: u64,
    min_rtt: u64,
    prior_in_flight: u64,
    in_flight: u64,
    una: u64,
    next: u64,
    cwnd_limited: bool,
    in_recovery: bool,
    disordered: bool,
    ecn_echo: bool,
    marked_now: u64,
    rate: RateSample,
}

impl From<&bloatlab_cc::Ack> for Ack {
    fn from(ack: &bloatlab_cc::Ack) -> Self {
        Self {
            now: ack.now,
            acked: ack.acked,
            delivered_now: ack.delivered_now,
            delivered: ack.delivered,
            lost_now: ack.lost_now,
            lost: ack.lost,
            rtt: ack.rtt,
            one_way: ack.one_way,
            srtt: ack.srtt,
            min_rtt: ack.min_rtt,
            prior_in_flight: ack.prior_in_flight,
            in_flight: ack.in_flight,
            una: ack.una,
            next: ack.next,
            cwnd_limited: ack.cwnd_limited,
            in_recovery: ack.in_recovery,
            disordered: ack.disordered,
            ecn_echo: ack.ecn_echo,
            marked_now: ack.marked_now,
            rate: RateSample {
                delivered: ack.rate.delivered,
                interval: ack.rate.interval,
                prior_delivered: ack.rate.prior_delivered,
                app_limited: ack.rate.app_limited,
            },
        }
    }
}

/// The Python object and its copy of the window.
pub struct PythonControl {
    object: Py<PyAny>,
    window: Py<Window>,
    class: String,
    control: Arc<Control>,
}

impl PythonControl {
    pub fn new(object: Py<PyAny>, class: String, control: Arc<Control>) -> Result<Self, String> {
        let window =
            Python::attach(|py| Py::new(py, Window::default())).map_err(|e| e.to_string())?;
        Ok(Self {
            object,
            window,
            class,
            control,
        })
    }

    /// Copies the window to Python, calls the method and copies the window back. An exception ends the run.
    fn call(
        &mut self,
        window: &mut bloatlab_cc::Window,
        method: &str,
        call: impl FnOnce(&Bound<'_, PyAny>, &Py<Window>) -> PyResult<()>,
    ) {
        Python::attach(|py| {
            {
                let mut shown = self.window.borrow_mut(py);
                shown.cwnd = window.cwnd;
                shown.ssthresh = window.ssthresh;
                shown.mss = window.mss;
                shown.pacing = window.pacing;
                shown.quantum = window.quantum;
            }
            if let Err(error) = call(self.object.bind(py), &self.window) {
                self.control
                    .fail(complaint(py, &self.class, method, &error));
                return;
            }
            let shown = self.window.borrow(py);
            // With a window below one segment the flow would stop for ever; a window beyond any link would overflow.
            window.cwnd = shown.cwnd.clamp(window.mss, 1 << 40);
            window.ssthresh = shown.ssthresh.clamp(2 * window.mss, u64::MAX / 4);
            window.pacing = shown.pacing.min(1 << 44);
            window.quantum = shown.quantum;
        });
    }
}

impl CongestionControl for PythonControl {
    fn on_start(&mut self, window: &mut bloatlab_cc::Window, now: Nanos) {
        self.call(window, "on_start", |object, w| {
            object.call_method1("on_start", (w, now)).map(drop)
        });
    }

    fn on_ack(&mut self, window: &mut bloatlab_cc::Window, ack: &bloatlab_cc::Ack) {
        self.call(window, "on_ack", |object, w| {
            object.call_method1("on_ack", (w, Ack::from(ack))).map(drop)
        });
    }

    fn on_congestion(
        &mut self,
        window: &mut bloatlab_cc::Window,
        signal: Signal,
        ack: &bloatlab_cc::Ack,
    ) {
        let name = match signal {
            Signal::Loss => "loss",
            Signal::Ecn => "ecn",
            Signal::Timeout => "timeout",
        };
        self.call(window, "on_congestion", |object, w| {
            object
                .call_method1("on_congestion", (w, name, Ack::from(ack)))
                .map(drop)
        });
    }

    fn on_recovered(&mut self, window: &mut bloatlab_cc::Window, ack: &bloatlab_cc::Ack) {
        self.call(window, "on_recovered", |object, w| {
            object
                .call_method1("on_recovered", (w, Ack::from(ack)))
                .map(drop)
        });
    }

    fn on_undo(&mut self, window: &mut bloatlab_cc::Window, ack: &bloatlab_cc::Ack) {
        self.call(window, "on_undo", |object, w| {
            object
                .call_method1("on_undo", (w, Ack::from(ack)))
                .map(drop)
        });
    }

    fn on_timeout(&mut self, window: &mut bloatlab_cc::Window, now: Nanos) {
        self.call(window, "on_timeout", |object, w| {
            object.call_method1("on_timeout", (w, now)).map(drop)
        });
    }
}
