"""Words that every layer shares: errors, rules, options, events, journal. Imports only the standard library."""
