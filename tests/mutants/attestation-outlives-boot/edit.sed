/if (is_new_boot)/{
N
s/watchdog_forget(node);/(void)0;/
}
