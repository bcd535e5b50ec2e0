/* Feeds the chosen sets to the agent's own JSON writer. */
#include "report/ls.h"

#include "api/sets_json.h"

struct chosen {
    const struct sets_answer *sets;
    const bool *chosen;
    struct job *of; /* job of the last entry */
};

static bool chosen_next(const void *context, struct view_position *at, struct view_entry *entry)
{
    const struct chosen *chosen = context;
    while (at->entry < chosen->sets->count && !(chosen->chosen[at->entry] && chosen->sets->items[at->entry].values))
        at->entry++;
    if (at->entry == chosen->sets->count)
        return false;
    const struct sets_item *item = &chosen->sets->items[at->entry++];
    *chosen->of = (struct job){ .id = item->job, .user = item->user ? item->user : "", .uid = item->uid };
    *entry = (struct view_entry){
        .host = item->host ? item->host : chosen->sets->host,
        .set = item->schema,
        .instance = item->instance,
        .job = item->job,
        .of = item->job ? chosen->of : NULL,
        .values = item->values,
        .known = item->known,
        .time_ns = item->time_ns,
        .first_ns = item->first_ns,
        .updates = item->updates,
        .period_ns = item->period_ns,
        .read_ns = item->read_ns,
    };
    return true;
}

static bool next_job(const void *context, struct view_position *at, const char **host, const struct job **job)
{
    const struct chosen *chosen = context;
    if (at->entry == chosen->sets->job_count)
        return false;
    const struct sets_job *next = &chosen->sets->jobs[at->entry++];
    *chosen->of = (struct job){ .id = next->id, .user = next->user };
    *host = next->host ? next->host : chosen->sets->host;
    *job = chosen->of;
    return true;
}

void ls_json(struct buf *out, const struct sets_answer *sets, const bool *chosen)
{
    static const struct view_source source = { chosen_next, next_job };
    struct job of;
    const struct chosen context = { sets, chosen, &of };
    const struct view view = { &source, &context, sets->host, VIEW_ALL, sets->producer, sets->uid, sets->gid };
    sets_json_write(out, &view, true);
}
