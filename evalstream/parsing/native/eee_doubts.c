#include "eee_habits.h"

#include <math.h>

static bool holds(const struct span *text, const struct span *part) {
    return find_span(text, part) == YES;
}

static inline bool failed(const struct facts *facts) { return text_of(facts, ERROR)->length > 0; }

/* Tell whether an error may be white space alone, which is none. */
static inline bool may_be_blank(const struct facts *facts) {
    const struct span *const text = text_of(facts, ERROR);
    return text->length > 0 && (text->start[0] <= ' ' || text->start[0] == '\\' ||
                                (unsigned char)text->start[0] >= 0x80);
}

/* Return the rules that may object to a score: it is within all bounds, and it is right or wrong
   where it says so. */
static uint32_t doubts_of_score(const struct facts *facts, const struct demands *demands) {
    const double score = eee_score_of(facts);
    const bool is_correct = is_true(facts, CORRECT);
    uint32_t doubts = NO_CHECK;
    if (!isnan(score) && !(demands->lowest <= score && score <= demands->highest))
        doubts |= ES308;
    if (demands->judges_binary && !isnan(score) && score != 0 && score != 1)
        doubts |= ES710;
    if (facts->slot[CORRECT].kind == BOOLEAN && eee_may_contradict(score, is_correct, demands))
        doubts |= ES307 | ES808;
    if (facts->slot[CORRECT].kind == BOOLEAN && eee_contradicts(score, is_correct))
        doubts |= ES307;
    if (is_correct && failed(facts))
        doubts |= ES314;
    return doubts;
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
    if (!has_number(facts, TOKENS) || !has_number(facts, TOKENS_TAKEN) ||
        !has_number(facts, TOKENS_GIVEN) || sum == total)
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

/* Tell whether a time is at most the latency, where the row has both. */
static bool in_time(const struct facts *facts, enum slot slot) {
    if (!has_number(facts, slot) || !has_number(facts, LATENCY))
        return true;
    return number_of(facts, slot) <= number_of(facts, LATENCY);
}

/* Tell whether sample_id is a text, or an integer as it is usually written. */
static bool is_identified(const struct facts *facts) {
    return facts->slot[SAMPLE].kind == STRING || is_usual_integer(&facts->slot[SAMPLE]);
}

static bool is_blank(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind == STRING && !shows_something(text_of(facts, slot));
}

enum { ONE_EXCHANGE = 3 };

/* Tell whether a number is surely not above a limit, or is none. */
static bool is_at_most(const struct facts *facts, enum slot slot, double limit) {
    return !has_number(facts, slot) || number_of(facts, slot) <= limit;
}

/* Tell whether a number may differ from a count; the schema reports values that are not numbers. */
static bool may_miscount(const struct facts *facts, enum slot slot, size_t count) {
    return has_number(facts, slot) && number_of(facts, slot) != (double)count;
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
    return has_number(facts, slot) && !(number_of(facts, slot) <= limit);
}

/* Tell whether an output may have more tokens than are counted, or more were reasoned. */
static bool may_undercount(const struct facts *facts) {
    const double given = number_of(facts, TOKENS_GIVEN), total = number_of(facts, TOKENS);
    const double sum = number_of(facts, TOKENS_TAKEN) + given;
    if (given == 0 && !facts->choices.count)
        for (size_t one = 0; one < facts->outputs.count; one++)
            if (facts->outputs.span[one].length)
                return true;
    return has_number(facts, TOKENS_GIVEN) && may_exceed(facts, TOKENS_REASONED, given) &&
           !(sum < total || sum > total);
}

/* Tell whether the outputs of a row may have more tokens than the limit of one allows. */
static bool may_pass_limit(const struct facts *facts, const struct demands *demands) {
    const double outputs = facts->outputs.count > 1 ? (double)facts->outputs.count : 1;
    return may_exceed(facts, TOKENS_GIVEN, demands->most_tokens * outputs) &&
           !(number_of(facts, TOKENS_REASONED) > 0);
}

/* Return the rules that may object to the counts and the kind of a transcript. */
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
        const enum answer chosen = eee_chooses(facts);
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
    /* A score that no double holds is counted by others, and so is an error of another kind, or
       one that may be blank. */
    return is_identified(facts) && !(score->kind == INTEGER && !score->number.exact) &&
           (!has_value(facts, ERROR) || (error->kind == STRING && !may_be_blank(facts)));
}

bool eee_judge(
    const struct facts *facts, const struct demands *demands, uint64_t *flags, uint32_t *doubts
) {
    const enum interaction interaction = facts->interaction;
    const bool single = interaction == SINGLE_TURN;
    if (!is_recordable(facts) || !eee_flag_habits(facts, demands, flags))
        return false;
    *doubts |= facts->doubts | doubts_of_score(facts, demands);
    *doubts |= doubts_of_values(facts, demands, flags) | doubts_of_kind(facts, interaction);
    *doubts |= eee_doubts_of_answer(facts, demands, single, flags);
    *doubts |= single && may_pass_limit(facts, demands) ? ES321 : NO_CHECK;
    if (!single)
        *doubts |= doubts_of_transcript(facts, demands, interaction == AGENTIC);
    else if (!is_at_most(facts, TURN_COUNT, ONE_EXCHANGE) || !is_at_most(facts, CALL_COUNT, 0))
        *doubts |= ES315;
    *doubts &= demands->checks;
    /* A rule in doubt gives its own infos. */
    *flags &= ~(uint64_t)((*doubts & ES301 ? UNANSWERED : 0) | (*doubts & ES303 ? FOREIGN : 0) |
                          (*doubts & ES313 ? NOT_CHOSEN : 0));
    *flags |= facts->slot[SAMPLE].kind == INTEGER ? NUMBERED : 0;
    *flags |= isnan(eee_score_of(facts)) ? UNSCORED : 0;
    *flags |= facts->slot[CORRECT].kind == BOOLEAN ? 0 : UNJUDGED;
    *flags |= is_true(facts, CORRECT) ? IS_CORRECT : 0;
    *flags |= failed(facts) ? FAILED : 0;
    return true;
}
