/* crc.h - CRC32C (Castagnoli, RFC 3720 appendix B.4) over wire messages and journal records. */
#ifndef SUPERVISORD_BASE_CRC_H
#define SUPERVISORD_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc 0; feed pieces in order: where they are cut does not matter. */
uint32_t hf_crc32c(uint32_t crc, const void *bytes, size_t len);
/* The same without the processor's crc32 instruction. For machines without it, and for tests. */
uint32_t hf_crc32c_by_table(uint32_t crc, const void *bytes, size_t len);

#endif
