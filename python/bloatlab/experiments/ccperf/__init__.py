"""The CCPerf family: congestion controls over constant, shared, varying and lossy paths, one class per experiment."""
