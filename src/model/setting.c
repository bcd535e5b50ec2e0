/* Settings by table: from "key", "value" into a struct's member. */
#include "model/setting.h"

#include "base/parse.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static enum err parse_flag(const char *value, bool *flag)
{
    static const char *const names[] = { "no", "yes", "off", "on", "false", "true", "0", "1" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcasecmp(value, names[i])) {
            *flag = i & 1;
            return OK;
        }
    }
    return USAGE;
}

static enum err assign(const struct setting *setting, void *state, const char *value)
{
    void *member = (char *)state + setting->offset;
    switch (setting->type) {
    case SETTING_FLAG: return parse_flag(value, member);
    case SETTING_U64: return parse_u64(value, member);
    case SETTING_DURATION: return parse_duration(value, member);
    case SETTING_BYTES: return parse_bytes(value, member);
    case SETTING_TEXT:
        *(const char **)member = value;
        return OK;
    }
    return USAGE;
}

enum err setting_defaults(const struct setting *settings, void *state)
{
    enum err err = OK;
    for (const struct setting *s = settings; s && s->key && !err; s++)
        if (s->initial)
            err = assign(s, state, s->initial);
    return err;
}

enum err setting_apply(const struct setting *settings, void *state, const char *key, const char *value)
{
    for (const struct setting *s = settings; s && s->key; s++)
        if (!strcmp(s->key, key))
            return assign(s, state, value);
    return ABSENT;
}
