s/if (v->failures > v->def.restarts_max) {/if (false) {/
