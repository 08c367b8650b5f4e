s/^    if (node->level <= last)$/    if (false)/
