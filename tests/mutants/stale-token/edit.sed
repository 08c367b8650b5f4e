s/if (!hf_token_is(v->order) || !hf_token_same(v->order, token) || v->home != ev->from.ix)/if (!hf_token_is(v->order) || v->home != ev->from.ix)/
