s/if (is_for_life \&\& host_as_of_seq(s->e, ev->u.order.as_of) < s->e->nodes\[n\].came_seq) {/if (is_for_life \&\& false) {/
