SELECT callboard.now() - make_interval(secs => %(seconds)s) AS moment
