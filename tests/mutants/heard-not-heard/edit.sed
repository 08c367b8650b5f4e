s/node_apply(s, n, HF_NE_HEARD, HF_WHY_HEARD_AGAIN, 0);/(void)0;/
