s/uint32_t fed_ms = node->hold_ms > node->attest.lease_ms ? node->hold_ms : node->attest.lease_ms;/uint32_t fed_ms = node->attest.lease_ms;/
