s/if (seen_by(e, v) == 0)/if (false)/
s/place_pick(s->e, v, seen_by(s->e, v), &load)/place_pick(s->e, v, (hf_nodes)~bit_of(v->home), \&load)/
