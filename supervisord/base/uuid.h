/* uuid.h - a host's system UUID as one number that two observers can compare.
 * The kernel prints it from SMBIOS, a BMC answers Get System GUID, Redfish prints it once more, and
 * they disagree about byte order (SMBIOS 2.6 swaps the first three fields, IPMI 2.0 reverses all 16
 * bytes). Every order of one UUID gives the same number; two different UUIDs give the same one only
 * by a 64-bit accident. */
#ifndef SUPERVISORD_BASE_UUID_H
#define SUPERVISORD_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

/* Text of 32 hex digits with or without hyphens, ended by NUL, blank or newline. False: it is not
 * one, or it is all zeros or all ones, which boards without a UUID carry. *number is never 0. */
bool hf_uuid_number(const char *text, uint64_t *number);

#endif
