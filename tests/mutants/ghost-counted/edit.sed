s/if (!replica_ring_has(r, peers\[i\].nodeid)) {/if (false) {/
