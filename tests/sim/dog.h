/* dog.h - a host's watchdog device and the process that feeds it. The process decides by the real
 * fencing/feeder/feed.c and the daemon's word; the device knows only pings and its own clock.
 * Refuses to know what the group believes. */
#ifndef TESTS_SIM_DOG_H
#define TESTS_SIM_DOG_H

#include <stdbool.h>
#include <stdint.h>

#include "fencing/feeder/feed.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/states.h"

struct hf_report;

enum dog_kind {
    DOG_GOOD = 0,
    DOG_DEAF, /* takes pings and never fires: nobody can see that (a marked limit) */
    DOG_ABSENT,
    DOG_BUSY, /* somebody else has it open */
    DOG_SOFT, /* the kernel's own, and not allowed */
    DOG_STUCK /* pings do not move it: found when it is tried */
};

/* Times are "seen" nanoseconds: true ones without the quiet that nobody has seen. */
struct dog {
    uint8_t kind; /* enum dog_kind */
    bool is_running, has_event;
    uint32_t timeout_ms; /* as set: the driver may round up */
    int64_t fires_at;
    uint32_t gen; /* of the host's power */
};

struct dog_feeder {
    bool is_alive, is_paused;
    bool stops_at_ping; /* a fault waits between its next check and its ping */
    bool is_mid_ping;
    bool has_word; /* said while it was stopped */
    uint32_t gen;  /* of the process */
    uint32_t turn; /* of its timer */
    int64_t turn_at;
    struct feed_word word, newest;
    struct feed_device device;
    struct feed_verdict verdict;
    hf_time turned_at;
    enum hf_watchdog closed; /* what it says while the device is not open */
    uint32_t retry_ms;
    uint64_t said; /* hash of what it told last on this connection; 0 = nothing */
};

struct sim;
struct sim_event;
/* The host's system is up: its service manager starts the feeder. */
void dog_host_up(struct sim *s, hf_node n);
void dog_power_off(struct sim *s, hf_node n);
/* Kill -9: the device runs on. Comes back after `back` ns. */
void dog_kill(struct sim *s, hf_node n, int64_t back);
void dog_start(struct sim *s, hf_node n);
void dog_pause(struct sim *s, hf_node n);
void dog_resume(struct sim *s, hf_node n);
/* The daemon's word. False: no feeder is there. */
bool dog_told(struct sim *s, hf_node n, const struct hf_report *lease);
/* A daemon is there: the feeder connects and says what is. */
void dog_daemon_up(struct sim *s, hf_node n);
void dog_clock_jumped(struct sim *s, hf_node n);
void dog_event(struct sim *s, const struct sim_event *ev);
/* Nothing runs towards an end: quiet may be skipped. */
bool dog_is_steady(const struct sim *s, hf_node n);
/* What the driver makes of a wish. */
uint32_t dog_actual_ms(const struct sim *s, uint32_t wanted_ms);

#endif
