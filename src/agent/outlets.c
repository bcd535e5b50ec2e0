/* Opening, writing to and closing sinks. Sinks that write files add to them: a restart loses nothing. */
#include "agent/outlets.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define FLUSH_NS (5 * NS_PER_S)

static enum err apply_settings(const struct outlet *outlet)
{
    const struct sink *sink = outlet->sink;
    enum err err = setting_defaults(sink->settings, outlet->state);
    if (!err)
        setting_apply(sink->settings, outlet->state, "append", "yes"); /* where there is such a setting */
    for (size_t i = 0; i < outlet->settings.count && !err; i++)
        err = setting_apply(sink->settings, outlet->state, outlet->settings.list[i].key, outlet->settings.list[i].value);
    return err;
}

static void outlet_free(struct outlet *outlet)
{
    free(outlet->state);
    plan_settings_clear(&outlet->settings);
    *outlet = (struct outlet){ 0 };
}

static enum err outlet_open(struct outlet *outlet, const struct plan_sink *plan, struct buf *why)
{
    *outlet = (struct outlet){ .sink = plan->sink };
    enum err err = plan_settings_copy(&outlet->settings, &plan->settings);
    outlet->state = err ? NULL : calloc(1, plan->sink->state_size + 1);
    if (!err && !outlet->state)
        err = NOMEM;
    if (!err)
        err = apply_settings(outlet);
    if (!err && plan->sink->open)
        err = plan->sink->open(outlet->state);
    if (err) {
        buf_printf(why, "cannot open the sink %s", plan->sink->name);
        for (size_t i = 0; i < plan->settings.count; i++)
            buf_printf(why, "%s%s=%.200s", i ? "," : ":", plan->settings.list[i].key, plan->settings.list[i].value);
        buf_printf(why, ": %s", err_text(err));
        outlet_free(outlet);
    }
    return err;
}

static bool outlet_close(struct outlet *outlet)
{
    enum err err = OK;
    if (outlet->state) {
        err = outlet->sink->flush(outlet->state, clock_monotonic_ns() + FLUSH_NS);
        outlet->sink->close(outlet->state);
    }
    if (err && err != GONE)
        log_error("cannot write all of the sink %s: %s", outlet->sink->name, err_text(err));
    outlet_free(outlet);
    return !err || err == GONE;
}

static bool has_path(const struct plan_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].key, "path") == 0)
            return true;
    return false;
}

static struct outlet *find(struct outlets *outlets, const struct plan_sink *plan)
{
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].sink == plan->sink && outlets->list[i].state
            && plan_settings_equal(&outlets->list[i].settings, &plan->settings))
            return &outlets->list[i];
    return NULL;
}

enum err outlets_apply(struct outlets *outlets, const struct plan *plan, bool anew, struct buf *why)
{
    struct outlets next = { 0 };
    struct outlet *kept[PLAN_SINKS_MAX] = { NULL };
    for (; next.count < plan->sink_count; next.count++) {
        const struct plan_sink *sink = &plan->sinks[next.count];
        kept[next.count] = anew && has_path(&sink->settings) ? NULL : find(outlets, sink);
        enum err err = kept[next.count] ? OK : outlet_open(&next.list[next.count], sink, why);
        if (!err)
            continue;
        for (size_t i = 0; i < next.count; i++)
            if (!kept[i])
                outlet_close(&next.list[i]);
        return err;
    }
    for (size_t i = 0; i < next.count; i++)
        if (kept[i] && kept[i]->sink) { /* given twice, it is one */
            next.list[i] = *kept[i];
            *kept[i] = (struct outlet){ 0 };
        }
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].sink)
            outlet_close(&outlets->list[i]);
    *outlets = next;
    return OK;
}

static void judge(struct outlet *outlet, enum err err)
{
    if (!err) {
        if (outlet->is_failing)
            log_warn("the sink %s takes samples again; %llu readings are lost", outlet->sink->name,
                     (unsigned long long)outlet->failures);
        outlet->is_failing = false;
        return;
    }
    outlet->failures++;
    if (err == GONE) {
        log_info("nobody reads the sink %s any more: it is closed", outlet->sink->name);
        outlet->sink->close(outlet->state);
        free(outlet->state);
        outlet->state = NULL;
    } else if (!outlet->is_failing) {
        log_error("cannot write to the sink %s: %s. What is read until it can be written is lost to it.",
                  outlet->sink->name, err_text(err));
        outlet->is_failing = true;
    }
}

void outlets_write(struct outlets *outlets, const struct batch *batch)
{
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].state)
            judge(&outlets->list[i], outlets->list[i].sink->write(outlets->list[i].state, batch));
}

bool outlets_close(struct outlets *outlets)
{
    bool good = true;
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].sink)
            good = outlet_close(&outlets->list[i]) && good;
    *outlets = (struct outlets){ 0 };
    return good;
}
