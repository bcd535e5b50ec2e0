/* Two passes over the tree: from the leaves up to sum what each family used, from the roots down to distribute time
 * that is known only as the family's total. After that each instance's usage can be computed alone. */
#include "merge/usage.h"

#include "merge/arena.h"

#include <stdlib.h>

/* A process is torn down after its taskstats and after the probe's end record: that time appears only in the parent's
 * wait. Its length depends on the memory to free, about 0.05 us per KB (measured; page faults correlate much less). */
#define WEIGHT_PER_EXIT 200        /* in KB: fixed cost of every exit */
#define WEIGHT_UNKNOWN_MEMORY 1500 /* KB of a small program */
#define WEIGHT_PER_THREAD 2000     /* taskstats of a thread lack what it ran since the last tick or switch */
#define REST_PER_TASK_US 4000   /* one tick; a rest above this per task, plus half of the known time, means that a
                                 * process is missing */

#define BIT(name) (1ull << COUNTER_##name)
#define FROM_WAIT (BIT(usertime) | BIT(systemtime) | BIT(minflt) | BIT(majflt) | BIT(inblock) | BIT(outblock) \
                   | BIT(vol_ctxsw) | BIT(invol_ctxsw))

static const struct process_instance *instance_at(const struct usage *u, uint32_t instance)
{
    return &u->instances->list[instance];
}

void usage_subtract(struct counters *minuend, const struct counters *subtrahend)
{
    uint64_t cpu = counters_cpu_us(minuend), less = counters_cpu_us(subtrahend);
    cpu = cpu > less ? cpu - less : 0;
    counters_subtract(minuend, subtrahend);
    if (!counters_has(minuend, COUNTER_usertime) || !counters_has(minuend, COUNTER_systemtime))
        return;
    if (minuend->value[COUNTER_usertime] > cpu)
        minuend->value[COUNTER_usertime] = cpu;
    minuend->value[COUNTER_systemtime] = cpu - minuend->value[COUNTER_usertime];
}

static bool was_waited_for(const struct process_instance *instance)
{
    return instance->wait != NONE;
}

/* Did the parent in the tree wait for it, and not another process? */
static bool counts_to_parent(const struct usage *u, const struct process_instance *instance)
{
    if (instance->parent == NONE || !instance->ended)
        return false;
    if (!was_waited_for(instance))
        return true;
    return u->records->list[instance->wait].related_pid == instance_at(u, instance->parent)->pid;
}

/* What it used itself, without its teardown. */
static bool self_of(const struct usage_records *reported, struct counters *self)
{
    if (!reported->has_tasks && !reported->has_end)
        return false;
    uint64_t tasks_us = counters_cpu_us(&reported->tasks);
    bool has_lost_task = reported->has_end && counters_cpu_us(&reported->end.self) > tasks_us; /* a thread's taskstats */
    if (!reported->has_tasks || has_lost_task)
        *self = reported->end.self;
    else
        *self = reported->tasks;
    return true;
}

/* What it used together with the children that it waited for. */
static void inclusive_of(const struct usage *u, uint32_t index, const struct usage_records *reported,
                         struct counters *inclusive)
{
    const struct instance_usage *use = &u->list[index];
    *inclusive = (struct counters){ 0 };
    if (reported->has_wait) {
        *inclusive = reported->wait;
        return;
    }
    self_of(reported, inclusive);
    if (reported->has_end)
        counters_add(inclusive, &reported->end.children);
    else if (use->children_sum)
        counters_add(inclusive, use->children_sum);
}

static uint32_t tasks_of(const struct usage_records *reported)
{
    return reported->has_tasks ? reported->task_count : 1;
}

static uint64_t weight_of(const struct usage_records *reported, const struct counters *self)
{
    uint64_t memory = counters_has(self, COUNTER_rssmax) ? self->value[COUNTER_rssmax] : WEIGHT_UNKNOWN_MEMORY;
    return WEIGHT_PER_EXIT + memory + (uint64_t)(tasks_of(reported) - 1) * WEIGHT_PER_THREAD;
}

static void add_member(struct instance_usage *use, const struct usage_records *reported, const struct counters *self)
{
    use->members++;
    use->tasks += tasks_of(reported);
    use->members_us += counters_cpu_us(self);
    use->weight += weight_of(reported, self);
}

/* Adds what an exited instance and its children used to its parent. */
static void add_to_parent(struct usage *u, uint32_t index, const struct usage_records *reported,
                          const struct counters *self,
                             bool has_self)
{
    const struct process_instance *instance = instance_at(u, index);
    struct instance_usage *use = &u->list[index], *parent = &u->list[instance->parent];
    struct counters inclusive;
    inclusive_of(u, index, reported, &inclusive);
    counters_add(parent->children_sum, &inclusive);
    if (reported->has_wait)
        return;
    parent->includes_others = true; /* no wait record: time after its last record is missing */
    if (has_self)
        add_member(parent, reported, self);
    if (reported->has_end)
        return; /* the processes below it had their own total */
    parent->members += use->members;
    parent->tasks += use->tasks;
    parent->members_us += use->members_us;
    parent->weight += use->weight;
}

/* One instance whose children are done. */
static void sum_up(struct usage *u, uint32_t index)
{
    const struct process_instance *instance = instance_at(u, index);
    bool counts = counts_to_parent(u, instance) && u->list[instance->parent].children_sum;
    if (!counts)
        return;
    struct usage_records reported;
    struct counters self;
    usage_records_read(u->records, instance, &reported);
    bool has_self = self_of(&reported, &self);
    add_to_parent(u, index, &reported, &self, has_self);
}

/* The parts of a family's total. */
struct family {
    uint64_t rest_us;  /* part of the total that is not in the known usage of members */
    uint64_t known_us; /* of the members */
    uint64_t weight;
    uint32_t members, tasks;
    bool with_head; /* the instance itself is one of the sharing members */
};

static bool family_of(const struct instance_usage *use, const struct usage_records *reported,
                      const struct counters *self, struct family *family)
{
    uint64_t all_us, less_us = use->children_sum ? counters_cpu_us(use->children_sum) : 0;
    *family = (struct family){ .known_us = use->members_us, .weight = use->weight, .members = use->members,
                                .tasks = use->tasks };
    if (reported->has_end) {
        all_us = counters_cpu_us(&reported->end.children);
    } else if (reported->has_wait && reported->has_tasks) {
        all_us = counters_cpu_us(&reported->wait);
        less_us += counters_cpu_us(self);
        family->known_us += counters_cpu_us(self);
        family->weight += weight_of(reported, self);
        family->members++;
        family->tasks += tasks_of(reported);
        family->with_head = true;
    } else {
        return false;
    }
    family->rest_us = all_us > less_us ? all_us - less_us : 0;
    return true;
}

/* Microseconds of the rest per unit of weight. A rest that is too large is not teardown: a process is missing. */
static double rate_of(const struct family *family)
{
    uint64_t most_us = family->known_us / 2 + (uint64_t)family->tasks * REST_PER_TASK_US;
    bool is_alone = family->with_head && family->members == 1;
    if (!family->weight || (!is_alone && family->rest_us > most_us))
        return 0;
    return (double)family->rest_us / (double)family->weight;
}

/* rates: by instance, what its children without a wait record get per unit of weight. */
static void distribute_rest(struct usage *u, uint32_t index, double *rates)
{
    const struct process_instance *instance = instance_at(u, index);
    struct instance_usage *use = &u->list[index];
    bool shares_above = instance->parent != NONE && instance->ended && !was_waited_for(instance);
    double rate = shares_above ? rates[instance->parent] : 0;
    bool is_head = use->members > 0 || (was_waited_for(instance) && !process_instance_has(instance, RECORD_KIND_end));
    rates[index] = rate;
    if (!is_head && rate == 0)
        return;
    struct usage_records reported;
    struct counters self = { 0 };
    struct family family = { 0 };
    usage_records_read(u->records, instance, &reported);
    bool has_self = self_of(&reported, &self);
    if (is_head && family_of(use, &reported, &self, &family)) {
        rates[index] = rate_of(&family);
        rate = family.with_head ? rates[index] : rate;
    }
    use->extra_us = has_self ? (uint64_t)((double)weight_of(&reported, &self) * rate + 0.5) : 0;
    use->estimated = use->extra_us && !(family.with_head && family.members == 1);
}

/* A sum of the children is needed only for instances whose own part cannot be computed otherwise, or whose total has to
 * be distributed. */
static enum err allocate_child_sums(struct usage *u, struct arena *arena)
{
    for (uint32_t i = 0; i < u->instances->count; i++) {
        const struct process_instance *instance = instance_at(u, i);
        if (!counts_to_parent(u, instance) || u->list[instance->parent].children_sum)
            continue;
        if (process_instance_has(instance_at(u, instance->parent), RECORD_KIND_end) && was_waited_for(instance))
            continue;
        u->list[instance->parent].children_sum = arena_alloc(arena, 1, sizeof(struct counters));
        if (!u->list[instance->parent].children_sum)
            return NOMEM;
    }
    return OK;
}

/* Each instance is visited at the position of its first image. */
static bool is_first_image(const struct usage *u, const uint32_t *order, uint32_t position)
{
    const struct process_instance *instance = instance_at(u, u->images->list[order[position]].instance);
    return order[position] == instance->first_image;
}

static enum err walk_both_ways(struct usage *u, const uint32_t *order, uint32_t count)
{
    double *rates = calloc(u->instances->count + 1, sizeof *rates);
    if (!rates)
        return NOMEM;
    for (uint32_t position = count; position-- > 0;)
        if (is_first_image(u, order, position))
            sum_up(u, u->images->list[order[position]].instance);
    for (uint32_t position = 0; position < count; position++)
        if (is_first_image(u, order, position))
            distribute_rest(u, u->images->list[order[position]].instance, rates);
    free(rates);
    return OK;
}

enum err usage_init(struct usage *u, const struct record_index *records, const struct process_instances *instances,
                    const struct process_images *images,
                    const uint32_t *order, uint32_t count)
{
    *u = (struct usage){ .records = records, .instances = instances, .images = images };
    u->list = calloc(instances->count + 1, sizeof *u->list);
    struct arena *arena = calloc(1, sizeof *arena);
    u->memory = arena;
    if (!u->list || !arena)
        return NOMEM;
    enum err err = allocate_child_sums(u, arena);
    return err ? err : walk_both_ways(u, order, count);
}

void usage_clear(struct usage *u)
{
    if (u->memory)
        arena_clear(u->memory);
    free(u->memory);
    free(u->list);
    *u = (struct usage){ 0 };
}

/* Usage from the wait record minus that of the children. children_sum NULL: it waited for nobody. */
static void take_wait(const struct usage_records *reported, const struct counters *children_sum, struct counters *own)
{
    struct counters part = reported->wait;
    part.known &= FROM_WAIT;
    if (children_sum)
        usage_subtract(&part, children_sum); /* unknown usage of children stays with the parent */
    own->known &= ~part.known;
    counters_fill(own, &part);
}

/* The peak memory in a wait record is the largest of the process and all that it waited for: its own only if larger
 * than theirs. */
static void take_rss(const struct usage_records *reported, const struct counters *children_sum, struct counters *own)
{
    uint64_t all = counters_get(&reported->wait, COUNTER_rssmax);
    uint64_t children = children_sum ? counters_get(children_sum, COUNTER_rssmax) : 0;
    if (all > children && all > counters_get(own, COUNTER_rssmax))
        counters_set(own, COUNTER_rssmax, all);
}

void usage_take_children(const struct counters *children, struct counters *own)
{
    static const struct { enum counter from, to; } pairs[] = {
        { COUNTER_usertime, COUNTER_cutime }, { COUNTER_systemtime, COUNTER_cstime },
        { COUNTER_minflt, COUNTER_cminflt }, { COUNTER_majflt, COUNTER_cmajflt },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!counters_has(own, pairs[i].to) && counters_has(children, pairs[i].from))
            counters_set(own, pairs[i].to, children->value[pairs[i].from]);
}

/* Teardown is system time; what threads ran since the last tick is split like their known time. */
static void add_extra(const struct usage_records *reported, uint64_t extra_us, struct counters *own)
{
    uint64_t user_us = counters_get(own, COUNTER_usertime), system_us = counters_get(own, COUNTER_systemtime);
    double user_part = tasks_of(reported) > 1 ? (double)(user_us + 1) / (double)(user_us + system_us + 1) : 0;
    uint64_t to_user_us = (uint64_t)((double)extra_us * user_part);
    counters_set(own, COUNTER_usertime, user_us + to_user_us);
    counters_set(own, COUNTER_systemtime, system_us + extra_us - to_user_us);
}

bool usage_of_instance(const struct usage *u, uint32_t index, const struct usage_records *reported, struct counters *own)
{
    const struct instance_usage *use = &u->list[index];
    const struct counters *children = reported->has_end ? &reported->end.children : use->children_sum;
    *own = (struct counters){ 0 };
    bool has_self = self_of(reported, own);
    if (!has_self && reported->has_alive)
        *own = reported->alive;
    if (reported->has_end)
        counters_fill(own, &reported->end.self);
    if (reported->has_wait && (reported->has_end || !has_self))
        take_wait(reported, children, own);
    if (reported->has_tasks && counters_has(&reported->tasks, COUNTER_rssmax))
        counters_set(own, COUNTER_rssmax, reported->tasks.value[COUNTER_rssmax]); /* of the last image alone */
    else if (reported->has_wait && !usage_records_have_own_rss(reported))
        take_rss(reported, children, own);
    if (use->extra_us)
        add_extra(reported, use->extra_us, own);
    if (children)
        usage_take_children(children, own);
    return own->known != 0;
}
