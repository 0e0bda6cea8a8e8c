/* The pass over many rows of Every Eval Ever: what Python calls. */

#ifndef EVALSTREAM_EEE_SCANNER_H
#define EVALSTREAM_EEE_SCANNER_H

#include "eee_row.h"
#include "export.h"

enum { IDS = 5, DIGEST_BYTES = 16, HASH_BYTES = 32, MOST_KINDS = 1024 };

struct scanner;

/* Bits above those of the rules in `doubts`. */
#define DOUBTFUL_WATCHED ((uint64_t)1 << 32) /* rules that are not tested here */
#define CERTAIN_HASH ((uint64_t)1 << 33)     /* no doubt: no recipe gives the hash */

/* A listed line and, where its row was taken, what the row says. */
struct row {
    uint64_t start, stop; /* of the line, in the bytes */
    uint64_t line;        /* its number */
    uint64_t flags;
    uint64_t scope;
    uint64_t doubts;      /* rules that may find something, as bits */
    uint64_t signature;   /* of how it deviates from the schema, from 1; 0 if it does not */
    uint64_t shape;       /* 0 where shapes are ignored */
    uint64_t likeness;    /* the number of all four, NO_LIKENESS where it has none */
    double score;
    uint64_t output, output_end; /* where they stand in the bytes; both 0 where they do not */
    uint64_t turns, turns_end;
    struct row_texts texts;
    byte digest[HASH_BYTES]; /* that sample_hash should write, if it is wrong */
};

/* The record of an accepted row; see `identities.Record`. */
struct record {
    uint64_t line;
    byte sample[DIGEST_BYTES], input[DIGEST_BYTES];
    uint64_t content, output, mark, result;
    int64_t place;
    uint64_t offset, name;
    double score;
};

/* What ties a taken row to those of other runs; see `ties`. */
struct link {
    uint64_t sample, input, line, offset;
};

/* A taken row in the terms of a comparison with other runs; see `model.sample_record`. Its group
   is its scope. */
struct sample {
    uint64_t high, low, sample, group, line, offset;
    double score;
    uint64_t flags, question, input, prompt, cluster;
};

enum sample_flag { IS_RIGHT = 1, IS_WRONG = 2, HAS_FAILED = 4 };

/* What rows with the same ids have in common; rows of a scope that is not `usual` are not taken,
   all rows of a scope that is `listed` are listed. `evaluation` digests their evaluation_id, `name`
   that and their evaluation_name; `doubts` are the rules that may find something in their ids. */
struct scope {
    uint64_t usual, listed, evaluation, name, result, doubts;
    int64_t place;
};

/* Taken rows that agree in scope, flags and score, and in whether their hash is in doubt. */
struct row_kind {
    uint64_t scope, flags, doubtful;
    double score;
    uint64_t count, first; /* the number of the first line */
};

enum { MOST_LIKENESSES = 4096 };
#define NO_LIKENESS (~(uint64_t)0)
#define NO_SLOT (~(uint64_t)0)

/* Rows that are counted and not listed. */
struct unlisted {
    uint64_t count, first; /* the number of the first line */
};

/* Why no more lines were looked at. */
enum pause {
    NO_MORE_LINES, /* that end with a newline */
    NO_MORE_ROOM,  /* for rows, records, kinds or texts */
    NEW_SCOPE,     /* the next row has ids that are not known, as `ids` tells: see eee_add_scope */
};

/* Bytes in, rows and records out. */
struct scan {
    const byte *bytes;
    uint64_t size;
    uint64_t longest;        /* line, in bytes, that is scanned */
    uint64_t base;           /* the offset of the first byte */
    const uint64_t *offsets; /* of lines, by their numbers from 1, if they are not in a row */
    uint64_t offset_count;
    uint64_t at;             /* where the next line starts */
    uint64_t line;           /* its number */
    struct row *rows;        /* the lines that are listed */
    uint64_t most_rows, row_count;
    struct row_kind *kinds;      /* room for MOST_KINDS of them */
    uint64_t kind_count;
    struct unlisted *unlisted;   /* room for MOST_LIKENESSES of them, which are added to */
    struct record *records;  /* one for each taken row */
    uint64_t most_records;
    struct link *links;      /* the same, if they are wanted */
    struct sample *samples;  /* the same */
    uint64_t record_count;
    byte *texts;
    uint64_t most_bytes, byte_count;
    uint64_t ids[2 * IDS];   /* start and stop of each, both 0 where there is none */
};

/* Write the sizes of all that Python lays out itself, in bytes: of `struct node`, `demands`,
   `hasher`, `scope`, `scan`, `row`, `record`, `sample` and `kind`. */
EXPORT void eee_tell_sizes(uint64_t sizes[9]);

/* Return the paths of all slots, the names of all recipes and the codes of all rules that are
   tested, in their order, each with a newline. */
EXPORT const char *eee_slot_paths(void);
EXPORT const char *eee_recipe_names(void);
EXPORT const char *eee_check_codes(void);

/* Return a scanner, NULL if there is no memory. */
EXPORT struct scanner *eee_new_scanner(void);
EXPORT void eee_free_scanner(struct scanner *scanner);

/* Learn how a letter beyond ASCII is folded, as `struct folding` keeps it: questions without other
   ones are digested here. */
EXPORT void eee_learn_fold(
    struct scanner *scanner, uint64_t letter, const byte *fold, uint64_t length
);

/* Begin with a block. Scopes, signatures and likenesses are still known if the last block was checked
   for the same and `keeps` says so, unless there is little room for more: return whether they are.
   What the tables hold must last as long. Without a hasher no hash is checked. */
EXPORT int eee_start_block(
    struct scanner *scanner, const struct tables *tables, const struct demands *demands,
    const struct hasher *hasher, int keeps
);

/* Number the scope of the ids that were new, from 0 on. */
EXPORT void eee_add_scope(struct scanner *scanner, const struct scope *scope);

/* Return a signature that is known, and write its size in bytes. */
EXPORT const byte *eee_signature_at(
    const struct scanner *scanner, uint64_t signature, uint64_t *size
);

/* Digest no more shapes of rows with this signature. */
EXPORT void eee_ignore_shapes(struct scanner *scanner, uint64_t signature);

/* List no more rows of a likeness: they are counted in a slot of `unlisted`, several likenesses
   perhaps in one. With NO_SLOT they are listed again. */
EXPORT void eee_settle_likeness(struct scanner *scanner, uint64_t likeness, uint64_t slot);

/* Look at more lines: count the taken rows and append their records, and list those lines that
   were not taken and those rows that are not certainly sound; all rows, if that is demanded. */
EXPORT int eee_scan_lines(struct scanner *scanner, struct scan *scan);

#endif
