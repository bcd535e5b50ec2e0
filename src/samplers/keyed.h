/* Texts of the kernel with a key at the beginning of each line ("MemFree:  123 kB", "pgfault 99", " 24:  7  8  IO-APIC"),
 * whose keys differ between kernels: every key that is there becomes a metric of a set that is made here.
 *
 * Lines come in the same order at each reading, so a key is looked for where it stood last, and everywhere else only if it
 * is not there. Keys that come later are added: then there is a new set, which begins as the old one does. */
#ifndef SONDE_SAMPLERS_KEYED_H
#define SONDE_SAMPLERS_KEYED_H

#include "base/buf.h"
#include "model/batch.h"

#define KEYED_KEYS_MAX 2048u
#define KEYED_SETS_MAX 64u /* so often may keys be added */
#define KEYED_NAME_MAX 64u
#define KEYED_NONE SIZE_MAX

/* What a key means, filled in by the sampler: comes with the key in snake case as name, unit "1", a counter. */
struct keyed_description {
    char name[KEYED_NAME_MAX]; /* "": not wanted */
    char help[128];            /* "": made from the key */
    const char *unit;          /* constant */
    enum metric_kind kind;
    bool is_kb;                /* the number is multiplied by 1024 */
};

/* How lines look. */
struct keyed_format {
    const char *prefix; /* with which each line begins, "Node 0 "; NULL: none. Blanks before the key are skipped */
    char end;           /* of the key: ':' or ' ' */
};

/* Small, since each is touched at each reading: after a second of other programs' work, none is in a cache any more. */
struct keyed_key {
    uint32_t at;    /* of the key with its end, in names */
    uint16_t place; /* in the set; UINT16_MAX: not wanted */
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
    const char *name;  /* of the set */
    const char *instances; /* what its instances are; NULL: there is but one */
    void (*describe)(struct bytes key, const char *line, struct keyed_description *description);
    struct keyed_key *keys;
    char *names;  /* all keys, each with its end, without anything between */
    char **strings; /* of each key: name, help, key without its end, unit, a NUL behind each; NULL: not wanted */
    size_t count, capacity, names_size, wanted, sets;
    struct keyed_set *current; /* older ones stay until keyed_clear: samples of them may be on their way */
    size_t unknown_lines; /* lines of a text that give no key, at most: they are no news */
    bool has_new_keys;  /* a reading had lines that are not known: call keyed_add_keys */
};

/* What each counter stood at, by its place in the set. Zeroed: empty. */
struct keyed_last {
    uint64_t *values;
    size_t size;
};

/* describe may be NULL. */
void keyed_init(struct keyed *keyed, const char *name,
                void (*describe)(struct bytes key, const char *line, struct keyed_description *description));
void keyed_clear(struct keyed *keyed);

/* Adds the keys of text that are not known yet. Bounded: what is too much, or no key, is left out. NOMEM. */
enum err keyed_add_keys(struct keyed *keyed, const struct keyed_format *format, const char *text);

/* Makes the set of all keys learned, when there are new ones. ABSENT: there are none at all. */
enum err keyed_make_set(struct keyed *keyed);

/* The newest set; NULL before keyed_make_set. */
const struct set *keyed_set(const struct keyed *keyed);

/* Makes room for the set's counters. */
enum err keyed_last_reserve(struct keyed_last *last, const struct keyed *keyed);
void keyed_last_clear(struct keyed_last *last);

/* The key of line, whose key begins at line: its place in keys, or KEYED_NONE. *expected is where it stands if nothing
 * changed; set to where the next is expected. */
size_t keyed_find(const struct keyed *keyed, const char *line, size_t *expected);

/* Writes the first number of each line of text. A key that comes twice has its first number. Goes on at *expected. */
void keyed_fill(struct keyed *keyed, const struct keyed_format *format, const char *text, struct sample *sample,
                struct keyed_last *last, size_t *expected);

/* Beginning of the key of line; NULL when the line has another form. */
const char *keyed_skip(const struct keyed_format *format, const char *line);

/* "Active(anon)" gives "active_anon", "MemTotal" "mem_total", "NFS_Unstable" "nfs_unstable"; "" when nothing is left. */
void keyed_snake_case(struct bytes key, char *name, size_t size);

#endif
