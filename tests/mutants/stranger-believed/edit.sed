s/if (r->members\[i\].nodeid == nodeid && r->members\[i\].pid == pid)/if (r->members[i].nodeid == nodeid)/
