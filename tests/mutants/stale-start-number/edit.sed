s/if (start_no != v->running_no) {/if (start_no > v->running_no) {/
