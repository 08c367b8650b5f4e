s/bool is_clean = node->state == HF_NODE_DEAD || node->state == HF_NODE_ABSENT;/bool is_clean = node->state == HF_NODE_DEAD;/
