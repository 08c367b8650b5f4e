s/^    return !n->path\[level\].is_wrong;/    return n->path[level].found != HF_PATH_WRONG_HOST;/
