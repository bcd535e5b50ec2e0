/* Each owner has a list of its idle metrics, oldest first. Who has most of them loses one, so that a program that names one after
 * another makes place for itself. */
#include "appmetrics/quota.h"

#include "appmetrics/cells.h"

static void unlink_idle(struct program_table *table, struct program_metric *metric)
{
    struct program_room *room = &metric->owner->room;
    if (metric->previous_idle)
        metric->previous_idle->next_idle = metric->next_idle;
    else
        room->idle = metric->next_idle;
    if (metric->next_idle)
        metric->next_idle->previous_idle = metric->previous_idle;
    else
        room->last_idle = metric->previous_idle;
    metric->next_idle = metric->previous_idle = NULL;
    room->idle_count -= metric->places;
    table->idle_count -= metric->places;
}

static void link_idle(struct program_table *table, struct program_metric *metric)
{
    struct program_room *room = &metric->owner->room;
    metric->previous_idle = room->last_idle;
    if (room->last_idle)
        room->last_idle->next_idle = metric;
    else
        room->idle = metric;
    room->last_idle = metric;
    room->idle_count += metric->places;
    table->idle_count += metric->places;
}

void program_room_use(struct program_table *table, struct program_metric *metric)
{
    if (metric->uses++ == 0)
        unlink_idle(table, metric);
}

void program_room_leave(struct program_table *table, struct program_metric *metric)
{
    if (--metric->uses == 0)
        link_idle(table, metric);
}

void program_room_add(struct program_metric *metric, struct program_scope *owner)
{
    metric->owner = owner;
    metric->uses = 1;
    owner->room.metric_count += metric->places;
}

struct program_scope *program_room_owner(struct program_table *table, struct program_scope *scope)
{
    if (!scope || scope->kind == PROGRAM_NODE)
        return &table->node;
    return scope->kind == PROGRAM_USER ? scope : program_scope_user(table, scope->uid);
}

/* Users are seldom many, and none is ever forgotten. */
static struct program_scope *owner_with_most_idle(struct program_table *table)
{
    struct program_scope *most = &table->node;
    for (struct program_scope *user = table->users; user; user = user->next_user)
        if (user->room.idle_count > most->room.idle_count)
            most = user;
    return most->room.idle_count ? most : NULL;
}

/* Its name may stand in samples that are just being written. */
static void drop(struct program_table *table, struct program_metric *metric)
{
    unlink_idle(table, metric);
    metric->owner->room.metric_count -= metric->places;
    program_cells_drop(table, metric);
    program_table_unlink(table, metric);
    metric->next_idle = table->buried;
    table->buried = metric;
}

static bool drop_one(struct program_table *table)
{
    struct program_scope *owner = owner_with_most_idle(table);
    if (owner)
        drop(table, owner->room.idle);
    return owner != NULL;
}

bool program_room_drop(struct program_table *table, struct program_metric *metric)
{
    bool is_idle = metric->uses == 0 && !table->is_job;
    if (is_idle)
        drop(table, metric);
    return is_idle;
}

static bool has_share(const struct program_table *table, const struct program_scope *owner, size_t places)
{
    size_t in_use = table->place_count - table->idle_count;
    size_t left = table->metrics_max > in_use ? table->metrics_max - in_use : 0;
    size_t own = owner == &table->node ? 0 : owner->room.metric_count - owner->room.idle_count;
    return own + places <= left;
}

enum err program_room_claim(struct program_table *table, struct program_metric *metric, struct program_scope *scope)
{
    struct program_scope *owner = metric->uses ? metric->owner : program_room_owner(table, scope);
    if (metric->uses || !owner)
        return owner ? OK : NOMEM;
    if (!has_share(table, owner, metric->places))
        return FULL;
    unlink_idle(table, metric);
    metric->owner->room.metric_count -= metric->places;
    metric->owner = owner;
    owner->room.metric_count += metric->places;
    link_idle(table, metric);
    return OK;
}

bool program_room_make(struct program_table *table, const struct program_scope *owner, size_t places)
{
    if (!has_share(table, owner, places))
        return false;
    while (table->place_count + places > table->metrics_max)
        if (!drop_one(table))
            return false;
    return true;
}

void program_room_bury(struct program_table *table)
{
    for (struct program_metric *metric = table->buried, *next; metric; metric = next) {
        next = metric->next_idle;
        program_table_free(metric);
    }
    table->buried = NULL;
}

void program_room_close(struct program_table *table)
{
    program_room_bury(table);
    table->node.room = (struct program_room){ 0 };
    for (size_t i = 0; i < table->metric_places; i++) {
        if (!table->metrics[i])
            continue;
        table->metrics[i]->owner = &table->node;
        table->metrics[i]->next_idle = table->metrics[i]->previous_idle = NULL;
    }
}
