s/nic_dead_here(e, v) == v->def.legs;/nic_dead_here(e, v) != 0;/
