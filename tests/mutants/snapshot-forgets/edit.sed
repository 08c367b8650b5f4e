s/v->failures_here = hf_get_u8(r);/v->failures_here = (uint8_t)(hf_get_u8(r) * 0);/
