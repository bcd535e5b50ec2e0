/* Files of the kernel with a key at the beginning of each line ("MemFree:  123 kB", "pgfault 99", " 24:  7  8
 * IO-APIC") whose keys differ between kernels: every key becomes a metric of a set that is built at run time.
 *
 * Lines come in the same order at each reading, so a key is first looked for where it was last found. Keys that appear
 * later are added: then there is a new set, which starts with the metrics of the old one. */
#ifndef SONDE_SAMPLERS_KEYED_H
#define SONDE_SAMPLERS_KEYED_H

#include "base/buf.h"
#include "model/batch.h"

#define KEYED_KEYS_MAX 2048u
#define KEYED_SETS_MAX 64u /* times that keys may be added */
#define KEYED_NAME_MAX 64u
#define KEYED_NONE SIZE_MAX

/* Describes the metric of a key. Passed to describe() with defaults: the key in snake case as name, unit "1", a
 * counter. */
struct keyed_description {
    char name[KEYED_NAME_MAX]; /* "": skip this key */
    char help[128];            /* "": generated from the key */
    const char *unit;          /* a string constant */
    enum metric_kind kind;
    bool is_kb;                /* multiply the number by 1024 */
};

/* The line format. */
struct keyed_format {
    const char *prefix; /* prefix of each line, "Node 0 "; NULL: none. Blanks before the key are skipped */
    char end;           /* the character that ends the key: ':' or ' ' */
};

/* Kept small: all of them are touched at each reading, after a second in which other programs emptied the caches. */
struct keyed_key {
    uint32_t at;    /* offset of the key, with its end character, in names */
    uint16_t place; /* index in the set; UINT16_MAX: skipped */
    uint8_t size;
    bool is_counter : 1;
    bool is_kb : 1;
};

struct keyed_set {
    struct keyed_set *older;
    struct set set;
    struct metric metrics[];
};

struct keyed {
    const char *name;  /* name of the set */
    const char *instances; /* the kind of its instances; NULL: there is only one */
    void (*describe)(struct bytes key, const char *line, struct keyed_description *description);
    struct keyed_key *keys;
    char *names;  /* all keys, each with its end character, concatenated */
    char **strings; /* per key: name, help, key without its end, unit, each NUL-terminated; NULL: skipped */
    size_t count, capacity, names_size, wanted, sets;
    struct keyed_set *current; /* older sets live until keyed_clear: samples may still refer to them */
    size_t unknown_lines; /* number of lines that are known to yield no key */
    bool has_new_keys;  /* a reading had unknown lines: call keyed_add_keys */
};

/* The last value of each counter, by its index in the set. Zeroed: empty. */
struct keyed_last {
    uint64_t *values;
    size_t size;
};

/* describe may be NULL. */
void keyed_init(struct keyed *keyed, const char *name,
                void (*describe)(struct bytes key, const char *line, struct keyed_description *description));
void keyed_clear(struct keyed *keyed);

/* Adds the new keys of text. Lines beyond the limits, or without a key, are ignored. NOMEM. */
enum err keyed_add_keys(struct keyed *keyed, const struct keyed_format *format, const char *text);

/* Builds a set of all keys if there are new ones. ABSENT: there are no keys at all. */
enum err keyed_make_set(struct keyed *keyed);

/* The newest set; NULL before keyed_make_set. */
const struct set *keyed_set(const struct keyed *keyed);

/* Grows to the number of metrics in the set. */
enum err keyed_last_reserve(struct keyed_last *last, const struct keyed *keyed);
void keyed_last_clear(struct keyed_last *last);

/* Finds the key that starts at line: its index in keys, or KEYED_NONE. *expected is the index to try first; set to the
 * one after the hit. */
size_t keyed_find(const struct keyed *keyed, const char *line, size_t *expected);

/* Sets the first number of each line of text; of a duplicate key the first line counts. Starts at *expected. */
void keyed_fill(struct keyed *keyed, const struct keyed_format *format, const char *text, struct sample *sample,
                struct keyed_last *last, size_t *expected);

/* The start of the key in line; NULL: the line has another format. */
const char *keyed_skip(const struct keyed_format *format, const char *line);

/* "Active(anon)" gives "active_anon", "MemTotal" "mem_total", "NFS_Unstable" "nfs_unstable"; "" if nothing is left. */
void keyed_snake_case(struct bytes key, char *name, size_t size);

#endif
