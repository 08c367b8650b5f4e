s/b->newest_echoed = b->sent\[best % NUMBERS_KEPT\];/b->newest_echoed = r->now_last;/
