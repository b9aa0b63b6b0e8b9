"""What was measured: rows with their bars, as a table, lines, JSON and plots."""
