"""Who gets which disk: from an inventory and arguments to data, DB and WAL, with a reason for each disk."""
