/* Feeds outlines with documents in pieces of their exact size: a target of libFuzzer.

   The head of an input says how long pieces are, how often the end of the document is repeated, so
   that the limits of an outline are reached, and where that end begins. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outline.h"

enum { HEAD = 4, MOST_BYTES = 6 << 20, MOST_TEXT = 8 << 20 };

static void demand(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static void *room(size_t size) {
    void *const found = malloc(size ? size : 1);
    demand(found, "there is memory");
    return found;
}

/* Read a document in pieces that change their length; return the last result. */
static int32_t read_pieces(struct outline *outline, const byte *data, size_t size, unsigned length) {
    int32_t result = OUTLINE_UNFINISHED;
    unsigned number = 0;
    for (size_t at = 0; at < size; number++) {
        const size_t wanted = 1 + (length * (number % 3 + 1) + number) % 4096;
        const size_t taken = wanted < size - at ? wanted : size - at;
        byte *const piece = room(taken);
        memcpy(piece, data + at, taken);
        const int32_t next = add_to_outline(outline, piece, taken);
        free(piece);
        demand(result < OUTLINE_INVALID || next == result, "an error is final");
        result = next;
        at += taken;
    }
    return result;
}

static void check_text(const struct outline *cut, const struct outline *whole, int32_t result, size_t size) {
    uint64_t one, other;
    const byte *const text = outline_text(cut, &one);
    const byte *const same = outline_text(whole, &other);
    demand(one <= MOST_TEXT && one <= size, "an outline is no longer than its document");
    const bool is_same = one == other && !memcmp(text, same, one);
    demand(is_same || result >= OUTLINE_INVALID, "pieces do not change the outline");
    if (result != OUTLINE_WHOLE)
        return;
    struct outline *const again = new_outline();
    demand(again, "there is memory");
    add_to_outline(again, text, one);
    /* A number ends with the next byte. */
    demand(add_to_outline(again, (const byte *)"\n", 1) == OUTLINE_WHOLE, "an outline is JSON");
    free_outline(again);
}

int LLVMFuzzerTestOneInput(const byte *data, size_t size) {
    if (size <= HEAD)
        return 0;
    const unsigned length = data[0] * 8u, factor = 1u << data[1] % 14;
    size -= HEAD;
    const size_t start = (data[2] * 256u + data[3]) % size;
    const size_t repeated = size - start;
    const size_t most = (MOST_BYTES - start) / repeated;
    const size_t times = factor < most ? factor : most;
    byte *const document = room(start + repeated * times);
    memcpy(document, data + HEAD, start);
    for (size_t number = 0; number < times; number++)
        memcpy(document + start + number * repeated, data + HEAD + start, repeated);
    size = start + repeated * times;

    struct outline *const cut = new_outline(), *const whole = new_outline();
    demand(cut && whole, "there is memory");
    const int32_t result = read_pieces(cut, document, size, length);
    demand(add_to_outline(whole, document, size) == result, "pieces do not change the result");
    check_text(cut, whole, result, size);
    free_outline(cut);
    free_outline(whole);
    free(document);
    return 0;
}
