s/if (!ring_has(r, peers\[i\].nodeid)) {/if (false) {/
