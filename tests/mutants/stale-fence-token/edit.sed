s/if (!hf_token_is(node->order) || !hf_token_same(node->order, ev->u.done.effect))/if (!hf_token_is(node->order))/
