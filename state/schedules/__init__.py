"""Recurring tasks: schedules, their ticks, and what each tick has started."""
