/* Sixteen bytes, looked at at once. */

#ifndef EVALSTREAM_LANES_H
#define EVALSTREAM_LANES_H

#include <stdint.h>
#include <string.h>

/* With PORTABLE_LANES nothing here depends on the processor; a test compares both. */
#if !defined(PORTABLE_LANES) && defined(__SSE2__)
#include <emmintrin.h>
#elif !defined(PORTABLE_LANES) && defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { LANES = 16 };

/* They are signed: bytes above 127 are negative. A comparison gives -1 and 0. */
typedef int8_t lanes __attribute__((vector_size(LANES)));

static inline lanes load_lanes(const uint8_t *at) {
    lanes bytes;
    memcpy(&bytes, at, LANES);
    return bytes;
}

static inline void store_lanes(uint8_t *at, lanes bytes) { memcpy(at, &bytes, LANES); }

static inline lanes all_lanes(char one) {
    const int8_t each = (int8_t)one;
    return (lanes){each, each, each, each, each, each, each, each,
                   each, each, each, each, each, each, each, each};
}

/* Return a bit for each lane that is -1; the others are 0. */
static inline unsigned lane_bits(lanes found) {
#if !defined(PORTABLE_LANES) && defined(__SSE2__)
    return (unsigned)_mm_movemask_epi8((__m128i)found);
#else
    const lanes weights = {1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128};
    found &= weights;
#if !defined(PORTABLE_LANES) && defined(__aarch64__)
    const uint8x16_t bytes = (uint8x16_t)found;
    return vaddv_u8(vget_low_u8(bytes)) | (unsigned)vaddv_u8(vget_high_u8(bytes)) << 8;
#else
    const uint64_t ones = 0x0101010101010101u;
    uint64_t halves[2];
    memcpy(halves, &found, LANES);
    return (unsigned)(halves[0] * ones >> 56 | halves[1] * ones >> 56 << 8);
#endif
#endif
}

/* Two words. */
typedef uint64_t words __attribute__((vector_size(LANES)));

static inline words load_words(const uint8_t *at) {
    words both;
    memcpy(&both, at, LANES);
    return both;
}

/* Multiply the low half of each word with the high one. */
static inline words multiply_halves(words both) {
#if !defined(PORTABLE_LANES) && defined(__SSE2__)
    return (words)_mm_mul_epu32((__m128i)both, (__m128i)(both >> 32));
#elif !defined(PORTABLE_LANES) && defined(__aarch64__)
    return (words)vmull_u32(vmovn_u64((uint64x2_t)both), vshrn_n_u64((uint64x2_t)both, 32));
#else
    return (both & 0xFFFFFFFFu) * (both >> 32);
#endif
}

/* Tell whether two texts begin with the same bytes, `length` of them and at least one. Both are
   read up to LANES - 1 bytes further. */
static inline _Bool begin_alike(const uint8_t *one, const uint8_t *other, unsigned length) {
    for (;; one += LANES, other += LANES, length -= LANES) {
        const unsigned alike = lane_bits(load_lanes(one) == load_lanes(other));
        if (length <= LANES)
            return !(~alike & ((2u << (length - 1)) - 1));
        if (alike != 0xFFFF)
            return 0;
    }
}

/* Return a bit for each of the 2 * LANES first bytes of two texts that are the same. */
static inline uint32_t alike_bits(const uint8_t *one, const uint8_t *other) {
    return lane_bits(load_lanes(one) == load_lanes(other)) |
           lane_bits(load_lanes(one + LANES) == load_lanes(other + LANES)) << LANES;
}

#endif
