s/if (now.is_held \&\& node->hold_ms == 0)/if (false)/
