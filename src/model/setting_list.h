/* Settings as somebody wrote them: keys and values that are texts, checked against the table of whoever has them. */
#ifndef SONDE_MODEL_SETTING_LIST_H
#define SONDE_MODEL_SETTING_LIST_H

#include "base/buf.h"
#include "model/setting.h"

#define SETTING_LIST_MAX 256 /* of one sensor or sink */

struct setting_pair {
    const char *key, *value;
};

struct setting_list {
    struct setting_pair *list; /* owned, with their texts; each key once */
    size_t count;
};

/* Whose they are. */
struct setting_owner {
    const char *name; /* "csv" */
    const struct setting *settings;
    size_t state_size;
};

/* Adds or replaces; copies both texts. FULL, NOMEM. */
enum err setting_list_put(struct setting_list *list, const char *key, const char *value);

/* The same, if the owner has such a setting and it can have this value; else USAGE, and why says what is wrong. */
enum err setting_list_put_checked(struct setting_list *list, const struct setting_owner *owner, const char *key,
                                  const char *value, struct buf *why);

/* Writes all of them into a state. */
enum err setting_list_apply(const struct setting_list *list, const struct setting *settings, void *state);

/* Equal settings, in whatever order they were given. */
bool setting_list_equal(const struct setting_list *a, const struct setting_list *b);
enum err setting_list_copy(struct setting_list *copy, const struct setting_list *list);
void setting_list_clear(struct setting_list *list);

const char *setting_list_find(const struct setting_list *list, const char *key); /* NULL: it is not in it */

#endif
