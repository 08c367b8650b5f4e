/* judge.h - what a PF is worth. Pure: facts, signals and time in, a verdict out.
 *
 * Three tables, all total: a signal sets or clears marks; a mark is a cause and how grave it is;
 * the gravest mark and the state before give the state after. Two promises follow from the first
 * table alone: carrier heals nothing but a lost carrier, and what only the driver can repair is
 * healed only by what the driver or the card says afterwards. Not knowing heals nothing and kills
 * nothing.
 *
 * Refuses to guess: a fact that nobody could read is NIC_NOT_KNOWN and changes no mark. */
#ifndef AGENTS_NIC_JUDGE_H
#define AGENTS_NIC_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/model/nic.h"

enum {
    /* Falls closer together than this are one: a plug pushed in by hand bounces, and one attempt to
     * bring a link up may take so long before it fails (link_fail_inhibit_timer, 750 to 1000 ms,
     * IEEE 802.3 clause 28). */
    NIC_BOUNCE_MS = 1000,
    /* sfc says when a reset begins and when it failed, and nothing when it worked. A management
     * command that hangs within it is reported after 10 s (MCDI_RPC_TIMEOUT, sfc/mcdi.c). */
    NIC_RESET_CALM_MS = 11000,
    /* A queue that stands still is counted every 5 s (watchdog_timeo 5 * HZ, sfc/efx.c and
     * net/sched/sch_generic.c): two of them and room. */
    NIC_TX_CALM_MS = 11000,
    /* Frames with errors a second. 10 Gbit/s at the worst bit error ratio the standard allows
     * (1e-12, IEEE 802.3 clause 49) has one in 100 s; this is a thousand times that. */
    NIC_ERRORS_LIMIT = 10,
    NIC_ERRORS_WINDOW_MS = 1000,
    NIC_ERRORS_CALM_MS = 10000, /* below the limit for so long: no longer too many */
    /* So long a PF that we have switched on again may take to get its carrier: four attempts to
     * bring the link up at 2250 ms, the most that one takes (link_fail_inhibit_timer of 10GBASE-T,
     * IEEE 802.3 clause 28). Until then it is down anyway; afterwards it is so for its wire. */
    NIC_SETTLE_MS = 10000,
};

enum nic_fact { NIC_NOT_KNOWN = 0, NIC_NO, NIC_YES };

/* What can be heard of a PF. Levels come out of every sample, the rest once, as it happens. */
enum nic_signal {
    NIC_SIGNAL_ABSENT = 0, /* no such device; uevent remove */
    NIC_SIGNAL_PRESENT,
    NIC_SIGNAL_ADDED, /* uevent add: a new life of the device */
    NIC_SIGNAL_UNBOUND,
    NIC_SIGNAL_DRIVEN,
    NIC_SIGNAL_BOUND, /* uevent bind: the driver has initialised it */
    NIC_SIGNAL_ADMIN_DOWN,
    NIC_SIGNAL_ADMIN_UP,
    NIC_SIGNAL_CARRIER_FELL, /* carrier_down_count moved */
    NIC_SIGNAL_CARRIER_OFF,
    NIC_SIGNAL_CARRIER_ON,
    NIC_SIGNAL_AER_BEGIN, /* uevent ERROR_EVENT */
    NIC_SIGNAL_AER_FAILED,
    NIC_SIGNAL_AER_RECOVERED,
    NIC_SIGNAL_CONFIG_GONE, /* configuration space reads all ones */
    NIC_SIGNAL_MC_TIMEOUT,  /* kernel log: a management command timed out */
    NIC_SIGNAL_MC_ASSERT,   /* it crashed or rebooted by itself */
    NIC_SIGNAL_MC_ANSWERS,  /* a command begun after the newest bad news was answered */
    NIC_SIGNAL_RESET,       /* the driver resets the card */
    NIC_SIGNAL_RESET_CALM,  /* and said nothing more for NIC_RESET_CALM_MS */
    NIC_SIGNAL_TOO_MANY_RESETS,
    NIC_SIGNAL_DISABLED,
    NIC_SIGNAL_VSWITCH_LOST,
    NIC_SIGNAL_TX_STALLED, /* a tx_timeout counter moved, or the log says so */
    NIC_SIGNAL_TX_CALM,
    NIC_SIGNAL_BFD_SILENT, /* nobody is heard, and that is not the peers' fault */
    NIC_SIGNAL_BFD_ALONE,  /* the only peer is not heard: its fault or ours */
    NIC_SIGNAL_BFD_HEARD,
    NIC_SIGNAL_LACP_LOST,
    NIC_SIGNAL_LACP_BACK,
    NIC_SIGNAL_HOT,
    NIC_SIGNAL_COOL,
    NIC_SIGNAL_ERRORS_MANY,
    NIC_SIGNAL_ERRORS_FEW,
    NIC_SIGNAL_OPTICS_BAD,
    NIC_SIGNAL_OPTICS_GOOD,
    NIC_SIGNAL_VF_BARE, /* a VF without a driver */
    NIC_SIGNAL_VF_DRIVEN,
    NIC_SIGNAL_SISTER_DEAD, /* the other port of the card has lost the controller */
    NIC_SIGNAL_SISTER_WELL,
    NIC_SIGNAL_FORGIVEN, /* an operator says that it is repaired */
    NIC_SIGNALS
};

/* What BFD says of one fabric. A peer that was never up, or said AdminDown, is not silent; one that
 * speaks and says that it does not hear us is: half a path carries nothing. */
struct nic_bfd {
    uint8_t peers;  /* sessions there are */
    uint8_t up;     /* of these, up */
    uint8_t silent; /* were up, and are not heard any more, or do not hear us */
    /* Of the silent, the ones that are up in the other fabric and judge_nic_is_heard_since() says
     * yes of. */
    uint8_t heard_elsewhere;
};

/* One look at a PF. All zero: nothing is known. Totals are as the kernel counts them and may start
 * again when the driver is loaded. */
struct nic_sample {
    bool is_seen; /* the hot counters could be read */
    enum nic_fact is_present, has_driver, is_admin_up, has_carrier, takes_part_in_lacp, is_hot,
        is_optics_bad, has_bare_vf;
    enum nic_fact is_sister_dead;
    /* We switched it off, or are about to, or do not know whether we did: that is no failure, and
     * what its carrier does is our doing. So it is until the first carrier after it. */
    bool is_admin_ours;
    bool has_errors; /* `errors` is known */
    uint64_t carrier_downs, tx_timeouts, errors;
    struct nic_bfd bfd;
    hf_time answered_at; /* when the newest management command that was answered began; 0: none */
};

struct nic_limits {
    uint32_t hold_down_ms, hold_down_max_ms;
};

struct nic_verdict {
    enum hf_pf state;
    enum hf_nic_cause cause;
    uint32_t hold_ms;  /* of HF_PF_HOLD: what is left */
    bool has_changed;  /* state or cause, by this step */
    bool is_card_dead; /* a cause that both ports of the card share; the sister's is_sister_dead */
    hf_time since;     /* of DOWN and ABSENT: the first sign of it */
    const char *why;   /* the rule that was applied last; static */
};

enum nic_event { /* what the marks come to */
                 NIC_EV_UNSEEN = 0,
                 NIC_EV_WELL,
                 NIC_EV_DOUBT,
                 NIC_EV_OFF, /* by our own hand, or not yet back from it */
                 NIC_EV_DEAD,
                 NIC_EV_GONE,
                 NIC_EV_RESTED, /* hold-down is over */
                 NIC_EVS
};

enum nic_act { NIC_ACT_NONE = 0, NIC_ACT_FALL, NIC_ACT_REST, NIC_ACT_HOLD };
enum nic_ruling { NIC_UNDECIDED = 0, NIC_GO, NIC_STAY, NIC_BUG };

struct nic_rule {
    enum nic_ruling ruling;
    enum hf_pf next;
    enum nic_act act;
    const char *why;
};

struct nic_signal_rule {
    uint32_t sets, clears; /* marks, bit per hf_nic_cause; bit 0 is a lone BFD peer's silence */
    const char *why;
};

/* Opaque but for tests and for copying. */
struct judge_nic {
    struct nic_limits limits;
    enum hf_pf state;
    enum hf_nic_cause cause;
    uint32_t marks, pulses; /* set now; set since the last step, perhaps cleared again */
    hf_time marked_at[HF_NIC_CAUSES];
    hf_time since, fell_at, up_at, hold_until;
    bool has_fallen;
    uint32_t hold_ms, repeats;
    bool is_settling; /* our own hand's doing is not over */
    hf_time settle_until;
    bool has_counts;
    uint64_t carrier_downs, tx_timeouts;
    bool has_errors, are_errors_many;
    uint64_t errors;
    hf_time errors_at, errors_many_at;
    hf_time bad_at; /* newest bad news of the controller */
    const char *why;
};

void judge_nic_init(struct judge_nic *judge, const struct nic_limits *limits);
/* Limits of a changed configuration; a hold that runs goes on. */
void judge_nic_limit(struct judge_nic *judge, const struct nic_limits *limits);
/* A signal that came by itself, in the order they come. The next step judges it. */
void judge_nic_hear(struct judge_nic *judge, enum nic_signal signal, hf_time now);
/* Judge. Cheap when nothing moved: meant for every tick. now never goes back. */
void judge_nic_step(struct judge_nic *judge, const struct nic_sample *sample, hf_time now,
                    struct nic_verdict *verdict);
/* Carries nothing: its legs are flipped away. DOWN and ABSENT. */
bool judge_nic_is_dead(enum hf_pf state);
/* Is a peer that is silent here alive, because the other fabric heard it since? here and there are
 * the times of its newest packets. A peer that dies falls silent here up to one interval before it
 * does there (RFC 5880 6.8.7: packets come 75 to 100 % of an interval apart): two are proof. */
bool judge_nic_is_heard_since(hf_time here, hf_time there, uint32_t interval_us);
/* Two functions of one card: the same serial number, else the same domain:bus:slot. "" is not known
 * and never the same. */
bool judge_nic_same_card(const char *serial, const char *pci, const char *other_serial,
                         const char *other_pci);
/* A signal that concerns the whole card, not one port: the other port hears SISTER_DEAD. */
bool judge_nic_is_of_card(enum nic_signal signal);

/* The tables, for tests and for READMEs made of them. */
struct nic_rule judge_nic_rule(enum hf_pf state, enum nic_event event);
struct nic_signal_rule judge_nic_signal(enum nic_signal signal);

#endif
