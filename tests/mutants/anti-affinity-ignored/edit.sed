s/if (is_same_group(v->def.apart, o->def.apart) && (claims(o) & bit_of(n)))/if (false)/
