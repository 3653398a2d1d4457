"""Words that every layer shares: errors, rules, options, events, journal. Only the standard library below."""
