s/return asks_legs \&\& !passes_legs(e, v, n, among, load) ? HF_RULE_4_LEGS : rule;/return asks_legs ? rule : rule;/
s/if (a_worth != b_worth)/if (false)/
