s/ev->u.attest.timeout_ms = l->feeder.u.watchdog.timeout_ms;/ev->u.attest.timeout_ms = l->conf.timeout_ms;/
