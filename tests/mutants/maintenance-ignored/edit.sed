s/node->is_present \&\& !node->in_maintenance/node->is_present/
