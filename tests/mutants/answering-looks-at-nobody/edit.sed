/^static void answer/,/^}/s/    r->wants_beat = true;/    r->wants_beat = true;\n    b->look_due = b->next_due;/
