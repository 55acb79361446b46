"""Plans as pictures: one HTML file that needs nothing else, or one SVG. What minions said is escaped, never markup."""
