#include "digest.h"

#include <string.h>

#if !defined(PORTABLE_LANES) && defined(__x86_64__)
#define HAS_WIDE_LANES
#include <immintrin.h>
#endif

static const uint64_t FIRST = 0x9E3779B185EBCA87u, SECOND = 0xC2B2AE3D27D4EB4Fu,
                      THIRD = 0x165667B19E3779F9u, FOURTH = 0x85EBCA77C2B2AE63u,
                      FIFTH = 0x27D4EB2F165667C5u;

/* The same of 32 bits. */
static const uint64_t FIRST_HALF = 0x9E3779B1u, SECOND_HALF = 0x85EBCA77u, THIRD_HALF = 0xC2B2AE3Du;

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

/* What XXH3 mixes texts with. */
static const byte secret[192] = {
    0xB8, 0xFE, 0x6C, 0x39, 0x23, 0xA4, 0x4B, 0xBE, 0x7C, 0x01, 0x81, 0x2C, 0xF7, 0x21, 0xAD, 0x1C,
    0xDE, 0xD4, 0x6D, 0xE9, 0x83, 0x90, 0x97, 0xDB, 0x72, 0x40, 0xA4, 0xA4, 0xB7, 0xB3, 0x67, 0x1F,
    0xCB, 0x79, 0xE6, 0x4E, 0xCC, 0xC0, 0xE5, 0x78, 0x82, 0x5A, 0xD0, 0x7D, 0xCC, 0xFF, 0x72, 0x21,
    0xB8, 0x08, 0x46, 0x74, 0xF7, 0x43, 0x24, 0x8E, 0xE0, 0x35, 0x90, 0xE6, 0x81, 0x3A, 0x26, 0x4C,
    0x3C, 0x28, 0x52, 0xBB, 0x91, 0xC3, 0x00, 0xCB, 0x88, 0xD0, 0x65, 0x8B, 0x1B, 0x53, 0x2E, 0xA3,
    0x71, 0x64, 0x48, 0x97, 0xA2, 0x0D, 0xF9, 0x4E, 0x38, 0x19, 0xEF, 0x46, 0xA9, 0xDE, 0xAC, 0xD8,
    0xA8, 0xFA, 0x76, 0x3F, 0xE3, 0x9C, 0x34, 0x3F, 0xF9, 0xDC, 0xBB, 0xC7, 0xC7, 0x0B, 0x4F, 0x1D,
    0x8A, 0x51, 0xE0, 0x4B, 0xCD, 0xB4, 0x59, 0x31, 0xC8, 0x9F, 0x7E, 0xC9, 0xD9, 0x78, 0x73, 0x64,
    0xEA, 0xC5, 0xAC, 0x83, 0x34, 0xD3, 0xEB, 0xC3, 0xC5, 0x81, 0xA0, 0xFF, 0xFA, 0x13, 0x63, 0xEB,
    0x17, 0x0D, 0xDD, 0x51, 0xB7, 0xF0, 0xDA, 0x49, 0xD3, 0x16, 0x55, 0x26, 0x29, 0xD4, 0x68, 0x9E,
    0x2B, 0x16, 0xBE, 0x58, 0x7D, 0x47, 0xA1, 0xFC, 0x8F, 0xF8, 0xB8, 0xD1, 0x7A, 0xD0, 0x31, 0xCE,
    0x45, 0xCB, 0x3A, 0x8F, 0x95, 0x16, 0x04, 0x28, 0xAF, 0xD7, 0xFB, 0xCA, 0xBB, 0x4B, 0x40, 0x7E,
};

enum { STRIPE = 64, PAIRS = STRIPE / LANES, STRIPES = (sizeof secret - STRIPE) / 8 };

/* Eight lanes: sums of products, and sums of the words that the lane beside each is due. */
struct sums {
    words products[PAIRS], beside[PAIRS];
};

static inline void add_stripe(struct sums *sums, const byte *at, const byte *key) {
    for (int pair = 0; pair < PAIRS; pair++) {
        const words text = load_words(at + LANES * pair);
        sums->products[pair] += multiply_halves(text ^ load_words(key + LANES * pair));
        sums->beside[pair] += text;
    }
}

/* Add stripes, each with the key that begins a word behind that of the one before. */
static void add_stripes(struct sums *sums, const byte *at, size_t count) {
    for (size_t stripe = 0; stripe < count; stripe++)
        add_stripe(sums, at + STRIPE * stripe, secret + 8 * stripe);
}

#ifdef HAS_WIDE_LANES

/* The same by AVX2. */
__attribute__((target("avx2"))) static void add_wide_stripes(
    struct sums *sums, const byte *at, size_t count
) {
    enum { WIDE = 32 };
    for (int half = 0; half < STRIPE; half += WIDE) {
        __m256i *const to = (__m256i *)((byte *)sums->products + half);
        __m256i *const beside_to = (__m256i *)((byte *)sums->beside + half);
        __m256i products = _mm256_loadu_si256(to), beside = _mm256_loadu_si256(beside_to);
        for (size_t stripe = 0; stripe < count; stripe++) {
            const byte *const key = secret + 8 * stripe + half;
            const __m256i text =
                _mm256_loadu_si256((const __m256i *)(at + STRIPE * stripe + half));
            const __m256i mixed_text =
                _mm256_xor_si256(text, _mm256_loadu_si256((const __m256i *)key));
            products = _mm256_add_epi64(
                products, _mm256_mul_epu32(mixed_text, _mm256_srli_epi64(mixed_text, 32))
            );
            beside = _mm256_add_epi64(beside, text);
        }
        _mm256_storeu_si256(to, products);
        _mm256_storeu_si256(beside_to, beside);
    }
}

#endif

static inline words lanes_of(const struct sums *sums, int pair) {
    const words beside = sums->beside[pair];
    return sums->products[pair] + (words){beside[1], beside[0]};
}

static void scramble(struct sums *sums) {
    const byte *const key = secret + sizeof secret - STRIPE;
    for (int pair = 0; pair < PAIRS; pair++) {
        const words lane = lanes_of(sums, pair);
        sums->products[pair] = (lane ^ lane >> 47 ^ load_words(key + LANES * pair)) * FIRST_HALF;
        sums->beside[pair] = (words){0, 0};
    }
}

/* Multiply two words, and fold their product into one. */
static inline uint64_t multiply_folded(words both) {
    const wide_word product = (wide_word)both[0] * both[1];
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Return the XXH3 of 64 bits of more than 240 bytes; of fewer ones it is computed in other ways. */
static uint64_t xxh3(const byte *bytes, size_t length) {
    struct sums sums = {
        .products = {
            {THIRD_HALF, FIRST}, {SECOND, THIRD}, {FOURTH, SECOND_HALF}, {FIFTH, FIRST_HALF},
        },
    };
    void (*add)(struct sums *, const byte *, size_t) = add_stripes;
#ifdef HAS_WIDE_LANES
    if (__builtin_cpu_supports("avx2"))
        add = add_wide_stripes;
#endif
    const byte *const last = bytes + length - STRIPE;
    const size_t stripes = (length - 1) / STRIPE;
    for (size_t done = 0; done < stripes; done += STRIPES) {
        const size_t count = stripes - done < STRIPES ? stripes - done : STRIPES;
        add(&sums, bytes + STRIPE * done, count);
        if (count == STRIPES)
            scramble(&sums);
    }
    add_stripe(&sums, last, secret + sizeof secret - STRIPE - 7);
    uint64_t hash = length * FIRST;
    for (int pair = 0; pair < PAIRS; pair++)
        hash += multiply_folded(lanes_of(&sums, pair) ^ load_words(secret + 11 + LANES * pair));
    hash = (hash ^ hash >> 37) * 0x165667919E3779F9u;
    return hash ^ hash >> 32;
}

enum { LEAST_FOR_XXH3 = 241 };

uint64_t content_digest(const byte *bytes, size_t length) {
    return length < LEAST_FOR_XXH3 ? xxh64(bytes, length, 0) : xxh3(bytes, length);
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
    if (!hasher->start)
        return hasher->update(digest, bytes, length) == 1;
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
