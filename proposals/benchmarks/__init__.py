"""Benchmarks: suites as data, what the tools printed, statistics, tables beside a document's values, reports."""
