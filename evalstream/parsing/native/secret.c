#include "secret.h"

#include <string.h>

/* Every token has a run of so many letters and digits; the others of its bytes are hyphens,
   underscores and dots. A private key and a bearer token may also have slashes, which may be
   escaped: their marks are looked for. */
enum { SHORTEST_RUN = 12, SHORTEST_BEARER = 24, SHORTEST_VALUE = 12 };

/* How many bytes are looked at in one step, how many of those before count again, since a run may
   have begun there, and how many behind are read. */
enum { STEP = 48, BEFORE = 16, BEHIND = 3 };

/* What a byte may be in a token: part of a run, a joint, or the first of a mark. */
enum { IN_RUN = 1, JOINT = 2, INITIAL = 4 };

static const byte kinds[256] = {
    [' '] = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, /* - . */
    ['0'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0,
    ['@'] = 0, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* A */
    ['P'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 3, /* _ */
    ['`'] = 0, 1, 1, 1, 1, 5, 1, 5, 5, 1, 1, 1, 1, 1, 1, 1, /* e g h */
    ['p'] = 1, 1, 1, 5, 1, 1, 1, 1, 5, 1, 1, 0, 0, 0, 0, 0, /* s x */
};

/* What is to be looked at closely: a bit for each byte of a step. */
struct glance {
    uint64_t words; /* letters and digits */
    uint64_t marks; /* where a mark, an escape of ASCII or the end of a key may be */
};

static inline lanes between(lanes bytes, char first, char last) {
    return (bytes >= all_lanes(first)) & (bytes <= all_lanes(last));
}

static inline void look(const byte *at, struct glance *glance, int place) {
    const lanes here = load_lanes(at), next = load_lanes(at + 1);
    const lanes words = between(here, '0', '9') | between(here | all_lanes(' '), 'a', 'z');
    const lanes private = (here == all_lanes('Y')) & (next == all_lanes('-'));
    const lanes escape = (here == all_lanes('u')) & (next == all_lanes('0'));
    const lanes bearer = (here == all_lanes('r')) & (load_lanes(at + 2) == all_lanes('r')) &
                         (load_lanes(at + 3) == all_lanes(' '));
    const lanes key =
        (here == all_lanes('"')) & ((next == all_lanes(':')) | (next <= all_lanes(' ')));
    glance->words |= (uint64_t)lane_bits(words) << place;
    glance->marks |= (uint64_t)lane_bits(private | escape | bearer | key) << place;
}

/* Tell whether a token of a known form may start here, in a run that ends at `end`. */
static bool is_token(const byte *at, const byte *end, const byte *stop) {
    static const struct {
        const char *mark;
        ptrdiff_t shortest;
    } forms[] = {
        {"sk-", 23},   {"ghp_", 40}, {"gho_", 40},        {"ghu_", 40},   {"ghs_", 40},
        {"ghr_", 40},  {"hf_", 33},  {"github_pat_", 51}, {"glpat-", 26}, {"xox", 15},
        {"AKIA", 20},  {"ASIA", 20}, {"AIza", 39},        {"eyJ", 18},
    };
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
        if (begins_with(at, end, forms[form].mark))
            return end - at >= forms[form].shortest && (*at != 'e' || begins_with(end, stop, ".eyJ"));
    return false;
}

/* The same where `end` is only that of the last run that was looked at. */
static inline bool may_be_token(const byte *at, const byte *stop, const byte **end) {
    if (!(kinds[*at] & INITIAL))
        return false;
    if (*end <= at)
        for (*end = at; *end < stop && kinds[**end] & IN_RUN;)
            ++*end;
    return is_token(at, *end, stop);
}

/* Look for tokens in the bytes that may be one, among which `run` is, and return their end. None
   follows a letter or a digit, but those of an escape are not text. */
static const byte *skip_token(const byte *line, const byte *run, const byte *stop, bool *found) {
    const byte *at = run;
    while (at > line && kinds[at[-1]])
        at--;
    const bool is_escaped = at > line && at[-1] == '\\';
    const byte *end = at;
    *found = may_be_token(at, stop, &end) ||
             (is_escaped && (may_be_token(at + 1, stop, &end) ||
                             (stop - at > 5 && may_be_token(at + 5, stop, &end))));
    for (; !*found && at < stop && kinds[*at]; at++)
        *found = kinds[*at] & JOINT && may_be_token(at + 1, stop, &end);
    return at;
}

/* Tell whether this is the end of a bearer token's mark, and what follows may be a token. */
static bool may_be_bearer(const byte *line, const byte *at, const byte *stop) {
    if (at - line < 3 || memcmp(at - 2, "earer ", 6) || (at[-3] | 0x20) != 'b')
        return false;
    size_t count = 0;
    for (at += 4; at < stop && *at == ' ';)
        at++;
    for (; at < stop && (kinds[*at] || is_one_of(*at, "~+/\\")); at++)
        count++;
    return count >= SHORTEST_BEARER;
}

static bool is_private_key(const byte *line, const byte *at, const byte *stop) {
    static const char mark[] = "PRIVATE KEY";
    const ptrdiff_t length = sizeof mark - 1;
    return at - line >= length && !memcmp(at - length + 1, mark, (size_t)length) &&
           begins_with(at, stop, "Y-----");
}

/* Tell whether this is an escape of a character that keys, tokens and their names may have. */
static bool hides_character(const byte *line, const byte *at, const byte *stop) {
    if (at == line || at[-1] != '\\' || stop - at < 5 || memcmp(at, "u00", 3) ||
        at[3] < '2' || at[3] > '7')
        return false;
    const byte one = (byte)(hex_digit(at[3]) << 4 | hex_digit(at[4]));
    return kinds[one] || is_one_of(one, " .~+/");
}

/* Return the byte that comes so many bytes before, 0 where the line has none. */
static inline byte before(const byte *line, const byte *at, int count) {
    return at - line >= count ? at[-count] : 0;
}

/* Tell whether the last two characters of a key may be those of a secret's name. Python takes some
   characters above ASCII for letters of ASCII where case does not matter, but none for the last. */
static inline bool may_end_name(const byte *line, const byte *quote) {
    const byte last = before(line, quote, 1) | 0x20, other = before(line, quote, 2);
    if (before(line, quote, 6) == '\\' || before(line, quote, 7) == '\\')
        return true;
    switch (last) {
    case 'y':
    case 't':
    case 'n':
        return (other | 0x20) == 'e' || other == '\\' || other >= 0x80;
    case 'd':
        return (other | 0x20) == 'r' || (other | 0x20) == 'w' || other == '\\' || other >= 0x80;
    case 'e':
        return (other | 0x20) == 's' || other == '\\' || other >= 0x80;
    default:
        return false;
    }
}

/* What a name is of. */
enum named { NOTHING, A_TOKEN, A_SECRET };

enum { LONGEST_NAME = 15 };

static inline bool ends_with(const byte *stop, size_t length, const char *text) {
    const size_t count = strlen(text);
    return length >= count && !memcmp(stop - count, text, count);
}

/* Tell what a key may be the name of, which ends before a quote. */
static enum named named_by(const byte *line, const byte *quote) {
    static const char *const secrets[] = {
        "apikey",      "privatekey",   "secretkey",   "secretaccesskey", "secret",
        "password",    "passwd",       "passphrase",  "accesstoken",     "authtoken",
        "bearertoken", "refreshtoken", "secrettoken", "sessiontoken",
    };
    byte name[LONGEST_NAME];
    size_t length = 0;
    /* Hyphens and underscores may part the words of a name, or may not. */
    for (const byte *at = quote; at > line && length < LONGEST_NAME && at[-1] != '"'; at--) {
        if (at[-1] == '\\' || at[-1] >= 0x80)
            return A_SECRET;
        if (at[-1] != '-' && at[-1] != '_')
            name[LONGEST_NAME - ++length] = at[-1] | 0x20;
    }
    for (size_t place = 0; place < sizeof secrets / sizeof *secrets; place++)
        if (ends_with(name + LONGEST_NAME, length, secrets[place]))
            return A_SECRET;
    return ends_with(name + LONGEST_NAME, length, "token") ? A_TOKEN : NOTHING;
}

/* Tell whether the value of a key that ends at a quote is a text that may be a secret: so many
   characters without a space, one of which is a digit if the name is that of a token. */
static bool may_be_secret(const byte *quote, const byte *stop, enum named named) {
    const byte *at = skip_spaces(quote + 1);
    bool is_numbered = named == A_SECRET, is_long = false;
    if (named == NOTHING || *at != ':')
        return false;
    at = skip_spaces(at + 1);
    if (*at != '"')
        return false;
    size_t count = 0;
    for (at++; at < stop && *at != '"'; at++) {
        bool is_plain = *at > ' ' && *at < 0x7F;
        is_numbered |= is_digit(*at);
        if (*at == '\\' && *++at == 'u') {
            /* None of what a secret consists of is above ASCII. */
            if (stop - at < 5)
                return true;
            is_plain = at[1] == '0' && at[2] == '0';
            at += 4;
        }
        count = is_plain ? count + 1 : 0;
        is_long |= count == SHORTEST_VALUE;
    }
    return is_numbered && is_long;
}

static bool is_suspect(const byte *line, const byte *at, const byte *stop) {
    switch (*at) {
    case 'Y':
        return is_private_key(line, at, stop);
    case 'u':
        return hides_character(line, at, stop);
    case 'r':
        return may_be_bearer(line, at, stop);
    default:
        return may_end_name(line, at) && may_be_secret(at, stop, named_by(line, at));
    }
}

/* Return the bytes, of those from BEFORE bytes before a step on, at which a run of words begins or
   goes on that is long enough. */
static inline uint64_t long_runs(uint64_t words) {
    words &= words >> 1;
    words &= words >> 2;
    words &= words >> 4;
    return words & words >> (SHORTEST_RUN - 8);
}

bool may_hold_secret(const byte *line, const byte *stop) {
    byte rest[STEP + BEHIND];
    const byte *done = line;
    uint64_t words = 0;
    bool found = false;
    for (const byte *at = line; at < stop && !found; at += STEP) {
        struct glance glance = {0, 0};
        const byte *bytes = at;
        if (stop - at < STEP + BEHIND) {
            memset(rest, 0, sizeof rest);
            memcpy(rest, at, (size_t)(stop - at));
            bytes = rest;
        }
        for (int place = 0; place < STEP; place += LANES)
            look(bytes + place, &glance, place);
        words = glance.words << BEFORE | words >> STEP;
        for (uint64_t marks = glance.marks; marks && !found; marks &= marks - 1)
            found = is_suspect(line, at + __builtin_ctzll(marks), stop);
        for (uint64_t runs = long_runs(words); runs && !found;) {
            const byte *const run = at - BEFORE + __builtin_ctzll(runs);
            if (run >= done)
                done = skip_token(line, run, stop, &found);
            /* The addition carries through all bits of this run. */
            runs &= runs + (runs & -runs);
        }
    }
    return found;
}
