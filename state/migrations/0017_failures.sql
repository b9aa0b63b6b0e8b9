-- Whether there was a failure at all is what a healthy breaker asks at each claim.
CREATE INDEX gate_results_failed ON callboard.gate_results (gate, at) WHERE failed;
