SELECT actor, known FROM callboard.awaited_actors()
