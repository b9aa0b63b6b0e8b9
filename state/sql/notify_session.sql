SET synchronous_commit = off  -- a hint need not survive anything
