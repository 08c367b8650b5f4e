/* catalogue.h - the ids of the fault catalogue that have to be tried, in one place: P processes,
 * C corosync and the wires below it, H hosts and their fencing, N network cards, K clocks,
 * M malice. The simulator (tests/sim/faults.h) and the rig (the first lines of tests/rig/cases)
 * print at the end of their coverage which of them they have nothing for; that their READMEs name
 * the same ones, each with a reason, is checked by tests/tidy/check_faults.sh. */
#ifndef TESTS_CATALOGUE_H
#define TESTS_CATALOGUE_H

/* One row a group; shell scripts read this as well. */
#define CATALOGUE_IDS                                                                              \
    "P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20 "                      \
    "C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 C16 C17 C18 C19 C20 C21 "                  \
    "H1 H2 H3 H4 H5 H6 H7 H8 H9 H10 H11 H12 H13 H14 H15 H16 H17 "                                  \
    "N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 "                                                              \
    "K1 K2 K3 K4 "                                                                                 \
    "M1 M2 M3 M4 M5 M6 M7 M8 M9 "

#endif
