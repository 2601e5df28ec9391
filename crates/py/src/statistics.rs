//! Quantiles for confidence intervals. scipy has them too, but takes 0.2 s to load.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Above this number of degrees of freedom, the series is exact to eight digits; the search of statrs is not, and may not end.
const MANY: f64 = 1000.0;

/// The quantile of Student's t distribution with `freedom` degrees of freedom. `ValueError`: a number has no quantile.
#[pyfunction]
pub fn t_quantile(freedom: f64, probability: f64) -> PyResult<f64> {
    if !(probability > 0.0 && probability < 1.0) {
        return Err(PyValueError::new_err(
            "probability: must be between 0 and 1",
        ));
    }
    if freedom > MANY {
        return Ok(near_normal(freedom, probability));
    }
    let student = StudentsT::new(0.0, 1.0, freedom)
        .map_err(|_| PyValueError::new_err("freedom: must be a number above 0"))?;
    Ok(student.inverse_cdf(probability))
}

/// Series in the normal quantile and 1 / freedom (Abramowitz and Stegun 1964, 26.7.5).
fn near_normal(freedom: f64, probability: f64) -> f64 {
    let x = Normal::standard().inverse_cdf(probability);
    let terms = [
        (x.powi(3) + x) / 4.0,
        (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0,
        (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0,
    ];
    // Horner's scheme in 1 / freedom.
    terms
        .iter()
        .rev()
        .fold(0.0, |sum, term| (sum + term) / freedom)
        + x
}
