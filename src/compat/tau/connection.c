/* A client sends its metrics in the same order at each interval, so the next name is nearly always the neighbour of
 * the last one: one comparison finds it. */
#include "compat/tau/connection.h"

#include "base/clock.h"
#include "appmetrics/saved_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_MAX (1u << 20) /* of one program */
#define JOBS_MAX 100u          /* that one program names, one after another: tau's library names one */
#define LINEAR_MAX 256u        /* metrics that are searched without a map: it would take most of the memory of a client */

static struct program_metric *metric_of(const struct contribution *contribution) { return contribution->cell->metric; }

/* --- the order --- */

struct order_key {
    const struct tau_order *order;
    const struct program_metric *metric;
};

static bool is_metric(const void *item, const void *key)
{
    const struct order_key *wanted = key;
    return metric_of(wanted->order->items.items[map_index_of_item(item)]) == wanted->metric;
}

/* Its index; order->items.count: it has none. */
static size_t order_find(const struct tau_order *order, const struct program_metric *metric)
{
    size_t index = 0;
    if (order->items.count <= LINEAR_MAX) {
        while (index < order->items.count && metric_of(order->items.items[index]) != metric)
            index++;
        return index;
    }
    const void *item = map_find(&order->by_metric, metric->hash, is_metric, &(struct order_key){ order, metric });
    return item ? map_index_of_item(item) : order->items.count;
}

static enum err order_add(struct tau_order *order, struct contribution *contribution)
{
    size_t count = order->items.count;
    bool needs_map = count >= LINEAR_MAX;
    enum err err = vec_reserve(&order->items, 1, METRICS_MAX);
    if (!err && needs_map)
        err = map_reserve(&order->by_metric, count + 1, METRICS_MAX);
    if (err)
        return err;
    order->items.items[order->items.count++] = contribution;
    for (size_t i = order->by_metric.count; needs_map && i <= count; i++)
        map_add(&order->by_metric, metric_of(order->items.items[i])->hash, map_item_of_index(i), METRICS_MAX);
    return OK;
}

static void order_clear(struct tau_order *order)
{
    vec_clear(&order->items);
    map_clear(&order->by_metric);
    *order = (struct tau_order){ 0 };
}

static size_t neighbour(const struct tau_order *order, bool is_down)
{
    if (is_down)
        return order->at == 0 ? order->items.count - 1 : order->at - 1;
    return order->at + 1 >= order->items.count ? 0 : order->at + 1;
}

static bool is_named(const struct tau_order *order, size_t at, const char *name)
{
    const struct series_name *known = &metric_of(order->items.items[at])->name;
    return known->size < TAU_TEXT_MAX && memcmp(known->text, name, known->size + 1) == 0;
}

/* Tries the neighbour in the direction that was right last, then the one in the other direction. */
static bool order_guess(struct tau_order *order, const char *name)
{
    if (!order->items.count)
        return false;
    for (int i = 0; i < 2; i++, order->is_down = !order->is_down) {
        size_t at = neighbour(order, order->is_down);
        if (is_named(order, at, name)) {
            order->at = at;
            return true;
        }
    }
    return false;
}

/* --- the scope --- */

static enum err join(struct tau_connection *connection, struct tau_endpoint *endpoint, const char *job)
{
    struct program_claim claim = { .pid = connection->pid, .uid = connection->uid, .job = job };
    connection->scope = program_jobs_scope(endpoint->jobs, endpoint->registry, &claim, &connection->source);
    connection->was_refused = connection->source == PROGRAM_JOB_REFUSED;
    if (!connection->scope)
        return NOMEM;
    program_jobs_have_changed(endpoint->jobs, clock_realtime_ns(), &connection->check);
    scope_join(connection->scope);
    return OK;
}

static void leave(struct tau_connection *connection, struct tau_endpoint *endpoint)
{
    uint64_t now_ns = clock_realtime_ns();
    for (size_t i = 0; i < connection->order.items.count; i++)
        quota_release(&endpoint->registry->quota, &metric_of(connection->order.items.items[i])->quota);
    for (size_t i = 0; i < connection->gauges.count; i++) {
        contribution_leave(connection->gauges.items[i], now_ns);
        free(connection->gauges.items[i]);
    }
    vec_clear(&connection->gauges);
    order_clear(&connection->order);
    if (connection->scope)
        scope_leave(connection->scope);
    connection->scope = NULL;
}

static void move(struct tau_connection *connection, struct tau_endpoint *endpoint, struct scope *scope, uint64_t now_ns)
{
    struct tau_order *order = &connection->order;
    for (size_t i = 0; i < order->items.count; i++) {
        struct cell *cell = registry_cell(endpoint->registry, metric_of(order->items.items[i]), scope);
        if (cell->metric->kind == PROGRAM_GAUGE)
            contribution_move(order->items.items[i], cell, now_ns);
        else
            order->items.items[i] = &cell->shared;
    }
    scope_leave(connection->scope);
    scope_join(scope);
    connection->scope = scope;
    connection->source = PROGRAM_JOB_BY_KERNEL;
}

static bool can_move(struct tau_connection *connection, struct tau_endpoint *endpoint, struct scope *scope)
{
    return registry_create_cells(endpoint->registry, connection->order.items.items, connection->order.items.count, scope);
}

/* A job may be registered when its programs run already, and a process may be moved into the cgroup of a job. */
static void follow(struct tau_connection *connection, struct tau_endpoint *endpoint, uint64_t now_ns)
{
    if (!program_jobs_must_check(endpoint->jobs, connection->scope, connection->source, now_ns, &connection->check))
        return;
    struct program_claim claim = { .pid = connection->pid, .uid = connection->uid, .job = "" };
    struct scope *scope = program_jobs_kernel_scope(endpoint->jobs, endpoint->registry, &claim);
    if (scope && scope != connection->scope && can_move(connection, endpoint, scope))
        move(connection, endpoint, scope, now_ns);
}

void tau_connection_leave_job(struct tau_connection *connection, struct tau_endpoint *endpoint)
{
    struct scope *user = scopes_user(&endpoint->registry->scopes, connection->uid);
    if (user && can_move(connection, endpoint, user))
        move(connection, endpoint, user, clock_realtime_ns());
}

enum err tau_connection_open(struct tau_connection *connection, struct tau_endpoint *endpoint, pid_t pid, uint32_t uid)
{
    *connection = (struct tau_connection){ .pid = pid, .uid = uid };
    enum err err = join(connection, endpoint, "");
    endpoint->registry->stats.connections += !err;
    return err;
}

void tau_connection_close(struct tau_connection *connection, struct tau_endpoint *endpoint)
{
    endpoint->registry->stats.connections -= connection->scope != NULL;
    leave(connection, endpoint);
}

/* --- messages --- */

static struct contribution *create_gauge(struct tau_connection *connection, struct cell *cell)
{
    struct contribution *gauge = calloc(1, sizeof *gauge);
    if (!gauge || vec_push(&connection->gauges, METRICS_MAX, gauge)) {
        free(gauge);
        return NULL;
    }
    contribution_join(gauge, cell);
    return gauge;
}

static enum err add_metric(struct tau_connection *connection, struct tau_endpoint *endpoint, struct program_metric *metric)
{
    struct cell *cell = registry_cell(endpoint->registry, metric, connection->scope);
    if (!cell)
        return OK; /* counted; its values are ignored */
    struct contribution *contribution = metric->kind == PROGRAM_GAUGE ? create_gauge(connection, cell) : &cell->shared;
    enum err err = contribution ? order_add(&connection->order, contribution) : NOMEM;
    if (!err)
        quota_use(&endpoint->registry->quota, &metric->quota);
    return err;
}

static enum err refuse(struct tau_connection *connection, const char *error)
{
    connection->error = error;
    return CORRUPT;
}

static enum err handle_descriptor(struct tau_connection *connection, struct tau_endpoint *endpoint,
                                  const struct tau_descriptor *descriptor)
{
    struct program_metric *metric;
    struct bytes doc = { descriptor->doc, strnlen(descriptor->doc, TAU_TEXT_MAX) };
    struct bytes name = { descriptor->name, strnlen(descriptor->name, TAU_TEXT_MAX) };
    if (descriptor->type != TAU_COUNTER && descriptor->type != TAU_GAUGE)
        return refuse(connection, "metric of unknown type");
    if (name.size == TAU_TEXT_MAX || name.size == 0)
        return refuse(connection, "metric name is empty or not terminated");
    struct metric_description description = {
        .name = name, .doc = doc, .unit = { "", 0 }, .kind = descriptor->type == TAU_GAUGE ? PROGRAM_GAUGE : PROGRAM_COUNTER,
        .scope = connection->scope,
    };
    enum err err = registry_metric(endpoint->registry, &description, &metric);
    if (err == USAGE)
        return refuse(connection, "metric is in use with another type");
    if (err)
        return OK; /* counted; its values are ignored */
    bool is_known = order_find(&connection->order, metric) < connection->order.items.count;
    return is_known ? OK : add_metric(connection, endpoint, metric);
}

/* A name that was not guessed. *index: order.items.count if the registry has no place for the metric. */
static enum err look_up(struct tau_connection *connection, struct tau_endpoint *endpoint, const char *name, size_t *index)
{
    struct registry *registry = endpoint->registry;
    struct tau_order *order = &connection->order;
    size_t size = strnlen(name, TAU_TEXT_MAX);
    struct program_metric *metric = NULL;
    if (size && size < TAU_TEXT_MAX)
        metric = metric_table_find(&registry->metrics, (struct bytes){ name, size });
    *index = order->items.count;
    if (!metric && size && registry->stats.left_out)
        return OK;
    if (!metric || metric->kind == PROGRAM_HISTOGRAM)
        return refuse(connection, "value of a metric that was not described");
    *index = order_find(order, metric);
    if (*index < order->items.count)
        return OK;
    bool may_use = registry_claim(registry, metric, connection->scope) == OK;
    registry->stats.left_out += !may_use;
    return may_use ? add_metric(connection, endpoint, metric) : OK;
}

static void add_increment(struct registry *registry, struct cell *cell, double increment, uint64_t now_ns)
{
    if (cell_add(cell, increment, now_ns))
        saved_state_add(registry, cell, increment);
    else
        registry->stats.refused++;
}

static enum err handle_value(struct tau_connection *connection, struct tau_endpoint *endpoint, const struct tau_event *event,
                             uint64_t now_ns)
{
    struct tau_order *order = &connection->order;
    if (!order_guess(order, event->name)) {
        size_t index;
        enum err err = look_up(connection, endpoint, event->name, &index);
        if (err || index >= order->items.count)
            return err;
        order->at = index;
    }
    struct contribution *contribution = order->items.items[order->at];
    if (metric_of(contribution)->kind == PROGRAM_GAUGE)
        contribution_set(contribution, event->value, now_ns);
    else if (event->value != 0 && !cell_is_counted_by_kernel(contribution->cell))
        add_increment(endpoint->registry, contribution->cell, event->value, now_ns);
    return OK;
}

static void terminate(char *string, size_t size) { string[size - 1] = '\0'; }

static void fill_string(char *string, const char *other, size_t size)
{
    if (!*string)
        memcpy(string, other, size);
}

/* A launcher, which connects first, may know less of the job than the programs that it starts. */
static void fill_job(struct tau_job *job, const struct tau_job *other)
{
    fill_string(job->command, other->command, sizeof job->command);
    fill_string(job->nodelist, other->nodelist, sizeof job->nodelist);
    fill_string(job->partition, other->partition, sizeof job->partition);
    fill_string(job->cluster, other->cluster, sizeof job->cluster);
    fill_string(job->run_dir, other->run_dir, sizeof job->run_dir);
    if (other->size > job->size)
        job->size = other->size;
}

/* Without memory it is missing in the profile. With several steps of a job, the profile is of the whole job. */
static void note_job(struct scope *scope, const struct tau_job *job)
{
    struct tau_job *known = scope->job.tau;
    if (!known && (known = scope->job.tau = malloc(sizeof *known)))
        *known = *job;
    if (!known)
        return;
    if (strcmp(known->id, job->id) != 0)
        snprintf(known->id, sizeof known->id, "%s", scope->id);
    fill_job(known, job);
}

static enum err handle_job(struct tau_connection *connection, struct tau_endpoint *endpoint, const char *bytes)
{
    struct tau_job job;
    if (++connection->jobs_named > JOBS_MAX)
        return refuse(connection, "more jobs than one program can be in");
    memcpy(&job, bytes, sizeof job);
    terminate(job.id, sizeof job.id);
    terminate(job.command, sizeof job.command);
    terminate(job.nodelist, sizeof job.nodelist);
    terminate(job.partition, sizeof job.partition);
    terminate(job.cluster, sizeof job.cluster);
    terminate(job.run_dir, sizeof job.run_dir);
    leave(connection, endpoint);
    enum err err = join(connection, endpoint, job.id);
    if (!err && connection->scope->kind == SCOPE_JOB)
        note_job(connection->scope, &job);
    return err;
}

static enum err handle(struct tau_connection *connection, struct tau_endpoint *endpoint, const char *bytes, uint64_t now_ns)
{
    const struct tau_message *message = (const void *)bytes; /* aligned by the caller */
    endpoint->registry->stats.messages++;
    switch (message->type) {
    case TAU_DESC:
        return handle_descriptor(connection, endpoint, &message->descriptor);
    case TAU_VAL:
        return handle_value(connection, endpoint, &message->event, now_ns);
    case TAU_JOB:
        return handle_job(connection, endpoint, bytes + sizeof *message);
    default:
        tau_reply_begin(&connection->reply, message->type, message->descriptor.name);
        return OK;
    }
}

/* The size of the message at the beginning of bytes; 0: it is none. */
static size_t size_of(const char *bytes)
{
    int32_t type;
    memcpy(&type, bytes, sizeof type);
    if (type < TAU_DESC || type > TAU_JOB || bytes[offsetof(struct tau_message, canary)] != TAU_CANARY)
        return 0;
    return sizeof(struct tau_message) + (type == TAU_JOB ? sizeof(struct tau_job) : 0);
}

enum err tau_connection_receive(struct tau_connection *connection, struct tau_endpoint *endpoint, struct bytes in, size_t *used)
{
    uint64_t now_ns = clock_realtime_ns();
    *used = 0;
    if (connection->scope)
        follow(connection, endpoint, now_ns);
    while (in.size - *used >= sizeof(struct tau_message) && connection->reply.type == TAU_DESC) {
        size_t size = size_of(in.data + *used);
        if (!size)
            return refuse(connection, "bytes that are no message of tau");
        if (in.size - *used < size)
            break;
        enum err err = handle(connection, endpoint, in.data + *used, now_ns);
        if (err)
            return err;
        *used += size;
    }
    return OK;
}
