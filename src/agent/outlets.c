/* Opening, writing to and closing sinks. Sinks that write files add to them: a restart loses nothing. */
#include "agent/outlets.h"

#include "base/clock.h"
#include "base/log.h"

#define FLUSH_NS (5 * NS_PER_S)

static void outlet_free(struct outlet *outlet)
{
    sink_choice_clear(&outlet->choice);
    *outlet = (struct outlet){ 0 };
}

static enum err outlet_open(struct outlet *outlet, const struct sink_choice *choice, struct buf *why)
{
    *outlet = (struct outlet){ 0 };
    enum err err = sink_choice_copy(&outlet->choice, choice);
    if (!err)
        err = sink_choice_open(&outlet->choice, &outlet->state, why);
    if (!err && outlet->choice.sink->may_block)
        err = aside_open(&outlet->aside, outlet->choice.sink, outlet->state);
    if (err) {
        sink_choice_close(&outlet->choice, &outlet->state);
        outlet_free(outlet);
    }
    return err;
}

static bool outlet_close(struct outlet *outlet)
{
    enum err err = OK;
    if (outlet->state) {
        err = outlet->aside ? aside_close(&outlet->aside, FLUSH_NS)
                            : outlet->choice.sink->flush(outlet->state, clock_monotonic_ns() + FLUSH_NS);
        if (err && err != GONE)
            log_error("cannot write all of the sink %s: %s", outlet->choice.sink->name,
                      sink_choice_message(&outlet->choice, outlet->state, err));
        sink_choice_close(&outlet->choice, &outlet->state);
    }
    outlet_free(outlet);
    return !err || err == GONE;
}

static struct outlet *find(struct outlets *outlets, const struct sink_choice *choice)
{
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].state && sink_choice_equal(&outlets->list[i].choice, choice))
            return &outlets->list[i];
    return NULL;
}

enum err outlets_apply(struct outlets *outlets, const struct plan *plan, bool anew, struct buf *why)
{
    struct outlets next = { 0 };
    struct outlet *kept[PLAN_SINKS_MAX] = { NULL };
    for (; next.count < plan->sink_count; next.count++) {
        const struct sink_choice *sink = &plan->sinks[next.count];
        kept[next.count] = anew && setting_list_find(&sink->settings, "path") ? NULL : find(outlets, sink);
        enum err err = kept[next.count] ? OK : outlet_open(&next.list[next.count], sink, why);
        if (!err)
            continue;
        for (size_t i = 0; i < next.count; i++)
            if (!kept[i])
                outlet_close(&next.list[i]);
        return err;
    }
    for (size_t i = 0; i < next.count; i++)
        if (kept[i] && kept[i]->choice.sink) { /* given twice, it is one */
            next.list[i] = *kept[i];
            *kept[i] = (struct outlet){ 0 };
        }
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].choice.sink)
            outlet_close(&outlets->list[i]);
    *outlets = next;
    return OK;
}

static void judge(struct outlet *outlet, enum err err)
{
    if (!err) {
        if (outlet->is_failing)
            log_warn("the sink %s takes samples again; %llu readings are lost", outlet->choice.sink->name,
                     (unsigned long long)outlet->failures);
        outlet->is_failing = false;
        return;
    }
    outlet->failures++;
    if (err == GONE) {
        log_info("nobody reads the sink %s any more: it is closed", outlet->choice.sink->name);
        aside_close(&outlet->aside, 0);
        sink_choice_close(&outlet->choice, &outlet->state);
    } else if (!outlet->is_failing) {
        log_error("cannot write to the sink %s: %s. What is read until it can be written is lost to it.",
                  outlet->choice.sink->name,
                  outlet->aside ? "more waits for it than is kept" : sink_choice_message(&outlet->choice, outlet->state, err));
        outlet->is_failing = true;
    }
}

void outlets_write(struct outlets *outlets, const struct batch *batch)
{
    for (size_t i = 0; i < outlets->count; i++) {
        struct outlet *outlet = &outlets->list[i];
        if (outlet->aside)
            judge(outlet, aside_take(outlet->aside, batch));
        else if (outlet->state)
            judge(outlet, outlet->choice.sink->write(outlet->state, batch));
    }
}

bool outlets_close(struct outlets *outlets)
{
    bool good = true;
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].choice.sink)
            good = outlet_close(&outlets->list[i]) && good;
    *outlets = (struct outlets){ 0 };
    return good;
}
