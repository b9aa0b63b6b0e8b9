SELECT callboard.make_partition() AS step
