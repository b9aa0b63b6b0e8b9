SELECT * FROM callboard.settle(%(outcomes)s)
