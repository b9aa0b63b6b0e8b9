SELECT /*move_result*/ FROM callboard.dismiss(%(ids)s) AS m
