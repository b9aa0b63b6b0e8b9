"""What happens in the queues, measured by the minute and by the day."""
