s/if (room_mib(e, n, load) < v->def.memory_mib)/if (false)/
