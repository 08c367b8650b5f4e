s/if (m == NULL || !hf_view_same(h.view, r->view))/if (m == NULL)/
