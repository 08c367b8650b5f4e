s/return hf_nodes_count(left) \* 2 > e->group.nodes_count;/return true;/
