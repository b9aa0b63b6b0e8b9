/*last_seen*/
