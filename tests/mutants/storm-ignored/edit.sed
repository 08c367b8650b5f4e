s/return e->in_storm;/return false;/
