/* Digests: XXH64 and XXH3 of what rows are, and the one of a row's input, which a library makes. */

#ifndef EVALSTREAM_DIGEST_H
#define EVALSTREAM_DIGEST_H

#include "json.h"

/* https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md */
uint64_t xxh64(const byte *bytes, size_t length, uint64_t seed);

/* Return the digest of a line: XXH3 of 64 bits of a long one, else XXH64. */
uint64_t content_digest(const byte *bytes, size_t length);

/* Return the seed of the second of two digests of one text, given that of the first. */
uint64_t other_seed(uint64_t seed);

/* Write two of them, the first byte of each the highest one; the `other` seed is changed so that
   two equal seeds give two digests. */
void write_digests(
    const byte *bytes, size_t length, uint64_t seed, uint64_t other, byte digest[16]
);

enum { MOST_STATE_BYTES = 512, MOST_DIGEST_BYTES = 64 };

/* A hash function as OpenSSL has it: SHA256_Init and so on. Without `start` the state is the digest,
   which `update` writes; without `update` there is none. */
struct hasher {
    int (*start)(void *state);
    int (*update)(void *state, const void *bytes, size_t length);
    int (*end)(unsigned char *digest, void *state);
    uint64_t size; /* of the digest, in bytes */
};

/* Tell whether all bytes are small hex digits. */
bool are_hex_digits(const byte *bytes, size_t length);

/* Write the digest of bytes. Return false where the library cannot. */
bool digest_bytes(const struct hasher *hasher, const byte *bytes, size_t length, byte *digest);

/* Tell whether small hex digits write a digest. */
bool is_digest(const struct hasher *hasher, const byte *digest, const byte *hex);

/* Tell whether bytes have a digest that is written in small hex digits. */
bool has_digest(const struct hasher *hasher, const byte *bytes, size_t length, const byte *hex);

#endif
