s/if (message->sender_seq != s->last + 1) {/if (false) {/
