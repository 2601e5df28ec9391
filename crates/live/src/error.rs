//! Why a run in real time gave no outcome.

use std::{fmt, io};

use bloatlab_sim::RunError;

/// Why a run in real time gave no outcome.
#[derive(Debug)]
pub enum Error {
    /// The engine stopped: the run was cancelled, or its plan cannot be run.
    Run(RunError),
    /// The operating system refused something.
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
