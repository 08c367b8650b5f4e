s/r->is_cold = live < replica_majority(r);/r->is_cold = false;/
