/* faults.h - what goes wrong: one row a fault, named by its id in the catalogue.
 * `holdfast-sim --fault-coverage` counts what really fired. What is not here, and why: README.md.
 */
#ifndef TESTS_SIM_FAULTS_H
#define TESTS_SIM_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/engine/engine.h"
#include "supervisord/model/ids.h"

/* One row a fault: its id, and its text for coverage and timelines. */
#define FAULT_LIST                                                                                 \
    FAULT(P1, "daemon killed")                                                                     \
    FAULT(P2, "daemon paused below the mute limit")                                                \
    FAULT(P3, "daemon stopped far beyond its lease")                                               \
    FAULT(P4, "daemon spins: alive, and does nothing")                                             \
    FAULT(P5, "feeder killed")                                                                     \
    FAULT(P6, "feeder stopped between its check and its ping")                                     \
    FAULT(P7, "crash with a half-written journal")                                                 \
    FAULT(P8, "daemon crashes in a loop")                                                          \
    FAULT(P9, "VM agent dies")                                                                     \
    FAULT(P10, "an agent floods its daemon")                                                       \
    FAULT(P12, "the next daemon gets the number of the last one")                                  \
    FAULT(P13, "qemu killed for want of memory")                                                   \
    FAULT(P14, "no process can be started on a host")                                              \
    FAULT(P15, "the disk is full for long, and then the daemon restarts")                          \
    FAULT(P16, "libvirt hangs or refuses")                                                         \
    FAULT(P17, "qemu dies")                                                                        \
    FAULT(P18, "qemu in D state: a stop cannot be proved")                                         \
    FAULT(P19, "a guest panics: its qemu is destroyed")                                            \
    FAULT(C1, "corosync killed")                                                                   \
    FAULT(C2, "corosync stopped 0.5, 3 or 60 token times")                                         \
    FAULT(C3, "corosync restarted cleanly")                                                        \
    FAULT(C4, "try again: messages held back")                                                     \
    FAULT(C5, "an accepted message vanishes")                                                      \
    FAULT(C6, "a message is sent again")                                                           \
    FAULT(C7, "a message arrives damaged")                                                         \
    FAULT(C8, "a ghost stays in the list")                                                         \
    FAULT(C9, "joined and gone in the same instant")                                               \
    FAULT(C10, "one node is cut off")                                                              \
    FAULT(C11, "every node is alone")                                                              \
    FAULT(C12, "bridge: two nodes hear only the third")                                            \
    FAULT(C13, "one-way loss")                                                                     \
    FAULT(C14, "a flapping link")                                                                  \
    FAULT(C15, "lossy wires: new rings without a lost node")                                       \
    FAULT(C16, "large messages vanish")                                                            \
    FAULT(C17, "a slow node restarts again and again")                                             \
    FAULT(C18, "a minority's own messages before a merge")                                         \
    FAULT(C19, "cold start of all daemons")                                                        \
    FAULT(C20, "corosync counts other votes than configured")                                      \
    FAULT(C21, "wrong key on one node: its corosync stays alone")                                  \
    FAULT(H1, "host loses power with its BMC")                                                     \
    FAULT(H2, "host loses power, BMC alive")                                                       \
    FAULT(H3, "kernel panic: a quick reboot")                                                      \
    FAULT(H4, "host freezes for good")                                                             \
    FAULT(H5, "host stalls 1 to 30 s")                                                             \
    FAULT(H6, "watchdog that does not work")                                                       \
    FAULT(H7, "watchdog held by somebody else")                                                    \
    FAULT(H8, "watchdog timeout rounded up by its driver")                                         \
    FAULT(H9, "a reset host boots at once")                                                        \
    FAULT(H10, "fence device slow, hung or dead")                                                  \
    FAULT(H11, "fence device refuses")                                                             \
    FAULT(H12, "fence devices swapped between two hosts")                                          \
    FAULT(H13, "the fencing node dies meanwhile")                                                  \
    FAULT(H14, "the target is back while it is fenced")                                            \
    FAULT(H15, "a second host fails during recovery")                                              \
    FAULT(H17, "all hosts lose power")                                                             \
    FAULT(T4, "a person's copy holds the disk at a start")                                         \
    FAULT(T5, "stored state damaged, cut or lost")                                                 \
    FAULT(T6, "the disk hangs")                                                                    \
    FAULT(K1, "a clock jumps ahead")                                                               \
    FAULT(K3, "clocks run at different rates")                                                     \
    FAULT(K4, "suspend and resume")                                                                \
    FAULT(O1, "another cluster file on one node")                                                  \
    FAULT(O4, "VM started or ended by hand")                                                       \
    FAULT(O5, "a person confirms wrongly")                                                         \
    FAULT(O7, "maintenance is forgotten")                                                          \
    FAULT(O9, "a host is shut down cleanly")                                                       \
    FAULT(M3, "a local process stalls corosync")                                                   \
    FAULT(M5, "a forged group member says old things, noise, or nothing")                          \
    FAULT(M9, "an old state is put in a node's place")                                             \
    FAULT(N1, "a PF loses its carrier")                                                            \
    FAULT(N2, "carrier, and nothing passes")                                                       \
    FAULT(N3, "a port flaps at 10 Hz")                                                             \
    FAULT(N4, "both ports of a host are down")                                                     \
    FAULT(N5, "a PF is reset, its VFs vanish")                                                     \
    FAULT(N6, "a VF cannot be attached")                                                           \
    FAULT(N7, "a fatal PCIe error")                                                                \
    FAULT(N8, "a VM's legs are told of where it does not run")                                     \
    FAULT(N9, "a PF degrades slowly")                                                              \
    FAULT(N10, "nicbond hangs, or is killed")                                                      \
    FAULT(NX, "a whole fabric is down, as N1 or N2")

#define FAULT(id_, text_) FAULT_##id_,
enum fault { FAULT_LIST FAULTS };
#undef FAULT

enum { FAULT_UNDO_MAX = 32 };

struct fault_undo {
    bool is_used;
    uint8_t fault;
    hf_nodes nodes;
    uint32_t arg;
};

struct fault_state {
    bool is_over; /* the liveness phase: nothing new happens */
    uint64_t count[FAULTS];
    struct fault_undo undo[FAULT_UNDO_MAX];
    uint8_t *old; /* a state of some node, taken long ago */
    size_t old_len;
    uint32_t hold_ms[HF_NODES_MAX]; /* newest announced absence */
    struct hf_token hold[HF_NODES_MAX];
    uint8_t follow; /* a fault to draw next, soon; FAULTS = none */
    hf_nodes follow_nodes;
};

struct sim;
const char *fault_id(enum fault f);
const char *fault_text(enum fault f);
/* Draw and do the next fault, and plan the one after it. */
void faults_next(struct sim *s);
void faults_undo(struct sim *s, uint32_t slot);
/* Called when an order to fence, or to start, is being performed: some faults wait for that. */
void faults_at_fence(struct sim *s, hf_node actor, hf_node target);
void faults_at_start(struct sim *s, hf_node actor);
/* An announced absence begins on n: now its owner does what it was announced for. He does so once:
 * an order comes again after every synchronisation in which it is still wanted (seed 172088). */
void faults_at_hold(struct sim *s, hf_node n, const struct hf_effect *fx);
/* n has just said something, and was to be stopped then. */
void faults_at_word(struct sim *s, hf_node n);
/* n tells the group something about its watchdog. */
void faults_at_attest(struct sim *s, hf_node n);
/* n takes part again. */
void faults_at_return(struct sim *s, hf_node n);
/* n is empty and has left the group in order: its owner may switch it off. */
void faults_at_leave(struct sim *s, hf_node n);
void faults_hand(struct sim *s, hf_node n, uint16_t what, uint32_t gen);
void faults_moment(struct sim *s, enum fault f, hf_node n);
/* One order of the simulated operator, drawn. */
void faults_operator(struct sim *s);
/* Note that something of the catalogue happened. */
void faults_count(struct sim *s, enum fault f);
/* End of the safety phase: repair `core`, leave the rest as it is. */
void faults_heal(struct sim *s, hf_nodes core);

#endif
