/* A client sends its metrics in the same order at each period, so that the next name is nearly always the neighbour of the
 * last: one comparison finds it. */
#include "compat/tau/connection.h"

#include "base/clock.h"
#include "appmetrics/cells.h"
#include "appmetrics/state.h"
#include "appmetrics/quota.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_MAX (1u << 20) /* metrics of one program */
#define JOBS_MAX 100u        /* that one program names, one after another: tau's library names one */

static struct program_metric *metric_of(const struct program_hold *hold) { return hold->cell->metric; }

/* --- the order --- */

static void order_clear(struct tau_order *order)
{
    free(order->items);
    free(order->map);
    *order = (struct tau_order){ 0 };
}

static size_t map_start(const struct tau_order *order, const struct program_metric *metric)
{
    return (metric->hash * 0x9e3779b97f4a7c15ull >> 20) & (order->map_room - 1);
}

static void map_put(struct tau_order *order, size_t item)
{
    size_t at = map_start(order, metric_of(order->items[item]));
    while (order->map[at])
        at = (at + 1) & (order->map_room - 1);
    order->map[at] = (uint32_t)item + 1;
}

static bool map_make(struct tau_order *order)
{
    size_t room = 64;
    while (room < order->count * 4)
        room *= 2;
    free(order->map);
    order->map = calloc(room, sizeof *order->map);
    order->map_room = order->map ? room : 0;
    for (size_t i = 0; order->map && i < order->count; i++)
        map_put(order, i);
    return order->map != NULL;
}

/* Its place; order->count: it is not among them. */
static size_t order_find(struct tau_order *order, const struct program_metric *metric)
{
    if (!order->map && !map_make(order))
        return order->count;
    for (size_t at = map_start(order, metric); order->map[at]; at = (at + 1) & (order->map_room - 1))
        if (metric_of(order->items[order->map[at] - 1]) == metric)
            return order->map[at] - 1;
    return order->count;
}

static enum err order_add(struct tau_order *order, struct program_hold *hold)
{
    if (array_reserve(order->items, order->room, order->count + 1, ORDER_MAX))
        return NOMEM;
    order->items[order->count++] = hold;
    if (order->map && order->count * 2 > order->map_room) {
        free(order->map);
        order->map = NULL;
    } else if (order->map) {
        map_put(order, order->count - 1);
    }
    return OK;
}

static size_t neighbour(const struct tau_order *order, bool is_down)
{
    if (is_down)
        return order->at == 0 ? order->count - 1 : order->at - 1;
    return order->at + 1 >= order->count ? 0 : order->at + 1;
}

static bool is_named(const struct tau_order *order, size_t at, const char *name)
{
    const struct program_metric *metric = metric_of(order->items[at]);
    return metric->name_size < TAU_TEXT_MAX && memcmp(metric->name, name, metric->name_size + 1) == 0;
}

/* The neighbour in the direction that was right last, or in the other one. */
static bool order_guess(struct tau_order *order, const char *name)
{
    if (!order->count)
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

/* --- the program and its metrics --- */

static enum err join(struct tau_connection *connection, struct tau_gateway *gateway, const char *job)
{
    struct program_claim claim = { .pid = connection->pid, .uid = connection->uid, .job = job };
    connection->scope = program_jobs_scope(gateway->jobs, gateway->table, &claim, &connection->word);
    connection->was_refused = connection->word == PROGRAM_REFUSED;
    if (!connection->scope)
        return NOMEM;
    program_jobs_are_new(gateway->jobs, clock_realtime_ns(), &connection->asked);
    program_scope_join(connection->scope);
    return OK;
}

static void leave(struct tau_connection *connection, struct tau_gateway *gateway)
{
    uint64_t now_ns = clock_realtime_ns();
    for (size_t i = 0; i < connection->order.count; i++)
        program_room_leave(gateway->table, metric_of(connection->order.items[i]));
    for (size_t i = 0; i < connection->hold_count; i++) {
        program_hold_leave(gateway->table, connection->holds[i], now_ns);
        free(connection->holds[i]);
    }
    free(connection->holds);
    connection->holds = NULL;
    connection->hold_count = connection->hold_room = 0;
    order_clear(&connection->order);
    if (connection->scope)
        program_scope_leave(connection->scope);
    connection->scope = NULL;
}

/* A gauge's hold is the connection's own and is moved; that of a counter is the cell's. */
static void move(struct tau_connection *connection, struct tau_gateway *gateway, struct program_scope *scope, uint64_t now_ns)
{
    struct tau_order *order = &connection->order;
    for (size_t i = 0; i < order->count; i++) {
        struct program_cell *cell = program_cell_of(gateway->table, metric_of(order->items[i]), scope);
        if (cell->metric->kind == PROGRAM_GAUGE)
            program_hold_move(gateway->table, order->items[i], cell, now_ns);
        else
            order->items[i] = &cell->shared;
    }
    program_scope_leave(connection->scope);
    program_scope_join(scope);
    connection->scope = scope;
    connection->word = PROGRAM_BY_KERNEL;
}

/* A job may be told when its programs run already, also one that is nearer to them than theirs, and a process may be moved into
 * its cgroup. */
static void follow(struct tau_connection *connection, struct tau_gateway *gateway, uint64_t now_ns)
{
    if (!program_jobs_may_move(gateway->jobs, connection->scope, connection->word, now_ns, &connection->asked))
        return;
    struct program_claim claim = { .pid = connection->pid, .uid = connection->uid, .job = "" };
    struct program_scope *scope = program_jobs_placed(gateway->jobs, gateway->table, &claim);
    if (scope && scope != connection->scope
        && program_holds_fit(gateway->table, connection->order.items, connection->order.count, scope))
        move(connection, gateway, scope, now_ns);
}

void tau_connection_leave_job(struct tau_connection *connection, struct tau_gateway *gateway)
{
    struct program_scope *user = program_scope_user(gateway->table, connection->uid);
    if (user && program_holds_fit(gateway->table, connection->order.items, connection->order.count, user))
        move(connection, gateway, user, clock_realtime_ns());
}

enum err tau_connection_open(struct tau_connection *connection, struct tau_gateway *gateway, pid_t pid, uint32_t uid)
{
    *connection = (struct tau_connection){ .pid = pid, .uid = uid };
    enum err err = join(connection, gateway, "");
    gateway->table->figures.connections += !err;
    return err;
}

void tau_connection_close(struct tau_connection *connection, struct tau_gateway *gateway)
{
    gateway->table->figures.connections -= connection->scope != NULL;
    leave(connection, gateway);
}

/* A gauge is each program's own; a counter is summed at once, so that all programs of a job share the hold of its cell. */
static struct program_hold *make_hold(struct tau_connection *connection, struct program_cell *cell)
{
    if (array_reserve(connection->holds, connection->hold_room, connection->hold_count + 1, VEC_MAX))
        return NULL;
    struct program_hold *hold = calloc(1, sizeof *hold);
    if (!hold)
        return NULL;
    program_hold_join(hold, cell);
    connection->holds[connection->hold_count++] = hold;
    return hold;
}

static enum err add_metric(struct tau_connection *connection, struct tau_gateway *gateway, struct program_metric *metric)
{
    struct program_cell *cell = program_cell_of(gateway->table, metric, connection->scope);
    if (!cell)
        return OK; /* counted; what it is told is passed over */
    struct program_hold *hold = metric->kind == PROGRAM_GAUGE ? make_hold(connection, cell) : &cell->shared;
    enum err err = hold ? order_add(&connection->order, hold) : NOMEM;
    if (!err)
        program_room_use(gateway->table, metric);
    return err;
}

static enum err refuse(struct tau_connection *connection, const char *why)
{
    connection->why = why;
    return CORRUPT;
}

static enum err take_descriptor(struct tau_connection *connection, struct tau_gateway *gateway,
                                const struct tau_descriptor *descriptor)
{
    struct program_metric *metric;
    struct bytes doc = { descriptor->doc, strnlen(descriptor->doc, TAU_TEXT_MAX) };
    struct bytes name = { descriptor->name, strnlen(descriptor->name, TAU_TEXT_MAX) };
    if (descriptor->type != TAU_COUNTER && descriptor->type != TAU_GAUGE)
        return refuse(connection, "a metric of an unknown type");
    if (name.size == TAU_TEXT_MAX || name.size == 0)
        return refuse(connection, "a name that does not end, or is empty");
    struct program_description description = {
        .name = name, .doc = doc, .unit = { "", 0 }, .kind = descriptor->type == TAU_GAUGE ? PROGRAM_GAUGE : PROGRAM_COUNTER,
        .scope = connection->scope,
    };
    enum err err = program_table_metric(gateway->table, &description, &metric);
    if (err == USAGE)
        return refuse(connection, "a metric of another type than others gave it");
    if (err)
        return OK; /* counted; what it is told is passed over */
    return order_find(&connection->order, metric) < connection->order.count ? OK : add_metric(connection, gateway, metric);
}

/* A name that was not foreseen. *place: order.count where the table has no room for more. */
static enum err look_up(struct tau_connection *connection, struct tau_gateway *gateway, const char *name, size_t *place)
{
    struct tau_order *order = &connection->order;
    size_t size = strnlen(name, TAU_TEXT_MAX);
    struct program_metric *metric = size && size < TAU_TEXT_MAX
                                    ? program_table_find(gateway->table, (struct bytes){ name, size }) : NULL;
    *place = order->count;
    if (!metric && size && gateway->table->figures.left_out)
        return OK;
    if (!metric || metric->kind == PROGRAM_HISTOGRAM)
        return refuse(connection, "a value of a metric that nobody has described");
    *place = order_find(order, metric);
    if (*place < order->count)
        return OK;
    bool is_ours = program_room_claim(gateway->table, metric, connection->scope) == OK;
    gateway->table->figures.left_out += !is_ours;
    return is_ours ? add_metric(connection, gateway, metric) : OK;
}

static void add(struct program_table *table, struct program_cell *cell, double increment, uint64_t now_ns)
{
    if (program_cell_add(table, cell, increment, now_ns))
        program_kept_add(table, cell, increment);
    else
        table->figures.refused++;
}

static enum err take_value(struct tau_connection *connection, struct tau_gateway *gateway, const struct tau_event *event,
                           uint64_t now_ns)
{
    struct tau_order *order = &connection->order;
    if (!order_guess(order, event->name)) {
        size_t place;
        enum err err = look_up(connection, gateway, event->name, &place);
        if (err || place >= order->count)
            return err;
        order->at = place;
    }
    struct program_hold *hold = order->items[order->at];
    if (metric_of(hold)->kind == PROGRAM_GAUGE)
        program_hold_set(gateway->table, hold, event->value, now_ns);
    else if (event->value != 0 && !program_cell_is_counted(hold->cell))
        add(gateway->table, hold->cell, event->value, now_ns);
    return OK;
}

static void end_text(char *text, size_t size) { text[size - 1] = '\0'; }

static void fill_text(char *text, const char *other, size_t size)
{
    if (!*text)
        memcpy(text, other, size);
}

/* A launcher, which speaks first, may know less of the job than the programs that it starts. */
static void fill_job(struct tau_job *job, const struct tau_job *other)
{
    fill_text(job->command, other->command, sizeof job->command);
    fill_text(job->nodelist, other->nodelist, sizeof job->nodelist);
    fill_text(job->partition, other->partition, sizeof job->partition);
    fill_text(job->cluster, other->cluster, sizeof job->cluster);
    fill_text(job->run_dir, other->run_dir, sizeof job->run_dir);
    if (other->size > job->size)
        job->size = other->size;
}

static enum err take_job(struct tau_connection *connection, struct tau_gateway *gateway, const char *bytes)
{
    struct tau_job job;
    if (++connection->jobs_named > JOBS_MAX)
        return refuse(connection, "more jobs than one program can be in");
    memcpy(&job, bytes, sizeof job);
    end_text(job.id, sizeof job.id);
    end_text(job.command, sizeof job.command);
    end_text(job.nodelist, sizeof job.nodelist);
    end_text(job.partition, sizeof job.partition);
    end_text(job.cluster, sizeof job.cluster);
    end_text(job.run_dir, sizeof job.run_dir);
    leave(connection, gateway);
    enum err err = join(connection, gateway, job.id);
    struct program_scope *scope = connection->scope;
    if (err || scope->kind != PROGRAM_JOB)
        return err;
    if (!scope->has_tau)
        scope->tau = job;
    else if (strcmp(scope->tau.id, job.id) != 0) /* several steps of a job: what is summed up is of all of them */
        snprintf(scope->tau.id, sizeof scope->tau.id, "%s", scope->job);
    fill_job(&scope->tau, &job);
    scope->has_tau = true;
    return OK;
}

/* --- messages --- */

static enum err ask(struct tau_connection *connection, struct tau_gateway *gateway, const struct tau_message *message)
{
    tau_reply_begin(&connection->reply, gateway->table, message->type, message->descriptor.name);
    return OK;
}

static enum err take_message(struct tau_connection *connection, struct tau_gateway *gateway, const char *bytes,
                             uint64_t now_ns)
{
    const struct tau_message *message = (const void *)bytes; /* aligned by the caller */
    gateway->table->figures.messages++;
    switch (message->type) {
    case TAU_DESC:
        return take_descriptor(connection, gateway, &message->descriptor);
    case TAU_VAL:
        return take_value(connection, gateway, &message->event, now_ns);
    case TAU_JOB:
        return take_job(connection, gateway, bytes + sizeof *message);
    default:
        return ask(connection, gateway, message);
    }
}

/* How long the message at the beginning of bytes is; 0: it is none. */
static size_t size_of(const char *bytes)
{
    int32_t type;
    memcpy(&type, bytes, sizeof type);
    if (type < TAU_DESC || type > TAU_JOB || bytes[offsetof(struct tau_message, canary)] != TAU_CANARY)
        return 0;
    return sizeof(struct tau_message) + (type == TAU_JOB ? sizeof(struct tau_job) : 0);
}

enum err tau_connection_take(struct tau_connection *connection, struct tau_gateway *gateway, struct bytes in, size_t *used)
{
    uint64_t now_ns = clock_realtime_ns();
    *used = 0;
    if (connection->scope)
        follow(connection, gateway, now_ns);
    while (in.size - *used >= sizeof(struct tau_message) && connection->reply.type == TAU_DESC) {
        size_t size = size_of(in.data + *used);
        if (!size)
            return refuse(connection, "bytes that are no message of tau");
        if (in.size - *used < size)
            break;
        enum err err = take_message(connection, gateway, in.data + *used, now_ns);
        if (err)
            return err;
        *used += size;
    }
    return OK;
}
