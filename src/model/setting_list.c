/* Lists of key and value, with texts of their own. */
#include "model/setting_list.h"

#include "base/nearest.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static void free_texts(struct setting_pair *setting)
{
    free((char *)setting->key);
    free((char *)setting->value);
}

void setting_list_clear(struct setting_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_texts(&list->list[i]);
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

static enum err add(struct setting_list *list, struct setting_pair texts)
{
    if (array_resize(list->list, list->count + 1))
        return NOMEM;
    list->list[list->count++] = texts;
    return OK;
}

enum err setting_list_put(struct setting_list *list, const char *key, const char *value)
{
    struct setting_pair *there = (struct setting_pair *)find(list, key);
    if (!there && list->count == SETTING_LIST_MAX)
        return FULL;
    struct setting_pair texts = { strdup(key), strdup(value) };
    enum err err = texts.key && texts.value ? OK : NOMEM;
    if (!err && there) {
        free_texts(there);
        *there = texts;
        return OK;
    }
    if (!err)
        err = add(list, texts);
    if (err)
        free_texts(&texts);
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

/* setting_apply writes into a state: one that is thrown away tells whether it would. */
static enum err check(const struct setting_owner *owner, const char *key, const char *value)
{
    void *state = calloc(1, owner->state_size ? owner->state_size : 1);
    if (!state)
        return NOMEM;
    enum err err = setting_apply(owner->settings, state, key, value);
    free(state);
    return err;
}

static const char *form_of(enum setting_type type)
{
    switch (type) {
    case SETTING_FLAG: return "it is yes or no";
    case SETTING_U64: return "it is a number";
    case SETTING_DURATION: return "it is a duration, as 1s or 250ms";
    case SETTING_BYTES: return "it is a size, as 256MiB or 1GiB";
    default: return "it is a text";
    }
}

static void tell_absent(const struct setting_owner *owner, const char *key, struct buf *why)
{
    struct nearest nearest = nearest_to(key);
    for (const struct setting *s = owner->settings; s && s->key; s++)
        nearest_try(&nearest, s->key);
    buf_printf(why, "%s has no setting '%.60s'", owner->name, key);
    if (nearest.best)
        buf_printf(why, "; did you mean '%s'?", nearest.best);
}

static void tell_wrong(enum err err, const struct setting_owner *owner, const char *key, const char *value,
                       struct buf *why)
{
    for (const struct setting *s = owner->settings; s && s->key; s++)
        if (strcmp(s->key, key) == 0) {
            buf_printf(why, "%s.%s cannot be '%.60s': %s (%s)", owner->name, key, value, form_of(s->type), s->help);
            return;
        }
    buf_printf(why, "%s.%.60s cannot be set: %s", owner->name, key, err_text(err));
}

enum err setting_list_put_checked(struct setting_list *list, const struct setting_owner *owner, const char *key,
                                  const char *value, struct buf *why)
{
    enum err err = check(owner, key, value);
    if (!err)
        err = setting_list_put(list, key, value);
    if (err == ABSENT)
        tell_absent(owner, key, why);
    else if (err)
        tell_wrong(err, owner, key, value, why);
    return err ? USAGE : OK;
}
