"""For proofs that faults do no harm (deploy/prove): a scratch database, locks and cuts in it, and all that a judge must
know of it afterwards. Nothing else uses this package."""
