s/r->is_cold = !is_certain(r, r->donor);/r->is_cold = false;/
