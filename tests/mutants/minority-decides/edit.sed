/^unsigned replica_majority/,/^}/s/return .*;/return 1;/
