/* hash.h - FNV-1a 64, folded eight bytes at a time: equality of replicas, never security.
 * For contents that come from people use base/digest.h. */
#ifndef SUPERVISORD_BASE_HASH_H
#define SUPERVISORD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HF_HASH_START 0xcbf29ce484222325ULL

/* Start with HF_HASH_START; feed pieces in order. Where the pieces are cut is part of the value:
 * "ab" is not "a" then "b". The same on every machine. */
uint64_t hf_hash(uint64_t hash, const void *bytes, size_t len);

#endif
