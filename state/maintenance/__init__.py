"""The cluster's housekeeping: due, lost and expired tasks."""
