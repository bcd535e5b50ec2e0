/* Opening, writing to and closing sinks. Sinks that write files add to them: a restart loses nothing. */
#include "agent/agent_sinks.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>
#include <time.h>

#define FLUSH_NS (5 * NS_PER_S)
#define PAUSE_NS (250 * NS_PER_MS)

static void one_free(struct outlets_one *one)
{
    sink_choice_clear(&one->choice);
    *one = (struct outlets_one){ 0 };
}

static bool is_open(const struct outlets_one *one)
{
    return one->state || one->outlet;
}

bool outlets_need_spool(const struct plan *plan)
{
    for (size_t i = 0; i < plan->sink_count; i++)
        if (plan->sinks[i].sink->may_block)
            return true;
    return false;
}

static struct journal *journal_of(const struct sink_choice *choice, struct journal *journal)
{
    return choice->sink->may_block ? journal : NULL;
}

static enum err open_state(struct outlets_one *one, struct buf *why)
{
    struct buf reason;
    buf_init(&reason, 4096);
    enum err err = sink_choice_open(&one->choice, &one->state, &reason);
    if (err) {
        buf_add_text(why, "cannot open the sink ");
        sink_choice_write(&one->choice, why);
        buf_printf(why, ": %s", buf_text(&reason));
    }
    buf_clear(&reason);
    return err;
}

/* It is opened here and not by its thread, so that settings that make no sense are told before anything changes. */
static enum err one_open(struct outlets_one *one, const struct sink_choice *choice, struct journal *journal, struct buf *why)
{
    *one = (struct outlets_one){ .journal = journal_of(choice, journal) };
    enum err err = sink_choice_copy(&one->choice, choice);
    if (!err)
        err = open_state(one, why);
    if (!err && one->journal) {
        struct outlet_settings settings = { .journal = journal, .choice = &one->choice, .state = one->state };
        err = outlet_open(&one->outlet, &settings);
        if (!err)
            one->state = NULL;
    }
    if (err) {
        sink_choice_close(&one->choice, &one->state);
        one_free(one);
    }
    return err;
}

/* What cannot be written now may be a little later; there is nobody who would try it again after us. */
static enum err flush(struct outlets_one *one)
{
    uint64_t until_ns = clock_monotonic_ns() + FLUSH_NS;
    for (;;) {
        enum err err = one->choice.sink->flush(one->state, until_ns);
        if (!err || err == GONE || !one->choice.sink->may_block || clock_monotonic_ns() + PAUSE_NS >= until_ns)
            return err;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    }
}

/* What a sink with a thread could not hand over stays in the spool. */
static bool one_close(struct outlets_one *one)
{
    enum err err = OK;
    outlet_close(&one->outlet, FLUSH_NS);
    if (one->state) {
        err = flush(one);
        if (err && err != GONE)
            log_error("cannot write all of the sink %s: %s", one->choice.sink->name,
                      sink_choice_message(&one->choice, one->state, err));
        sink_choice_close(&one->choice, &one->state);
    }
    one_free(one);
    return !err || err == GONE;
}

static struct outlets_one *find(struct outlets *outlets, const struct sink_choice *choice, const struct journal *journal)
{
    for (size_t i = 0; i < outlets->count; i++)
        if (is_open(&outlets->list[i]) && outlets->list[i].journal == journal
            && sink_choice_equal(&outlets->list[i].choice, choice))
            return &outlets->list[i];
    return NULL;
}

/* Another password is another sink, at the same place in the spool: one of them at a time. */
static void make_way(struct outlets *outlets, const struct sink_choice *choice)
{
    char name[64];
    outlet_name(choice, name);
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].outlet && !strcmp(outlet_instance(outlets->list[i].outlet), name))
            one_close(&outlets->list[i]);
}

static enum err open_next(struct outlets *outlets, struct outlets *next, const struct sink_choice *choice,
                          struct journal *journal, struct buf *why)
{
    if (find(next, choice, journal_of(choice, journal)))
        return OK; /* given twice, it is one */
    if (journal_of(choice, journal))
        make_way(outlets, choice);
    return one_open(&next->list[next->count], choice, journal, why);
}

/* One that was moved to another list is empty in this one. */
static void close_all(struct outlets *outlets)
{
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].choice.sink)
            one_close(&outlets->list[i]);
}

static bool has_path(const struct sink_choice *choice)
{
    return setting_list_find(&choice->settings, "path");
}

enum err outlets_apply(struct outlets *outlets, const struct plan *plan, struct journal *journal, bool anew, struct buf *why)
{
    struct outlets next = { 0 };
    struct outlets_one *kept[PLAN_SINKS_MAX] = { NULL };
    for (; next.count < plan->sink_count; next.count++) {
        const struct sink_choice *sink = &plan->sinks[next.count];
        struct outlets_one *same = find(outlets, sink, journal_of(sink, journal));
        kept[next.count] = same && (same->outlet || !anew || !has_path(sink)) ? same : NULL;
        enum err err = kept[next.count] ? OK : open_next(outlets, &next, sink, journal, why);
        if (err) {
            close_all(&next);
            return err;
        }
    }
    for (size_t i = 0; i < next.count; i++)
        if (kept[i] && kept[i]->choice.sink) { /* given twice, it is one */
            next.list[i] = *kept[i];
            *kept[i] = (struct outlets_one){ 0 };
            if (anew && next.list[i].outlet && has_path(&next.list[i].choice))
                outlet_reopen(next.list[i].outlet);
        }
    close_all(outlets);
    *outlets = next;
    return OK;
}

static void judge(struct outlets_one *one, enum err err)
{
    if (!err) {
        if (one->is_failing)
            log_warn("the sink %s takes samples again; %llu readings are lost", one->choice.sink->name,
                     (unsigned long long)one->failures);
        one->is_failing = false;
        return;
    }
    one->failures++;
    if (err == GONE) {
        log_info("nobody reads the sink %s any more: it is closed", one->choice.sink->name);
        sink_choice_close(&one->choice, &one->state);
    } else if (!one->is_failing) {
        log_error("cannot write to the sink %s: %s. What is read until it can be written is lost to it.",
                  one->choice.sink->name, sink_choice_message(&one->choice, one->state, err));
        one->is_failing = true;
    }
}

void outlets_write(struct outlets *outlets, const struct batch *batch)
{
    for (size_t i = 0; i < outlets->count; i++) {
        struct outlets_one *one = &outlets->list[i];
        if (one->state)
            judge(one, one->choice.sink->write(one->state, batch));
    }
}

bool outlets_close(struct outlets *outlets)
{
    bool good = true;
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].outlet)
            outlet_hurry(outlets->list[i].outlet, FLUSH_NS);
    for (size_t i = 0; i < outlets->count; i++)
        if (outlets->list[i].choice.sink)
            good = one_close(&outlets->list[i]) && good;
    *outlets = (struct outlets){ 0 };
    return good;
}
