s/uint32_t ms = hf_safe_time_ms(fed_ms, node->attest.timeout_ms);/uint32_t ms = fed_ms \/ 100 + 1;/;s/return ms > e->group.policy.safe_time_ms ? ms : e->group.policy.safe_time_ms;/return ms;/
