s/{FEED_STARVE, "the lease is over: not fed"}/{FEED_PING, "the lease is over"}/
