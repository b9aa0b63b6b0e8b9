-- Each claim at a gate with a closed breaker asks whether there was a failure at all.
CREATE INDEX gate_results_failed ON callboard.gate_results (gate, at) WHERE failed;
