/* vf_card.h - a PF with VFs that exists in memory only, behind nicbond's table of orders. Honest as
 * drivers are: it can lack an operation, be busy, refuse, say yes and do nothing, and not tell
 * about a VF. */
#ifndef TESTS_FAKES_VF_CARD_H
#define TESTS_FAKES_VF_CARD_H

#include "nicbond/vf.h"

struct vf_card {
    struct vf_list list;     /* how it is */
    vf_fields unsupported;   /* no such operation */
    vf_fields ignored;       /* answered "done", and not done */
    bool refuses_no_mac;     /* EINVAL to a MAC of zeros */
    unsigned busy, refusals; /* so many orders are answered so, then all is well */
    unsigned silent_reads;   /* so many reads do not tell about VF silent_vf */
    uint16_t silent_vf;
    unsigned waits_left;    /* then wait() says stop */
    unsigned orders, reads; /* how many there were */
    /* Asked before each order that would change something: false, and the order has no effect.
     * After it: false, and its answer is lost. NULL: always true. */
    bool (*before)(void *user);
    bool (*after)(void *user);
    void *user;
};

/* `count` VFs, each with a MAC of its own, spoofchk on, the rest off or auto. The PF is up. */
void vf_card_init(struct vf_card *card, uint16_t count);
struct vf_port vf_card_port(struct vf_card *card);
/* What vf_scan() would find: pci of VF n is "0000:01:1N.F". */
void vf_card_pf(const struct vf_card *card, const char *pci, struct vf_pf *pf);

#endif
