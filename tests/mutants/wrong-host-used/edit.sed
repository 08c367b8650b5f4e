s/return !n->path\[level\].is_wrong;/(void)n;\n    return level < HF_FENCE_LEVELS_MAX;/
