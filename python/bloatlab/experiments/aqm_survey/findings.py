def findings(c): return []
