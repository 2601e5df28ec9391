"""The characterization guidelines for AQM (RFC 7928) as experiments, one class per scenario.

The less-than-best-effort sender (section 5.4) is not among them.
"""
