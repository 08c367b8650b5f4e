s/bool is_held = node->hold.purpose == FOR_HOLD;/bool is_held = false;/
