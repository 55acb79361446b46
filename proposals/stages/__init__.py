"""The stage engine's pure part: events of Salt's bus to a run's records, records to lines, a dry run to its steps."""
