#include "digest.h"

#include <string.h>

static const uint64_t FIRST = 0x9E3779B185EBCA87u, SECOND = 0xC2B2AE3D27D4EB4Fu,
                      THIRD = 0x165667B19E3779F9u, FOURTH = 0x85EBCA77C2B2AE63u,
                      FIFTH = 0x27D4EB2F165667C5u;

static inline uint64_t turned(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

static inline uint64_t word_at(const byte *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t half_word_at(const byte *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t mixed(uint64_t lane, uint64_t word) {
    return turned(lane + word * SECOND, 31) * FIRST;
}

static inline uint64_t joined(uint64_t hash, uint64_t lane) {
    return (hash ^ mixed(0, lane)) * FIRST + FOURTH;
}

uint64_t xxh64(const byte *bytes, size_t length, uint64_t seed) {
    const byte *at = bytes, *const end = bytes + length;
    uint64_t hash = seed + FIFTH;
    if (length >= 32) {
        uint64_t lane[4] = {seed + FIRST + SECOND, seed + SECOND, seed, seed - FIRST};
        for (; end - at >= 32; at += 32)
#pragma GCC unroll 4
            for (int place = 0; place < 4; place++)
                lane[place] = mixed(lane[place], word_at(at + 8 * place));
        hash = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18);
        for (int place = 0; place < 4; place++)
            hash = joined(hash, lane[place]);
    }
    hash += length;
    for (; end - at >= 8; at += 8)
        hash = turned(hash ^ mixed(0, word_at(at)), 27) * FIRST + FOURTH;
    if (end - at >= 4) {
        hash = turned(hash ^ half_word_at(at) * FIRST, 23) * SECOND + THIRD;
        at += 4;
    }
    for (; at < end; at++)
        hash = turned(hash ^ *at * FIFTH, 11) * FIRST;
    hash = (hash ^ hash >> 33) * SECOND;
    hash = (hash ^ hash >> 29) * THIRD;
    return hash ^ hash >> 32;
}

static void write_word(byte *to, uint64_t word) {
    for (int place = 0; place < 8; place++)
        to[place] = (byte)(word >> (56 - 8 * place));
}

uint64_t other_seed(uint64_t seed) { return seed ^ FIFTH; }

void write_digests(
    const byte *bytes, size_t length, uint64_t seed, uint64_t other, byte digest[16]
) {
    write_word(digest, xxh64(bytes, length, seed));
    write_word(digest + 8, xxh64(bytes, length, other_seed(other)));
}

bool are_hex_digits(const byte *bytes, size_t length) {
    const byte *const end = bytes + length;
    unsigned digits = 0xFFFF;
    for (; end - bytes >= LANES; bytes += LANES) {
        const lanes here = load_lanes(bytes);
        digits &= lane_bits(((here >= all_lanes('0')) & (here <= all_lanes('9'))) |
                            ((here >= all_lanes('a')) & (here <= all_lanes('f'))));
    }
    for (; bytes < end; bytes++)
        digits &= -((*bytes >= '0' && *bytes <= '9') || (*bytes >= 'a' && *bytes <= 'f'));
    return digits == 0xFFFF;
}

/* Write eight bytes as small hex digits. */
static inline lanes hex_of(const byte *bytes) {
    typedef uint8_t eight __attribute__((vector_size(8)));
    typedef uint16_t pairs __attribute__((vector_size(LANES)));
    eight some;
    memcpy(&some, bytes, sizeof some);
    const pairs each = __builtin_convertvector(some, pairs);
    const lanes digits = (lanes)(each >> 4 | (each & 15) << 8);
    return digits + all_lanes('0') + ((digits > all_lanes(9)) & all_lanes('a' - '0' - 10));
}

bool digest_bytes(const struct hasher *hasher, const byte *bytes, size_t length, byte *digest) {
    /* As much as any state of OpenSSL's takes, and aligned for all of them. */
    uint64_t state[MOST_STATE_BYTES / sizeof(uint64_t)];
    return hasher->start(state) == 1 && hasher->update(state, bytes, length) == 1 &&
           hasher->end(digest, state) == 1;
}

bool is_digest(const struct hasher *hasher, const byte *digest, const byte *hex) {
    unsigned alike = 0xFFFF;
    for (size_t place = 0; place < hasher->size; place += 8)
        alike &= lane_bits(hex_of(digest + place) == load_lanes(hex + 2 * place));
    return alike == 0xFFFF;
}

bool has_digest(const struct hasher *hasher, const byte *bytes, size_t length, const byte *hex) {
    byte digest[MOST_DIGEST_BYTES];
    return digest_bytes(hasher, bytes, length, digest) && is_digest(hasher, digest, hex);
}
