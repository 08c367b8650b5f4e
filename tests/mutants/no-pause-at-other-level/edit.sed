s/if (node->level <= last)/if (node->level == 0)/
