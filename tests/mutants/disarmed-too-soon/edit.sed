s/l->is_releasing = is_armed(l);/l->is_releasing = l->is_released = is_armed(l);/
