s/if (ev->u.done.outcome == HF_OUT_DONE)/if (ev->u.done.outcome != HF_OUT_GAVE_UP)/
