s/^    if (!waits \&\& !hf_token_is(node->order))/    if (false)/
