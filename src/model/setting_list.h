/* Settings from a configuration file or command line: strings, checked against the table of a sampler or sink. */
#ifndef SONDE_MODEL_SETTING_LIST_H
#define SONDE_MODEL_SETTING_LIST_H

#include "base/buf.h"
#include "model/setting.h"

#define SETTING_LIST_MAX 256 /* of one sampler or sink */

struct setting_pair {
    const char *key, *value;
};

struct setting_list {
    struct setting_pair *list; /* owned, with their strings; unique keys */
    size_t count;
};

/* The sampler or sink. */
struct setting_owner {
    const char *name; /* "csv" */
    const struct setting *settings;
    size_t state_size;
    const char *const *others; /* keys that the caller handles itself, NULL-terminated; NULL: none */
};

/* Adds or replaces; copies both strings. FULL, NOMEM. */
enum err setting_list_put(struct setting_list *list, const char *key, const char *value);

/* The same if the owner has this setting and the value is valid; otherwise USAGE and a message in error. */
enum err setting_list_put_checked(struct setting_list *list, const struct setting_owner *owner, const char *key,
                                  const char *value, struct buf *error);

/* Sets all of them in a state. */
enum err setting_list_apply(const struct setting_list *list, const struct setting *settings, void *state);

/* The same settings in any order. */
bool setting_list_equal(const struct setting_list *a, const struct setting_list *b);
enum err setting_list_copy(struct setting_list *copy, const struct setting_list *list);
void setting_list_clear(struct setting_list *list);

const char *setting_list_find(const struct setting_list *list, const char *key); /* NULL: not in the list */

#endif
