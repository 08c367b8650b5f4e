s/^    uint64_t best = 0;$/    uint64_t best = engine_seq(replica_state((struct replica *)(uintptr_t)r));/
