s/if (message->sender_seq <= s->last) {/if (false) {/;s/if (message->sender_seq != s->last + 1) {/if (message->sender_seq > s->last + 1) {/
