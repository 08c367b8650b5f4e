/It ran, or should have, on its home, and is certainly gone/,/^}/s/v->possible &= (hf_nodes)~bit_of(n);/(void)0;/
