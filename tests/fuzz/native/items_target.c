/* Finds the items of a list that is cut anywhere, and entries of HELM in it: a target of libFuzzer.

   The head of an input says how much of the rest is there. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helm.h"

enum { MOST_FOUND = 8, MOST_NUMBERS = 4 };

static const char names[] = "abstats";
static const struct kept members[] = {
    {0, 0, 1, 3}, {0, 1, 4, 2}, {1, 1, 0, 0}, {2, 5, 6, 1}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 1, 0, 0},
};
static const char letters[] = "{\"id\": , \"sum\": , \"sum_squared\": , \"min\": , \"max\": , "
                              "\"mean\": , \"variance\": , \"stddev\": }";

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

static struct item_scan begin(const byte *bytes, size_t size, struct item *items) {
    return (struct item_scan){
        .bytes = bytes, .size = size, .line = 1, .wide = UINT64_MAX, .longest = 4096,
        .items = items, .most = MOST_FOUND,
    };
}

/* Find items, and what is kept of them. */
static uint64_t find(const byte *bytes, size_t size, struct item *items, struct keep *keep) {
    struct item_scan scan = begin(bytes, size, items);
    const uint64_t count = scan_items(&scan, keep);
    demand(count <= MOST_FOUND && scan.at <= size, "items are within the bytes");
    for (uint64_t place = 0; place < count; place++) {
        demand(bytes[items[place].start] == '{', "an item begins with its bracket");
        demand(bytes[items[place].stop - 1] == '}', "an item ends with its bracket");
    }
    return count;
}

static void check_entries(const byte *bytes, size_t size, const struct item *items) {
    uint32_t ends[FIGURES + 2], next[1] = {0}, text = 0;
    double values[MOST_NUMBERS];
    struct item found[MOST_FOUND];
    for (uint32_t at = 0; at < sizeof letters - 1; at++)
        if (letters[at] == ':' || letters[at] == '}')
            ends[text++] = at + (letters[at] == ':' ? 2 : 1);
    const struct entry_form form = {(const byte *)letters, ends, FIGURES + 2, 1};
    struct entry_forms forms = {&form, next, 1, 0, values, 0, MOST_NUMBERS};
    struct item_scan scan = begin(bytes, size, found);
    const uint64_t count = scan_entries(&scan, &forms);
    demand(forms.used == count && count <= MOST_NUMBERS, "each entry has a value");
    for (uint64_t place = 0; place < count; place++) {
        demand(found[place].start == items[place].start, "an entry is an item");
        demand(found[place].stop == items[place].stop, "an entry ends where its item does");
        demand(found[place].id_stop < found[place].stop, "an id is within its entry");
    }
}

int LLVMFuzzerTestOneInput(const byte *data, size_t size) {
    if (!size)
        return 0;
    const size_t there = 1 + (size - 1) * data[0] / 255;
    byte *const bytes = room(there);
    memcpy(bytes, data + 1, there - 1);
    bytes[there - 1] = 0;
    struct item items[MOST_FOUND], again[MOST_FOUND];
    struct keep keep = {(const byte *)names, members, {room(there), 0, there, false}};
    struct keep kept = {(const byte *)names, members, {room(there + 1), 0, there + 1, false}};
    const uint64_t count = find(bytes, there - 1, items, &keep);
    demand(!keep.texts.full || count < MOST_FOUND, "what is kept has room");
    demand(find(bytes, there - 1, again, NULL) >= count, "to keep something takes no item more");
    check_entries(bytes, there - 1, items);
    if (keep.texts.size) {
        const size_t length = keep.texts.size - 1;
        keep.texts.data[length] = 0;
        demand(find(keep.texts.data, length, again, &kept) == count, "what is kept is JSON");
        demand(kept.texts.size == length + 1, "what is kept is kept again");
        demand(!memcmp(kept.texts.data, keep.texts.data, length), "what is kept stays the same");
    }
    free(bytes);
    free(keep.texts.data);
    free(kept.texts.data);
    return 0;
}
