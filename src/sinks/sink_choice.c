/* Parses NAME:KEY=VALUE,KEY=VALUE. */
#include "sinks/sink_choice.h"

#include "base/config_file.h"
#include "base/log.h"
#include "base/mask.h"
#include "sinks/sink_module.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096

static enum err reject(struct buf *error, const char *text)
{
    buf_add_text(error, text);
    return USAGE;
}

static enum err parse_settings(struct sink_choice *choice, char *list, struct buf *error)
{
    const struct sink *sink = choice->sink;
    struct setting_owner owner = { sink->name, sink->settings, sink->state_size, NULL };
    enum err err = OK;
    for (char *pair = list, *next; pair && *pair && !err; pair = next) {
        next = strchr(pair, ',');
        if (next)
            *next++ = '\0';
        char *equals = strchr(pair, '=');
        if (!equals) {
            buf_printf(error, "invalid sink setting '%.60s' (expected KEY=VALUE)", pair);
            return USAGE;
        }
        *equals = '\0';
        if (!equals[1]) {
            buf_printf(error, "the sink %s: setting %.60s has no value", sink->name, pair);
            return USAGE;
        }
        err = setting_list_put_checked(&choice->settings, &owner, pair, equals + 1, error);
    }
    return err;
}

static bool is_name(const char *name)
{
    for (const struct sink_in_module *row = sink_modules; row->sink; row++)
        if (strcmp(row->sink, name) == 0)
            return true;
    return sink_find(name);
}

static enum err unknown_sink(const char *name, struct buf *error)
{
    buf_printf(error, "unknown sink '%.60s' (available:", name);
    for (size_t i = 0; sink_all[i]; i++)
        buf_printf(error, "%s %s", i ? "," : "", sink_all[i]->name);
    for (const struct sink_in_module *row = sink_modules; row->sink; row++)
        buf_printf(error, ", %s", row->sink);
    buf_add_char(error, ')');
    return USAGE;
}

static enum err find_sink(struct sink_choice *choice, const char *name, struct buf *error)
{
    char reason[1024] = "";
    if (!is_name(name))
        return unknown_sink(name, error);
    return sink_module_load(name, &choice->sink, reason, sizeof reason) ? reject(error, reason) : OK;
}

static enum err apply(const struct sink_choice *choice, void *state)
{
    enum err err = setting_defaults(choice->sink->settings, state);
    if (!err)
        setting_apply(choice->sink->settings, state, "append", "yes"); /* ignored by sinks without this setting */
    return err ? err : setting_list_apply(&choice->settings, choice->sink->settings, state);
}

enum err sink_choice_check(const struct sink_choice *choice, struct buf *error)
{
    if (!choice->sink->check)
        return OK;
    void *state = calloc(1, choice->sink->state_size + 1);
    enum err err = state ? apply(choice, state) : NOMEM;
    if (!err)
        err = choice->sink->check(state);
    if (err)
        buf_printf(error, "the sink %s: ", choice->sink->name);
    if (err)
        mask_add_text(error, sink_choice_message(choice, state, err));
    free(state);
    return err;
}

/* Rejects only what can never work: a directory that is missing now may exist when the sink is opened. */
static enum err check_settings(const struct sink_choice *choice, struct buf *error)
{
    struct buf reason;
    buf_init(&reason, TEXT_MAX);
    enum err err = sink_choice_check(choice, &reason);
    if (err == USAGE)
        buf_add_text(error, buf_text(&reason));
    buf_clear(&reason);
    return err == USAGE ? USAGE : OK;
}

enum err sink_choice_parse(struct sink_choice *choice, const char *text, struct buf *error)
{
    char copy[TEXT_MAX];
    *choice = (struct sink_choice){ 0 };
    if (strlen(text) >= sizeof copy)
        return reject(error, "sink specification is too long");
    memcpy(copy, text, strlen(text) + 1);
    char *list = strchr(copy, ':');
    if (list)
        *list++ = '\0';
    enum err err = find_sink(choice, copy, error);
    if (!err)
        err = parse_settings(choice, list, error);
    if (!err)
        err = check_settings(choice, error);
    if (err)
        sink_choice_clear(choice);
    return err;
}

void sink_choice_clear(struct sink_choice *choice)
{
    setting_list_clear(&choice->settings);
    *choice = (struct sink_choice){ 0 };
}

enum err sink_choice_copy(struct sink_choice *copy, const struct sink_choice *choice)
{
    copy->sink = choice->sink;
    return setting_list_copy(&copy->settings, &choice->settings);
}

bool sink_choice_equal(const struct sink_choice *a, const struct sink_choice *b)
{
    return a->sink == b->sink && setting_list_equal(&a->settings, &b->settings);
}

void sink_choice_write(const struct sink_choice *choice, struct buf *out)
{
    buf_add_text(out, choice->sink->name);
    for (size_t i = 0; i < choice->settings.count; i++) {
        const struct setting_pair *setting = &choice->settings.list[i];
        buf_printf(out, "%c%s=", i ? ',' : ':', setting->key);
        mask_add_setting(out, setting->key, setting->value);
    }
}

void sink_choice_write_line(const struct sink_choice *choice, struct buf *out)
{
    struct buf text;
    buf_init(&text, 2 * TEXT_MAX);
    sink_choice_write(choice, &text);
    buf_add_text(out, "sink = ");
    config_file_add_quoted(out, buf_text(&text));
    buf_add_char(out, '\n');
    buf_clear(&text);
}

enum err sink_choice_open(const struct sink_choice *choice, void **state, struct buf *error)
{
    *state = calloc(1, choice->sink->state_size + 1);
    enum err err = *state ? apply(choice, *state) : NOMEM;
    if (!err)
        err = choice->sink->open(*state);
    if (!err && choice->sink->message && *choice->sink->message(*state))
        log_warn("sink %s: %s", choice->sink->name, choice->sink->message(*state));
    if (!err)
        return OK;
    mask_add_text(error, sink_choice_message(choice, *state, err));
    free(*state);
    *state = NULL;
    return err;
}

void sink_choice_close(const struct sink_choice *choice, void **state)
{
    if (!*state)
        return;
    choice->sink->close(*state);
    free(*state);
    *state = NULL;
}

const char *sink_choice_message(const struct sink_choice *choice, const void *state, enum err err)
{
    const char *text = state && choice->sink->message ? choice->sink->message(state) : "";
    return *text ? text : err_text(err);
}
