#include "habits.h"

#include <math.h>
#include <string.h>

static const char BETWEEN = '\x1e', BEHIND = '\x1f', APART = '\xff';

void start_facts(struct facts *facts) {
    facts->references.span = facts->reference_room;
    facts->references.most = MOST_REFERENCES;
    facts->choices.span = facts->choice_room;
    facts->choices.most = MOST_CHOICES;
    facts->answered.span = facts->answered_room;
    facts->answered.most = MOST_ANSWERED;
    facts->outputs.span = facts->output_room;
    facts->outputs.most = MOST_OUTPUTS;
    facts->said.span = facts->said_room;
    facts->said.most = MOST_SAID;
    facts->asked.span = facts->asked_room;
    facts->told.span = facts->told_room;
    facts->asked.most = facts->told.most = MOST_ASKED;
}

void clear_facts(struct facts *facts) {
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        facts->slot[slot].kind = ABSENT;
    facts->references.count = facts->choices.count = facts->answered.count = 0;
    facts->outputs.count = facts->said.count = facts->asked.count = facts->told.count = 0;
    facts->says_more = false;
    if (facts->turns)
        memset(facts->by_users, 0, sizeof facts->by_users);
    facts->turns = facts->assistants = facts->calls = facts->calls_before = facts->answers = 0;
    facts->odd_references = facts->is_exact = facts->is_bare = false;
    facts->doubts = NO_CHECK;
    if (!++facts->generation) {
        /* After four billion rows: no bucket may seem to be this row's. */
        memset(facts->bucket, 0, sizeof facts->bucket);
        facts->generation = 1;
    }
}

static bool add(struct spans *spans, const struct span *span) {
    if (spans->count == spans->most)
        return false;
    spans->span[spans->count++] = *span;
    return true;
}

/* Return where a call of this id is in the table, or would be (FNV-1a, linear probing). */
static size_t bucket_of(const struct facts *facts, const struct span *id) {
    uint32_t hash = 2166136261u;
    for (size_t place = 0; place < id->length; place++)
        hash = (hash ^ id->start[place]) * 16777619u;
    size_t bucket = hash % CALL_BUCKETS;
    while (facts->bucket[bucket].generation == facts->generation &&
           !same(&facts->call[facts->bucket[bucket].call], id))
        bucket = (bucket + 1) % CALL_BUCKETS;
    return bucket;
}

/* Take the id of a call. It must be new; once one is in doubt no more of them are kept. */
static void add_call_id(struct facts *facts, const struct span *id) {
    const size_t bucket = bucket_of(facts, id);
    if (id->escaped || facts->calls == MOST_CALLS ||
        facts->bucket[bucket].generation == facts->generation)
        facts->doubts |= ES305;
    if (!(facts->doubts & ES305)) {
        facts->bucket[bucket].generation = facts->generation;
        facts->bucket[bucket].call = (uint32_t)facts->calls;
        facts->call[facts->calls] = *id;
    }
}

static bool was_called_before(const struct facts *facts, const struct span *id) {
    const size_t bucket = bucket_of(facts, id);
    return facts->bucket[bucket].generation == facts->generation &&
           facts->bucket[bucket].call < facts->calls_before;
}

static inline bool has(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind != ABSENT && facts->slot[slot].kind != NULL_KIND;
}

static inline bool is_a_number(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind == INTEGER || facts->slot[slot].kind == FRACTION;
}

/* Return the number in a slot, NAN where there is none, or none that is held exactly. */
static inline double number_of(const struct facts *facts, enum slot slot) {
    const struct value *const value = &facts->slot[slot];
    const bool is_known = value->kind == FRACTION || (value->kind == INTEGER && value->number.exact);
    return is_known ? value->number.value : NAN;
}

static inline bool is_true(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind == BOOLEAN && facts->slot[slot].number.value == 1;
}

/* Tell whether a turn answers only earlier calls, and whether one of a tool answers any. */
static bool answers_calls(struct facts *facts, const struct span *role) {
    const struct span *const answers = text_of(facts, TURN_ANSWERS);
    if (answers->length && !add(&facts->answered, answers))
        return false;
    /* A turn that answers no call says so by null, or not at all; one of a tool has to. */
    if (!facts->answered.count && (has(facts, TURN_ANSWERS) || is(role, "tool")))
        return false;
    for (size_t one = 0; one < facts->answered.count; one++)
        if (!was_called_before(facts, &facts->answered.span[one]))
            return false;
    return true;
}

/* Keep a text of the output, or of the assistant. */
static void add_text(struct facts *facts, struct spans *texts, const struct value *value) {
    if (value->kind == STRING && !add(texts, &value->span))
        facts->says_more = true;
}

enum { OF_TRANSCRIPTS = ES302 | ES303 | ES304 | ES305 | ES306 | ES315 | ES320 };

/* Tell whether what stands at a place of a JSON string is a part of an escape that begins before. */
static bool is_within_escape(const byte *start, const byte *at) {
    enum { LONGEST_ESCAPE = 6 };
    for (ptrdiff_t back = 1; back < LONGEST_ESCAPE && back <= at - start; back++) {
        const byte *slash = at - back;
        if (*slash != '\\')
            continue;
        while (slash > start && slash[-1] == '\\')
            slash--;
        const bool begins = (at - back - slash) % 2 == 0;
        return begins && back < (at[1 - back] == 'u' ? LONGEST_ESCAPE : 2);
    }
    return false;
}

enum answer finds(const struct span *text, const struct span *part) {
    enum { MOST_TRIES = 16, GLANCE = 64 };
    const byte *at = text->start, *const stop = text->start + text->length;
    const size_t glance = part->length < GLANCE ? part->length : GLANCE;
    for (int tries = 0; part->length && (size_t)(stop - at) >= part->length; at++) {
        at = memchr(at, *part->start, (size_t)(stop - at) - part->length + 1);
        if (!at)
            return NO;
        if (memcmp(at, part->start, glance))
            continue;
        if (!memcmp(at, part->start, part->length) && !is_within_escape(text->start, at))
            return YES;
        if (++tries == MOST_TRIES)
            return PERHAPS;
    }
    return NO;
}

static bool holds(const struct span *text, const struct span *part) {
    return finds(text, part) == YES;
}

bool has_more(const struct value *value, const struct spans *kept) {
    return value->kind == ARRAY && !kept->count && value->stop - value->start > 2;
}

static void end_turn(struct facts *facts, const struct value *turn) {
    const struct span *const role = text_of(facts, TURN_ROLE);
    if (turn->kind != OBJECT)
        facts->doubts |= OF_TRANSCRIPTS;
    if (number_of(facts, TURN_PLACE) != (double)facts->turns)
        facts->doubts |= ES304;
    if (role->escaped || facts->slot[TURN_ROLE].kind != STRING)
        facts->doubts |= ES305 | ES315;
    if (!answers_calls(facts, role))
        facts->doubts |= ES305;
    facts->assistants += is(role, "assistant");
    if (facts->turns < USER_TURNS && (role->escaped || is(role, "user")))
        facts->by_users[facts->turns / 64] |= (uint64_t)1 << facts->turns % 64;
    if (facts->slot[TURN_CONTENT].kind == STRING && !is(role, "assistant"))
        add(is(role, "user") ? &facts->asked : &facts->told, text_of(facts, TURN_CONTENT));
    if (role->escaped || is(role, "assistant")) {
        add_text(facts, &facts->said, &facts->slot[TURN_CONTENT]);
        facts->says_more |= facts->slot[TURN_CONTENT].kind == ARRAY;
    }
    facts->slot[TURN_CONTENT].kind = ABSENT;
    facts->turns++;
    facts->calls_before = facts->calls;
    facts->answered.count = 0;
    facts->slot[TURN_ANSWERS].kind = facts->slot[TURN_ROLE].kind = ABSENT;
    facts->slot[TURN_PLACE].kind = facts->slot[CALL_ID].kind = ABSENT;
}

static void end_call(struct facts *facts, const struct value *call) {
    if (call->kind != OBJECT || facts->slot[CALL_ID].kind != STRING)
        facts->doubts |= ES305;
    facts->slot[CALL_ID].kind = ABSENT;
    facts->calls++;
}

static bool add_reference(struct facts *facts, const struct value *value) {
    if (value->kind == STRING)
        return add(&facts->references, &value->span);
    facts->odd_references = true;
    return true;
}

static bool is_space(byte one) { return one == ' ' || (one >= '\t' && one <= '\r') || (one >= 0x1C && one <= 0x1F); }

struct span bare(const byte *start, size_t length) {
    for (; length && is_space(*start); start++, length--) {
    }
    for (; length && is_space(start[length - 1]); length--) {
    }
    return (struct span){.start = start, .length = length, .ascii = true};
}

/* Tell whether the method of an answer may begin with a word, however it is written. */
static bool may_begin_with(const struct span *method, const char *first) {
    if (method->escaped || !method->ascii)
        return true;
    struct span text = bare(method->start, method->length);
    for (; *first && text.length && folded(*text.start) == (byte)*first; first++) {
        text.start++;
        text.length--;
    }
    return !*first;
}

bool keep_fact(struct walk *walk, enum slot slot, const struct value *value) {
    struct facts *const facts = walk->facts;
    switch (slot) {
    case A_REFERENCE:
        return add_reference(facts, value);
    case A_CHOICE:
        return value->kind == STRING && add(&facts->choices, &value->span);
    case TURN_ANSWERS_ONE:
        if (value->kind != STRING || !add(&facts->answered, &value->span))
            facts->doubts |= ES305;
        return true;
    case CALL_ID:
        if (value->kind == STRING)
            add_call_id(facts, &value->span);
        return true;
    case A_CALL:
        end_call(facts, value);
        return true;
    case A_TURN:
        end_turn(facts, value);
        return true;
    case AN_ANSWER:
        facts->answers++;
        facts->is_exact |= may_begin_with(text_of(facts, ANSWER_METHOD), "exact");
        facts->is_bare |= may_begin_with(text_of(facts, ANSWER_METHOD), "none");
        return true;
    case OUTPUT_TEXT:
    case AN_OUTPUT_TEXT:
        add_text(facts, &facts->outputs, value);
        return true;
    case REFERENCE:
        return value->kind == STRING ? add_reference(facts, value) : value->kind != OBJECT;
    default:
        return true;
    }
}

static enum interaction interaction_of(const struct facts *facts) {
#define TEXT_OF_TYPE(name, text) text,
    static const char *const texts[] = {INTERACTION_TYPES(TEXT_OF_TYPE)};
#undef TEXT_OF_TYPE
    const struct span *const named = text_of(facts, INTERACTION);
    for (int type = 0; type < INTERACTIONS; type++)
        if (is(named, texts[type]))
            return (enum interaction)type;
    return NO_INTERACTION;
}

static bool fits_interaction(
    const struct facts *facts, const struct demands *demands, enum interaction interaction
) {
    const uint64_t wanted = demands->wanted[interaction], unwanted = demands->unwanted[interaction];
    for (uint64_t left = wanted | unwanted; left; left &= left - 1) {
        const enum slot slot = (enum slot)__builtin_ctzll(left);
        if (has(facts, slot) != (wanted >> slot & 1))
            return false;
    }
    return true;
}

void check_conditions(struct walk *walk, const struct demands *demands) {
    struct facts *const facts = walk->facts;
    const enum interaction interaction = facts->interaction = interaction_of(facts);
    byte kinds[SLOT_COUNT + 1];
    size_t count = 0;
    const bool fits = interaction == NO_INTERACTION || fits_interaction(facts, demands, interaction);
    if (fits && !walk->signature.size)
        return;
    kinds[count++] = (byte)interaction;
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        for (int type = 0; type < INTERACTIONS; type++)
            if ((demands->wanted[type] | demands->unwanted[type]) >> slot & 1) {
                kinds[count++] = (byte)facts->slot[slot].kind;
                break;
            }
    deviate(walk, CONDITION, 0, kinds, count);
}

static inline bool failed(const struct facts *facts) { return text_of(facts, ERROR)->length > 0; }

double score_of(const struct facts *facts) {
    return facts->slot[SCORE].kind == BOOLEAN ? facts->slot[SCORE].number.value
                                              : number_of(facts, SCORE);
}

/* Tell whether a score is one that by the bounds of a metric no answer has that is right, or wrong. */
static bool may_contradict(double score, bool is_right, const struct demands *demands) {
    if (is_right)
        return score <= demands->right_up_to || score >= demands->right_from;
    return score >= demands->wrong_from || score <= demands->wrong_up_to;
}

/* Tell whether a score of 0 or 1 contradicts that an answer is right, or wrong. */
static bool contradicts(double score, bool is_right) { return score == (is_right ? 0 : 1); }

/* Return the rules that may object to a score: it is within all bounds, and it is right or wrong
   where it says so. */
static uint32_t doubts_of_score(const struct facts *facts, const struct demands *demands) {
    const double score = score_of(facts);
    const bool is_correct = is_true(facts, CORRECT);
    uint32_t doubts = NO_CHECK;
    if (!isnan(score) && !(demands->lowest <= score && score <= demands->highest))
        doubts |= ES308;
    if (demands->judges_binary && !isnan(score) && score != 0 && score != 1)
        doubts |= ES710;
    if (facts->slot[CORRECT].kind == BOOLEAN && may_contradict(score, is_correct, demands))
        doubts |= ES307 | ES808;
    if (facts->slot[CORRECT].kind == BOOLEAN && contradicts(score, is_correct))
        doubts |= ES307;
    if (is_correct && failed(facts))
        doubts |= ES314;
    return doubts;
}

bool are_alike(const struct span *one, const struct span *other) {
    if (one->length != other->length)
        return false;
    for (size_t place = 0; place < one->length; place++)
        if (folded(one->start[place]) != folded(other->start[place]))
            return false;
    return true;
}

byte letter_of(struct span text) {
    if (text.length > 1 && (*text.start == '(' || *text.start == '[')) {
        text.start++;
        text.length--;
    }
    if (text.length == 2 && memchr(")].:", text.start[1], 4))
        text.length--;
    const byte letter = text.length == 1 ? folded(*text.start) : 0;
    return letter >= 'a' && letter <= 'z' ? letter : 0;
}

/* Tell whether a text, without white space around it, is the letter of one of so many choices:
   A, (a), b. and so on; or the number of one, from 0 or from 1. */
static bool numbers_a_choice(struct span text, size_t choices) {
    size_t number = 0, digits = 0;
    for (; digits < text.length && text.start[digits] >= '0' && text.start[digits] <= '9'; digits++)
        number = digits < 5 ? number * 10 + (size_t)(text.start[digits] - '0') : number;
    if (digits && digits == text.length && digits < 5 && number <= choices)
        return true;
    const byte *const line = memchr(text.start, '\n', text.length);
    if (line)
        text = bare(text.start, (size_t)(line - text.start));
    const byte letter = letter_of(text);
    return letter && (size_t)(letter - 'a') < choices;
}

/* Tell whether an ASCII text surely differs from another one in case-folded letters, white space
   around both aside: no byte above 127 comes before the first that is another one. */
static bool surely_differ(const struct span *text, const struct span *other) {
    for (size_t place = 0; place < other->length && other->start[place] < 0x80; place++) {
        if (place == text->length)
            return !is_space(other->start[place]);
        if (folded(text->start[place]) != folded(other->start[place]))
            return true;
    }
    return false;
}

enum { LONGEST_CHOICE = 1 << 12 };

/* Tell whether a reference is one of the choices, its letter, or its number: whatever its case, and
   white space around it. Of text beyond ASCII that is not written alike nothing is known. */
static enum answer is_choice(const struct span *reference, const struct spans *choices) {
    byte room[2][LONGEST_CHOICE];
    struct texts own = {.data = room[0], .capacity = LONGEST_CHOICE};
    for (size_t choice = 0; choice < choices->count; choice++)
        if (same(reference, &choices->span[choice]))
            return YES;
    write_decoded(&own, reference);
    if (own.full || !is_ascii(own.data, own.size))
        return PERHAPS;
    const struct span text = bare(own.data, own.size);
    if (numbers_a_choice(text, choices->count))
        return YES;
    enum answer answer = NO;
    for (size_t choice = 0; choice < choices->count; choice++) {
        struct texts other = {.data = room[1], .capacity = LONGEST_CHOICE};
        write_decoded(&other, &choices->span[choice]);
        const struct span known = bare(other.data, other.size);
        if (other.full || !is_ascii(other.data, other.size)) {
            if (other.full || !surely_differ(&text, &known))
                answer = PERHAPS;
        } else if (are_alike(&text, &known)) {
            return YES;
        }
    }
    return answer;
}

/* Tell whether every reference is one of the choices, if there are any. */
static enum answer chooses(const struct facts *facts) {
    enum answer answer = YES;
    if (!facts->choices.count)
        return YES;
    for (size_t one = 0; one < facts->references.count; one++) {
        const enum answer found = is_choice(&facts->references.span[one], &facts->choices);
        if (found == NO)
            return NO;
        if (found == PERHAPS)
            answer = PERHAPS;
    }
    return answer;
}

static inline bool is_whole(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind == INTEGER && facts->slot[slot].number.exact;
}

/* Tell whether total_tokens is surely the sum of input, output, and none, some or all of the others,
   or one of the three is not a number. Sums of fractions depend on the order, and are for others. */
static bool sums_up(const struct facts *facts) {
    static const enum slot others[] = {TOKENS_WRITTEN, TOKENS_READ, TOKENS_REASONED};
    enum { OTHERS = sizeof others / sizeof *others };
    const double sum = number_of(facts, TOKENS_TAKEN) + number_of(facts, TOKENS_GIVEN);
    const double total = number_of(facts, TOKENS);
    if (!is_a_number(facts, TOKENS) || !is_a_number(facts, TOKENS_TAKEN) ||
        !is_a_number(facts, TOKENS_GIVEN) || sum == total)
        return true;
    if (!is_whole(facts, TOKENS) || !is_whole(facts, TOKENS_TAKEN) || !is_whole(facts, TOKENS_GIVEN))
        return false;
    for (int chosen = 1; chosen < 1 << OTHERS; chosen++) {
        double more = sum;
        for (int place = 0; place < OTHERS; place++)
            if (chosen >> place & 1)
                more += is_whole(facts, others[place]) ? number_of(facts, others[place]) : NAN;
        if (more == total)
            return true;
    }
    return false;
}

/* Tell whether a time is not above the latency, where both are told. */
static bool in_time(const struct facts *facts, enum slot slot) {
    if (!is_a_number(facts, slot) || !is_a_number(facts, LATENCY))
        return true;
    return number_of(facts, slot) <= number_of(facts, LATENCY);
}

/* Tell whether an integer is written as Python writes it. */
static bool is_usual_integer(const struct value *value) {
    return value->kind == INTEGER && !(value->start[0] == '-' && value->start[1] == '0');
}

/* Tell whether sample_id is a text, or an integer as it is usually written. */
static bool is_identified(const struct facts *facts) {
    return facts->slot[SAMPLE].kind == STRING || is_usual_integer(&facts->slot[SAMPLE]);
}

static bool is_blank(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind == STRING && !shows_something(text_of(facts, slot));
}

/* Tell whether a source surely names neither a place in the row nor something like one. */
static bool is_foreign(const struct span *source) {
    static const char *const places[] = {"output", "interactions", "messages"};
    for (size_t place = 0; place < sizeof places / sizeof *places; place++)
        if (begins_with(source->start, source->start + source->length, places[place]))
            return false;
    return source->length && !source->escaped && folded(*source->start) >= 'a' &&
           folded(*source->start) <= 'z';
}

/* Return the turn whose content a source is: 3 for `messages[3].content`, and so many as there are
   turns where it is that of none. */
static size_t find_source(const struct span *source, const char *transcript, size_t turns) {
    static const char end[] = "].content";
    const byte *at = source->start;
    const byte *const stop = source->start + source->length;
    size_t turn = 0, digits = 0;
    if (source->escaped || !begins_with(at, stop, transcript))
        return turns;
    at += strlen(transcript);
    if (at == stop || *at++ != '[')
        return turns;
    for (; at < stop && *at >= '0' && *at <= '9' && digits < 9; at++, digits++)
        turn = turn * 10 + (size_t)(*at - '0');
    const bool is_content = (size_t)(stop - at) == strlen(end) && !memcmp(at, end, strlen(end));
    return digits && turn < turns && is_content ? turn : turns;
}

/* Tell whether a source is surely the content of a turn that is not a user's, and no other turn than
   the answer's. */
static bool is_said(const struct facts *facts, const char *transcript) {
    const size_t turn = find_source(text_of(facts, ANSWER_SOURCE), transcript, facts->turns);
    const double claimed = number_of(facts, ANSWER_TURN);
    /* Turns that are not in order have other numbers than their places. */
    const bool is_a_turn = facts->doubts & ES304 || (claimed >= 0 && claimed < (double)facts->turns);
    return turn < facts->turns && turn < USER_TURNS && !(is_a_turn && claimed != (double)turn) &&
           !(facts->by_users[turn / 64] >> turn % 64 & 1);
}

/* Tell whether a text is a letter that is none of the choices, and every reference more than one.
   Then it names a choice in a way that is for no rule to judge. */
static bool names_a_choice(const struct facts *facts, const struct span *value) {
    const struct span text = bare(value->start, value->length);
    if (!facts->choices.count || value->escaped || text.length != 1 ||
        folded(*text.start) < 'a' || folded(*text.start) > 'z')
        return false;
    for (size_t one = 0; one < facts->choices.count; one++)
        if (facts->choices.span[one].escaped || same(value, &facts->choices.span[one]))
            return false;
    for (size_t one = 0; one < facts->references.count; one++) {
        const struct span *const reference = &facts->references.span[one];
        if (reference->escaped || !reference->ascii ||
            bare(reference->start, reference->length).length <= 3)
            return false;
    }
    return facts->references.count > 0;
}

/* Tell whether an answer that is an exact match may give another score than the row has. */
static bool may_be_underived(const struct facts *facts, const struct demands *demands) {
    const struct span *const value = text_of(facts, ANSWER_VALUE);
    const double score = score_of(facts);
    bool is_right = false, is_wrong = true;
    if (!facts->is_exact || facts->slot[ANSWERS].kind != ARRAY || !facts->answers)
        return false;
    if (facts->answers > 1)
        return true;
    for (size_t one = 0; one < facts->references.count; one++) {
        const struct span *const reference = &facts->references.span[one];
        const bool is_alike = same(value, reference);
        is_right |= is_alike || value->escaped || reference->escaped;
        is_wrong &= !is_alike;
    }
    if (is_wrong && !is_right && names_a_choice(facts, value))
        return false;
    return (is_right && (may_contradict(score, true, demands) || contradicts(score, true))) ||
           (is_wrong && (may_contradict(score, false, demands) || contradicts(score, false)));
}

size_t place_of(const struct spans *texts, const struct span *text) {
    size_t place = 0;
    while (place < texts->count && !same(text, &texts->span[place]))
        place++;
    return place;
}

/* Tell whether an answer that is the output as it is may be another text. */
static bool may_not_be_output(const struct facts *facts) {
    return facts->is_bare &&
           (facts->answers > 1 ||
            place_of(&facts->outputs, text_of(facts, ANSWER_VALUE)) == facts->outputs.count);
}

/* Tell whether an output surely has something that is not white space. */
static bool says_something(const struct facts *facts) {
    for (size_t one = 0; one < facts->outputs.count; one++)
        if (shows_something(&facts->outputs.span[one]))
            return true;
    return false;
}

/* Tell whether an answer may be taken from an output that is empty. */
static bool lacks_output(const struct facts *facts) {
    return facts->answers && text_of(facts, ANSWER_VALUE)->length && !says_something(facts);
}

/* Tell whether an answer may be another choice than the score says, which the reference numbers. */
static bool may_be_another_choice(const struct facts *facts) {
    size_t number = 0;
    if (!facts->is_bare || facts->answers != 1 || facts->references.count != 1 ||
        !facts->choices.count)
        return false;
    const struct span *const reference = &facts->references.span[0];
    for (size_t digit = 0; digit < reference->length && digit < 5; digit++) {
        if (reference->start[digit] < '0' || reference->start[digit] > '9')
            return reference->escaped;
        number = number * 10 + (size_t)(reference->start[digit] - '0');
    }
    const size_t place = place_of(&facts->choices, text_of(facts, ANSWER_VALUE));
    return place == facts->choices.count || score_of(facts) != (place == number);
}

/* Tell whether a key ends before the colon at `at`, in JSON or in JSON within a string. */
static bool ends_key(const struct value *json, const byte *at) {
    const ptrdiff_t least = json->kind == STRING ? 4 : 2;
    if (at - json->start < least || at[-1] != '"')
        return false;
    return json->kind == STRING ? at[-2] == '\\' && at[-3] != '\\' : at[-2] != '\\';
}

/* Tell whether the key that ends before `at` is this text. */
static bool is_key(const struct value *json, const byte *at, const byte *text, size_t length) {
    const byte *const stop = at - (json->kind == STRING ? 2 : 1);
    return (size_t)(stop - json->start) > length && stop[-(ptrdiff_t)length - 1] == '"' &&
           !memcmp(stop - length, text, length);
}

static double number_at(const byte *at) {
    struct number number;
    at += *at == ' ';
    if (*at == 't' || *at == 'f')
        return *at == 't';
    return read_number(at, &number) ? number.value : NAN;
}

/* Tell whether a row may have another score than the harness gave it: the converter of lm-eval
   keeps the metrics of a sample as JSON, and calls a result by its metric and its filter. */
static bool may_differ_from_log(const struct facts *facts) {
    const struct value *const kept = &facts->slot[METRICS];
    const struct span *const result = text_of(facts, RESULT);
    if (kept->kind != STRING && kept->kind != OBJECT)
        return false;
    const byte *const filter = memchr(result->start, ':', result->length);
    const size_t length = filter ? (size_t)(filter - result->start) : result->length;
    size_t objects = 0, named = 0, alike = 0;
    for (const byte *at = kept->start; at < kept->stop; at++) {
        objects += *at == '{';
        if (*at != ':' || !ends_key(kept, at) ||
            (result->length && !is_key(kept, at, result->start, length)))
            continue;
        named++;
        alike += number_at(at + 1) == score_of(facts);
    }
    return objects != 1 || result->escaped || !alike || (result->length && named > 1);
}

/* Return the rules that may object to where the answer of a row comes from; which of several
   answers counts is for others to judge. */
static uint32_t doubts_of_answer(
    const struct facts *facts, const struct demands *demands, bool single, uint64_t *flags
) {
    const struct span *const source = text_of(facts, ANSWER_SOURCE);
    const double turn = number_of(facts, ANSWER_TURN);
    uint32_t doubts = NO_CHECK;
    if (facts->slot[ANSWERS].kind != ARRAY)
        return NO_CHECK;
    if (!facts->answers) {
        *flags |= UNANSWERED;
        return NO_CHECK;
    }
    if (facts->answers > 1)
        return ES301 | ES302 | ES303;
    if (!is_true(facts, ANSWER_IS_LAST))
        doubts |= ES301;
    /* Turns that are not in order have other numbers than their places. */
    if (single ? turn != 0
               : facts->doubts & ES304 || facts->slot[ANSWER_TURN].kind != INTEGER ||
                     !(turn >= 0 && turn < (double)facts->turns))
        doubts |= ES302;
    if (facts->slot[ANSWER_SOURCE].kind != STRING)
        return doubts;
    if (single && is_foreign(source))
        *flags |= FOREIGN;
    else if (!(single ? is(source, "output.raw") : is_said(facts, demands->transcript)))
        doubts |= ES303;
    return doubts;
}

enum { ONE_EXCHANGE = 3 };

/* Tell whether a number is surely not above a limit, or is none. */
static bool is_at_most(const struct facts *facts, enum slot slot, double limit) {
    return !is_a_number(facts, slot) || number_of(facts, slot) <= limit;
}

/* Tell whether a number may be another one than a count; the schema tells of what is no number. */
static bool may_miscount(const struct facts *facts, enum slot slot, size_t count) {
    return is_a_number(facts, slot) && number_of(facts, slot) != (double)count;
}

/* Tell whether a turn surely holds input.raw, or a user's turn is a part of it. */
static bool is_asked(const struct facts *facts) {
    const struct span *const raw = text_of(facts, RAW);
    for (size_t one = 0; one < facts->asked.count; one++)
        if (holds(&facts->asked.span[one], raw) || holds(raw, &facts->asked.span[one]))
            return true;
    for (size_t one = 0; one < facts->told.count; one++)
        if (holds(&facts->told.span[one], raw))
            return true;
    return false;
}

/* Tell whether a number may be above a limit; one that no double holds may be. */
static bool may_exceed(const struct facts *facts, enum slot slot, double limit) {
    return is_a_number(facts, slot) && !(number_of(facts, slot) <= limit);
}

/* Tell whether an output may have more tokens than are counted, or more were reasoned. */
static bool may_undercount(const struct facts *facts) {
    const double given = number_of(facts, TOKENS_GIVEN), total = number_of(facts, TOKENS);
    const double sum = number_of(facts, TOKENS_TAKEN) + given;
    if (given == 0 && !facts->choices.count)
        for (size_t one = 0; one < facts->outputs.count; one++)
            if (facts->outputs.span[one].length)
                return true;
    return is_a_number(facts, TOKENS_GIVEN) && may_exceed(facts, TOKENS_REASONED, given) &&
           !(sum < total || sum > total);
}

/* Tell whether the outputs of a row may have more tokens than the limit of one allows. */
static bool may_pass_limit(const struct facts *facts, const struct demands *demands) {
    const double outputs = facts->outputs.count > 1 ? (double)facts->outputs.count : 1;
    return may_exceed(facts, TOKENS_GIVEN, demands->most_tokens * outputs) &&
           !(number_of(facts, TOKENS_REASONED) > 0);
}

/* Tell whether a right answer may be an empty output. */
static bool may_be_right_for_nothing(const struct facts *facts) {
    return is_true(facts, CORRECT) && facts->outputs.count && !facts->choices.count &&
           !says_something(facts);
}

/* Return the rules that may object to what is said of a transcript: its counts, and its kind. */
static uint32_t doubts_of_transcript(
    const struct facts *facts, const struct demands *demands, bool agentic
) {
    const bool is_real = agentic ? facts->calls > 0 : facts->assistants > 1;
    const enum kind turns = facts->slot[TURN_COUNT].kind;
    uint32_t doubts = (is_real ? NO_CHECK : ES315) | (is_asked(facts) ? NO_CHECK : ES320);
    if ((double)facts->turns > demands->most_turns)
        doubts |= ES321;
    if (turns == ABSENT || (turns == NULL_KIND && demands->counts_turns) ||
        may_miscount(facts, TURN_COUNT, facts->turns) ||
        may_miscount(facts, CALL_COUNT, facts->calls))
        doubts |= ES306;
    return doubts;
}

/* Return the rules that may object to the other values of a row. */
static uint32_t doubts_of_values(
    const struct facts *facts, const struct demands *demands, uint64_t *flags
) {
    uint32_t doubts = NO_CHECK;
    if (!sums_up(facts) || may_undercount(facts))
        doubts |= ES309;
    if (!in_time(facts, FIRST_TOKEN) || (demands->times_generation && !in_time(facts, GENERATION)))
        doubts |= ES310;
    if (is_blank(facts, RAW) || is_blank(facts, SAMPLE))
        doubts |= ES311;
    if (demands->checks & ES313) {
        const enum answer chosen = chooses(facts);
        doubts |= chosen == PERHAPS ? ES313 : NO_CHECK;
        *flags |= chosen == NO ? NOT_CHOSEN : 0;
    }
    return doubts;
}

/* Return the rules that may object to a transcript where it should not be, or may not be one. */
static uint32_t doubts_of_kind(const struct facts *facts, enum interaction interaction) {
    const bool has_turns = facts->slot[TURNS].kind == ARRAY;
    if (interaction == NO_INTERACTION)
        return OF_TRANSCRIPTS;
    return has_turns == (interaction != SINGLE_TURN) ? NO_CHECK : OF_TRANSCRIPTS;
}

/* Tell whether a row is one whose record can be made here. */
static bool is_recordable(const struct facts *facts) {
    const struct value *const score = &facts->slot[SCORE], *const error = &facts->slot[ERROR];
    /* A score that no double holds is counted by others, and so is an error of another kind. */
    return is_identified(facts) && !(score->kind == INTEGER && !score->number.exact) &&
           (!has(facts, ERROR) || error->kind == STRING);
}

bool judge(
    const struct facts *facts, const struct demands *demands, uint64_t *flags, uint32_t *doubts
) {
    const enum interaction interaction = facts->interaction;
    const bool single = interaction == SINGLE_TURN;
    if (!is_recordable(facts) || !flag_habits(facts, demands->checks, flags))
        return false;
    *doubts |= facts->doubts | doubts_of_score(facts, demands);
    *doubts |= doubts_of_values(facts, demands, flags) | doubts_of_kind(facts, interaction);
    *doubts |= doubts_of_answer(facts, demands, single, flags);
    *doubts |= may_be_underived(facts, demands) || may_differ_from_log(facts) ? ES808 : NO_CHECK;
    *doubts |= may_be_another_choice(facts) || (single && may_be_right_for_nothing(facts)) ? ES808 : NO_CHECK;
    *doubts |= single && may_pass_limit(facts, demands) ? ES321 : NO_CHECK;
    *doubts |= may_not_be_output(facts) || (single && lacks_output(facts)) ? ES303 : NO_CHECK;
    if (!single)
        *doubts |= doubts_of_transcript(facts, demands, interaction == AGENTIC);
    else if (!is_at_most(facts, TURN_COUNT, ONE_EXCHANGE) || !is_at_most(facts, CALL_COUNT, 0))
        *doubts |= ES315;
    *doubts &= demands->checks;
    /* A rule in doubt gives its own infos. */
    *flags &= ~(uint64_t)((*doubts & ES301 ? UNANSWERED : 0) | (*doubts & ES303 ? FOREIGN : 0) |
                          (*doubts & ES313 ? NOT_CHOSEN : 0));
    *flags |= facts->slot[SAMPLE].kind == INTEGER ? NUMBERED : 0;
    *flags |= isnan(score_of(facts)) ? UNSCORED : 0;
    *flags |= facts->slot[CORRECT].kind == BOOLEAN ? 0 : UNJUDGED;
    *flags |= is_true(facts, CORRECT) ? IS_CORRECT : 0;
    *flags |= failed(facts) ? FAILED : 0;
    return true;
}

static void write_joined(struct texts *texts, const struct spans *spans) {
    for (size_t place = 0; place < spans->count; place++) {
        if (place)
            write_bytes(texts, &BETWEEN, 1);
        write_decoded(texts, &spans->span[place]);
    }
}

/* How one of the recipes writes input and references as JSON: a text before each of both, and behind
   all; and quotes around a reference, and a text between two. */
struct json_form {
    struct literal {
        const char *text;
        size_t length;
    } raw, reference, quote, between, end;
};

#define LITERAL(text) {text, sizeof text - 1}

static const struct json_form json_forms[RECIPE_COUNT] = {
    [JSON_STR] = {
        LITERAL("{\"raw\": \""), LITERAL("\", \"reference\": \""), LITERAL(""), LITERAL(""),
        LITERAL("\"}"),
    },
    [JSON_LIST] = {
        LITERAL("{\"raw\":\""), LITERAL("\",\"reference\":["), LITERAL("\""), LITERAL(","),
        LITERAL("]}"),
    },
    [JSON_LIST_SPACED] = {
        LITERAL("{\"raw\": \""), LITERAL("\", \"reference\": ["), LITERAL("\""), LITERAL(", "),
        LITERAL("]}"),
    },
};

static inline void write_literal(struct texts *texts, const struct literal *literal) {
    write_bytes(texts, literal->text, literal->length);
}

static void write_json(const struct facts *facts, enum recipe recipe, struct texts *texts) {
    const struct json_form *const form = &json_forms[recipe];
    write_literal(texts, &form->raw);
    write_ascii(texts, text_of(facts, RAW));
    write_literal(texts, &form->reference);
    for (size_t place = 0; place < facts->references.count; place++) {
        if (place)
            write_literal(texts, &form->between);
        write_literal(texts, &form->quote);
        write_ascii(texts, &facts->references.span[place]);
        write_literal(texts, &form->quote);
    }
    write_literal(texts, &form->end);
}

static void write_references(const struct facts *facts, enum recipe recipe, struct texts *texts) {
    for (size_t place = 0; place < facts->references.count; place++)
        if (!place || recipe == CONCAT)
            write_decoded(texts, &facts->references.span[place]);
}

void write_covered(const struct facts *facts, enum recipe recipe, struct texts *texts) {
    switch (recipe) {
    case NO_RECIPE:
    case RECIPE_COUNT:
        break;
    case CONCAT:
    case CONCAT_FIRST:
        write_decoded(texts, text_of(facts, RAW));
        write_references(facts, recipe, texts);
        break;
    case JSON_STR:
    case JSON_LIST:
    case JSON_LIST_SPACED:
        write_json(facts, recipe, texts);
        break;
    }
}

/* Tell whether a row has a hash of the right length, in small hex digits. */
static bool is_hashed(const struct facts *facts, const struct demands *demands) {
    const struct span *const hash = text_of(facts, HASH);
    if (hash->length != (size_t)demands->hash_digits)
        return false;
    return are_hex_digits(hash->start, hash->length);
}

/* Tell whether a row has an input that a hash covers: a text, and texts as references. */
static bool is_covered(const struct facts *facts) {
    const enum kind reference = facts->slot[REFERENCE].kind;
    return facts->slot[RAW].kind == STRING && !facts->odd_references &&
           (reference == STRING || reference == ARRAY);
}

/* Write what tells the repeats of a sample apart, as `repeat_mark` does. */
static bool write_mark(const struct facts *facts, struct texts *texts) {
    static const struct {
        enum slot slot;
        const char *name;
    } marks[] = {{EPOCH, "epoch="}, {REPEAT, "repeat="}, {TRIAL, "trial="}, {SEED, "seed="}};
    for (size_t place = 0; place < sizeof marks / sizeof *marks; place++) {
        const struct value *const value = &facts->slot[marks[place].slot];
        if (!has(facts, marks[place].slot))
            continue;
        write_bytes(texts, marks[place].name, strlen(marks[place].name));
        if (value->kind == STRING)
            write_decoded(texts, &value->span);
        else if (is_usual_integer(value))
            write_bytes(texts, value->start, (size_t)(value->stop - value->start));
        else
            return false;
        write_bytes(texts, &BEHIND, 1);
    }
    return true;
}

/* Tell whether recipes write several references differently: there is more than the first. */
static bool differ(const struct spans *references) {
    for (size_t place = 1; place < references->count; place++)
        if (references->span[place].length)
            return true;
    return false;
}

/* Flag what is known of the hash of a row, before it is computed. */
static void judge_hash(
    const struct facts *facts, const struct demands *demands, uint64_t *flags, uint32_t *doubts
) {
    if (!has(facts, HASH))
        *flags |= UNHASHED;
    else if (*flags & UNCOVERED || facts->slot[HASH].kind != STRING)
        *flags |= UNCHECKED;
    else if (demands->recipe == NO_RECIPE || !is_hashed(facts, demands))
        *doubts |= DOUBTFUL_HASH;
    else if (facts->references.count > 1 && differ(&facts->references))
        *flags |= SEVERAL;
    else if (facts->references.count > 1)
        *doubts |= DOUBTFUL_HASH;
}

static void write_parted(struct texts *texts, const struct spans *spans) {
    for (size_t place = 0; place < spans->count; place++) {
        write_bytes(texts, &APART, 1);
        write_decoded(texts, &spans->span[place]);
    }
}

/* Write what identifies the input of a row. Return how many bytes of it input.raw takes. */
static size_t write_input(const struct facts *facts, struct texts *texts) {
    const size_t start = texts->size;
    write_decoded(texts, text_of(facts, RAW));
    const size_t raw = texts->size - start;
    write_parted(texts, &facts->references);
    return raw;
}

/* Write what a recipe makes sample_hash the digest of, as `write_covered` does; the text of
   input.raw is copied from where it stands decoded. */
static void write_covered_of(
    const struct facts *facts, enum recipe recipe, size_t start, size_t raw, struct texts *texts
) {
    if (recipe != CONCAT && recipe != CONCAT_FIRST) {
        write_covered(facts, recipe, texts);
        return;
    }
    write_bytes(texts, texts->data + start, raw);
    write_references(facts, recipe, texts);
}

bool write_row(
    const struct facts *facts, const struct demands *demands, struct texts *texts,
    struct row_texts *at, uint64_t *flags, uint32_t *doubts
) {
    const struct value *const sample = &facts->slot[SAMPLE];
    const bool has_input = is_covered(facts);
    *flags |= has_input ? 0 : UNCOVERED;
    judge_hash(facts, demands, flags, doubts);
    at->sample = texts->size;
    if (sample->kind == STRING)
        write_decoded(texts, &sample->span);
    else
        write_bytes(texts, sample->start, (size_t)(sample->stop - sample->start));
    at->hash = texts->size;
    write_decoded(texts, text_of(facts, HASH));
    at->input = texts->size;
    const size_t raw = has_input ? write_input(facts, texts) : 0;
    at->choices = texts->size;
    write_joined(texts, &facts->choices);
    at->covered = texts->size;
    if (!(*flags & (UNHASHED | UNCHECKED)) && !(*doubts & DOUBTFUL_HASH))
        write_covered_of(facts, (enum recipe)demands->recipe, at->input, raw, texts);
    at->mark = texts->size;
    if (!write_mark(facts, texts))
        return false;
    at->raw = texts->size;
    if ((demands->links || demands->identity) && has_input)
        write_decoded(texts, text_of(facts, RAW));
    at->reference = texts->size;
    if (demands->links && has_input) {
        write_joined(texts, &facts->references);
        write_bytes(texts, &BEHIND, at->covered > at->choices);
        write_joined(texts, &facts->choices);
    }
    at->options = texts->size;
    if (demands->identity)
        write_parted(texts, &facts->choices);
    at->prompt = texts->size;
    if (demands->identity)
        write_decoded(texts, text_of(facts, FORMATTED));
    at->end = texts->size;
    return !texts->full;
}
