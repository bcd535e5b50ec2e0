/* One host, with the entries of model/latest.c. */
#include "agent/node_view.h"

static bool next_entry(const void *context, struct view_position *at, struct view_entry *entry)
{
    const struct node_view *node = context;
    const struct latest_entry *held = latest_next(node->live, &at->entry);
    if (!held)
        return false;
    *entry = (struct view_entry){
        .host = node->host, .set = held->set, .instance = held->instance, .job = held->job,
        .of = held->job && node->jobs ? jobs_find(node->jobs, held->job) : NULL,
        .values = held->values, .known = held->known, .time_ns = held->time_ns,
        .first_ns = held->first_ns, .updates = held->updates, .period_ns = held->period_ns,
        .read_ns = held->read_ns,
    };
    return true;
}

static bool next_job(const void *context, struct view_position *at, const char **host, const struct job **job)
{
    const struct node_view *node = context;
    *host = node->host;
    *job = node->jobs ? jobs_next(node->jobs, &at->entry) : NULL;
    return *job;
}

struct view node_view_of(const struct node_view *node, uint32_t uid)
{
    static const struct view_source source = { next_entry, next_job };
    return (struct view){ .source = &source, .context = node, .host = node->host, .uid = uid };
}
