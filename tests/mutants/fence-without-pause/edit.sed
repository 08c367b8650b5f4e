s/^    if (node->level == 0)$/    if (false)/
