/* probe.h - reads one host from /proc. What cannot be read is unknown (0, or UINT32_MAX for
 * pressures), never an error: a missing file must not take a node out of service. */
#ifndef AGENTS_HOST_PROBE_H
#define AGENTS_HOST_PROBE_H

#include "supervisord/wire/report.h"

#define PROBE_UUID_PATH "/sys/class/dmi/id/product_uuid"

/* Everything but the clocks, from sysroot (""; a folder in tests). The kernel lets only root read
 * the system UUID, which it has from the firmware. */
void probe_host(const char *sysroot, const char *uuid_path, struct hf_report_host *out);
/* How much room is left there: sysroot's run_directory and /dev/shm. is_low is the judge's. */
void probe_rooms(const char *sysroot, const char *run_directory, struct hf_room room[HF_ROOMS]);
/* BOOTTIME, wall clock and the kernel's word on synchronisation. */
void probe_clocks(struct hf_report_host *out);

#endif
