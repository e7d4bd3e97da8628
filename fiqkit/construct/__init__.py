"""Building benchmark instances from facts: rules that each instance must keep, and shortcuts that none may allow."""
