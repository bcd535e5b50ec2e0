/* A list of key-value pairs. */
#include "model/setting_list.h"

#include "base/nearest.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static void free_pair(struct setting_pair *setting)
{
    free((char *)setting->key);
    free((char *)setting->value);
}

void setting_list_clear(struct setting_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_pair(&list->list[i]);
    free(list->list);
    *list = (struct setting_list){ 0 };
}

static const struct setting_pair *find(const struct setting_list *list, const char *key)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->list[i].key, key) == 0)
            return &list->list[i];
    return NULL;
}

static enum err add(struct setting_list *list, struct setting_pair pair)
{
    if (array_resize(list->list, list->count + 1))
        return NOMEM;
    list->list[list->count++] = pair;
    return OK;
}

enum err setting_list_put(struct setting_list *list, const char *key, const char *value)
{
    struct setting_pair *there = (struct setting_pair *)find(list, key);
    if (!there && list->count == SETTING_LIST_MAX)
        return FULL;
    struct setting_pair pair = { strdup(key), strdup(value) };
    enum err err = pair.key && pair.value ? OK : NOMEM;
    if (!err && there) {
        free_pair(there);
        *there = pair;
        return OK;
    }
    if (!err)
        err = add(list, pair);
    if (err)
        free_pair(&pair);
    return err;
}

enum err setting_list_copy(struct setting_list *copy, const struct setting_list *list)
{
    enum err err = OK;
    *copy = (struct setting_list){ 0 };
    for (size_t i = 0; i < list->count && !err; i++)
        err = setting_list_put(copy, list->list[i].key, list->list[i].value);
    if (err)
        setting_list_clear(copy);
    return err;
}

bool setting_list_equal(const struct setting_list *a, const struct setting_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct setting_pair *other = find(b, a->list[i].key);
        if (!other || strcmp(other->value, a->list[i].value) != 0)
            return false;
    }
    return true;
}

const char *setting_list_find(const struct setting_list *list, const char *key)
{
    const struct setting_pair *pair = find(list, key);
    return pair ? pair->value : NULL;
}

enum err setting_list_apply(const struct setting_list *list, const struct setting *settings, void *state)
{
    enum err err = OK;
    for (size_t i = 0; i < list->count && !err; i++)
        err = setting_apply(settings, state, list->list[i].key, list->list[i].value);
    return err;
}

/* Checks a value by applying it to a temporary state. */
static enum err check(const struct setting_owner *owner, const char *key, const char *value)
{
    void *state = calloc(1, owner->state_size ? owner->state_size : 1);
    if (!state)
        return NOMEM;
    enum err err = setting_apply(owner->settings, state, key, value);
    free(state);
    return err;
}

static const char *expected(enum setting_type type)
{
    switch (type) {
    case SETTING_FLAG: return "yes or no";
    case SETTING_U64: return "a number";
    case SETTING_DURATION: return "a duration such as 1s or 250ms";
    case SETTING_BYTES: return "a size such as 256MiB or 1GiB";
    default: return "a string";
    }
}

static void add_available(const struct setting_owner *owner, struct buf *error)
{
    const char *before = " (available: ";
    for (const struct setting *s = owner->settings; s && s->key; s++, before = ", ")
        buf_printf(error, "%s%s", before, s->key);
    for (const char *const *other = owner->others; other && *other; other++, before = ", ")
        buf_printf(error, "%s%s", before, *other);
    buf_add_text(error, *before == ',' ? ")" : ", which has none");
}

static void unknown_setting(const struct setting_owner *owner, const char *key, struct buf *error)
{
    struct nearest nearest = nearest_to(key);
    for (const struct setting *s = owner->settings; s && s->key; s++)
        nearest_try(&nearest, s->key);
    for (const char *const *other = owner->others; other && *other; other++)
        nearest_try(&nearest, *other);
    buf_printf(error, "unknown setting '%.60s' of %s", key, owner->name);
    if (nearest.best)
        buf_printf(error, "; did you mean '%s'?", nearest.best);
    else
        add_available(owner, error);
}

static void invalid_setting(enum err err, const struct setting_owner *owner, const char *key, const char *value,
                       struct buf *error)
{
    for (const struct setting *s = owner->settings; s && s->key; s++)
        if (strcmp(s->key, key) == 0) {
            buf_printf(error, "invalid %s.%s '%.60s' (expected %s): %s", owner->name, key, value, expected(s->type), s->help);
            return;
        }
    buf_printf(error, "cannot set %s.%.60s: %s", owner->name, key, err_text(err));
}

enum err setting_list_put_checked(struct setting_list *list, const struct setting_owner *owner, const char *key,
                                  const char *value, struct buf *error)
{
    enum err err = check(owner, key, value);
    if (!err)
        err = setting_list_put(list, key, value);
    if (err == ABSENT)
        unknown_setting(owner, key, error);
    else if (err)
        invalid_setting(err, owner, key, value, error);
    return err ? USAGE : OK;
}
