# A mistake in the engine, for a_poison_event_costs_no_machine: a drain of 4321 s breaks an assertion.
/^static void drain(struct step \*s/,/^}/s/^{$/{ HF_ASSERT(ms != 4321000);/
