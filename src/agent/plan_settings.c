/* Lists of key and value, with texts of their own: declared here and, for all, in agent/plan.h. */
#include "agent/plan_settings.h"

#include <stdlib.h>
#include <string.h>

static void free_texts(struct life_setting *setting)
{
    free((char *)setting->key);
    free((char *)setting->value);
}

void plan_settings_clear(struct plan_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        free_texts(&settings->list[i]);
    free(settings->list);
    *settings = (struct plan_settings){ 0 };
}

static const struct life_setting *find(const struct plan_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].key, key) == 0)
            return &settings->list[i];
    return NULL;
}

static enum err add(struct plan_settings *settings, struct life_setting texts)
{
    struct life_setting *list = realloc(settings->list, (settings->count + 1) * sizeof *list);
    if (!list)
        return NOMEM;
    settings->list = list;
    list[settings->count++] = texts;
    return OK;
}

enum err plan_settings_put(struct plan_settings *settings, const char *key, const char *value)
{
    struct life_setting *there = (struct life_setting *)find(settings, key);
    if (!there && settings->count == PLAN_SETTINGS_MAX)
        return FULL;
    struct life_setting texts = { strdup(key), strdup(value) };
    enum err err = texts.key && texts.value ? OK : NOMEM;
    if (!err && there) {
        free_texts(there);
        *there = texts;
        return OK;
    }
    if (!err)
        err = add(settings, texts);
    if (err)
        free_texts(&texts);
    return err;
}

enum err plan_settings_copy(struct plan_settings *copy, const struct plan_settings *settings)
{
    enum err err = OK;
    *copy = (struct plan_settings){ 0 };
    for (size_t i = 0; i < settings->count && !err; i++)
        err = plan_settings_put(copy, settings->list[i].key, settings->list[i].value);
    if (err)
        plan_settings_clear(copy);
    return err;
}

bool plan_settings_equal(const struct plan_settings *a, const struct plan_settings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct life_setting *other = find(b, a->list[i].key);
        if (!other || strcmp(other->value, a->list[i].value) != 0)
            return false;
    }
    return true;
}
