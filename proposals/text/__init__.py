"""Words and numbers for every room: errors, names, sizes, argument readers, notes, tables. No arrow leaves here."""
