/* Two walks over the tree: from the leaves up to learn what each family used, from the roots down to part what only
 * the family's sum shows. Then each life's own numbers can be told alone. */
#include "merge/usage.h"

#include "merge/arena.h"

#include <stdlib.h>

/* A process is torn down after the kernel's exit record and after the probe's last word: that time shows only in what
 * its parent is told at wait. Memory to give back is what makes it long: about 0.05 us per KB (measured; page faults
 * tell much less). */
#define WEIGHT_OF_ONE 200      /* KB's worth of what every end costs */
#define WEIGHT_OF_UNKNOWN 1500 /* KB of a small program */
#define WEIGHT_OF_THREAD 2000  /* the exit record of a thread misses what it ran since the last tick or switch */
#define REST_PER_END_US 4000   /* a tick; more than this for each task, beside half of all, was somebody unseen */

#define BIT(name) (1ull << COUNTER_##name)
#define FROM_WAIT (BIT(usertime) | BIT(systemtime) | BIT(minflt) | BIT(majflt) | BIT(inblock) | BIT(outblock) \
                   | BIT(vol_ctxsw) | BIT(invol_ctxsw))

static const struct life *life_at(const struct usage *u, uint32_t life)
{
    return &u->lives->list[life];
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

static bool was_waited_for(const struct life *life)
{
    return life->wait != NONE;
}

/* Did the parent in the tree wait for it, or somebody else? */
static bool counts_to_parent(const struct usage *u, const struct life *life)
{
    if (life->parent == NONE || !life->ended)
        return false;
    return !was_waited_for(life) || u->events->list[life->wait].who == life_at(u, life->parent)->pid;
}

/* What it used itself without its own teardown, as told. */
static bool self_of(const struct told *told, struct counters *self)
{
    if (!told->has_tasks && !told->has_end)
        return false;
    if (!told->has_tasks
        || (told->has_end && counters_cpu_us(&told->end.self) > counters_cpu_us(&told->tasks))) /* a thread's was lost */
        *self = told->end.self;
    else
        *self = told->tasks;
    return true;
}

/* What it used with the children that it waited for. */
static void inclusive_of(const struct usage *u, uint32_t index, const struct told *told, struct counters *inclusive)
{
    const struct use *use = &u->list[index];
    *inclusive = (struct counters){ 0 };
    if (told->has_wait) {
        *inclusive = told->wait;
        return;
    }
    self_of(told, inclusive);
    if (told->has_end)
        counters_add(inclusive, &told->end.children);
    else if (use->below)
        counters_add(inclusive, use->below);
}

static uint32_t tasks_of(const struct told *told)
{
    return told->has_tasks ? told->task_count : 1;
}

static uint64_t weight_of(const struct told *told, const struct counters *self)
{
    uint64_t memory = counters_has(self, COUNTER_rssmax) ? self->value[COUNTER_rssmax] : WEIGHT_OF_UNKNOWN;
    return WEIGHT_OF_ONE + memory + (uint64_t)(tasks_of(told) - 1) * WEIGHT_OF_THREAD;
}

static void add_member(struct use *use, const struct told *told, const struct counters *self)
{
    use->members++;
    use->tasks += tasks_of(told);
    use->members_us += counters_cpu_us(self);
    use->weight += weight_of(told, self);
}

/* Adds what a finished life and its children used to its parent's account. */
static void report_to_parent(struct usage *u, uint32_t index, const struct told *told, const struct counters *self,
                             bool has_self)
{
    const struct life *life = life_at(u, index);
    struct use *use = &u->list[index], *parent = &u->list[life->parent];
    struct counters inclusive;
    inclusive_of(u, index, told, &inclusive);
    counters_add(parent->below, &inclusive);
    if (told->has_wait)
        return;
    parent->with_others = true; /* its end was not waited for in our sight: what follows the last word is missing */
    if (has_self)
        add_member(parent, told, self);
    if (told->has_end)
        return; /* those below it had their own sum */
    parent->members += use->members;
    parent->tasks += use->tasks;
    parent->members_us += use->members_us;
    parent->weight += use->weight;
}

/* One life, its children done. */
static void sum_up(struct usage *u, uint32_t index)
{
    const struct life *life = life_at(u, index);
    bool tells_parent = counts_to_parent(u, life) && u->list[life->parent].below;
    if (!tells_parent)
        return;
    struct told told;
    struct counters self;
    told_read(u->events, life, &told);
    bool has_self = self_of(&told, &self);
    report_to_parent(u, index, &told, &self, has_self);
}

/* What a life that knows its family's sum knows of its parts. */
struct family {
    uint64_t rest_us;   /* of the sum, not in what is known of the members */
    uint64_t known_us;  /* of the members */
    uint64_t weight;
    uint32_t members, tasks;
    bool with_head;     /* the life itself is one of the members that share */
};

static bool family_of(const struct use *use, const struct told *told, const struct counters *self, struct family *family)
{
    uint64_t all_us, less_us = use->below ? counters_cpu_us(use->below) : 0;
    *family = (struct family){ .known_us = use->members_us, .weight = use->weight, .members = use->members,
                                .tasks = use->tasks };
    if (told->has_end) {
        all_us = counters_cpu_us(&told->end.children);
    } else if (told->has_wait && told->has_tasks) {
        all_us = counters_cpu_us(&told->wait);
        less_us += counters_cpu_us(self);
        family->known_us += counters_cpu_us(self);
        family->weight += weight_of(told, self);
        family->members++;
        family->tasks += tasks_of(told);
        family->with_head = true;
    } else {
        return false;
    }
    family->rest_us = all_us > less_us ? all_us - less_us : 0;
    return true;
}

/* How much of the rest goes to each unit of weight. A rest that is too large is not teardown: somebody was not seen. */
static double rate_of(const struct family *family)
{
    uint64_t most_us = family->known_us / 2 + (uint64_t)family->tasks * REST_PER_END_US;
    bool is_alone = family->with_head && family->members == 1;
    if (!family->weight || (!is_alone && family->rest_us > most_us))
        return 0;
    return (double)family->rest_us / (double)family->weight;
}

/* rates: by life, what its unwaited children get for each unit of weight. */
static void part_rest(struct usage *u, uint32_t index, double *rates)
{
    const struct life *life = life_at(u, index);
    struct use *use = &u->list[index];
    bool shares_above = life->parent != NONE && life->ended && !was_waited_for(life);
    double rate = shares_above ? rates[life->parent] : 0;
    bool is_head = use->members > 0 || (was_waited_for(life) && !life_has(life, RECORD_KIND_end));
    rates[index] = rate;
    if (!is_head && rate == 0)
        return;
    struct told told;
    struct counters self = { 0 };
    struct family family = { 0 };
    told_read(u->events, life, &told);
    bool has_self = self_of(&told, &self);
    if (is_head && family_of(use, &told, &self, &family)) {
        rates[index] = rate_of(&family);
        rate = family.with_head ? rates[index] : rate;
    }
    use->extra_us = has_self ? (uint64_t)((double)weight_of(&told, &self) * rate + 0.5) : 0;
    use->estimated = use->extra_us && !(family.with_head && family.members == 1);
}

/* Only those need a sum of their children that have no other way to tell their own part, or whose sum has to be
 * parted. */
static enum err make_sums(struct usage *u, struct arena *arena)
{
    for (uint32_t i = 0; i < u->lives->count; i++) {
        const struct life *life = life_at(u, i);
        if (!counts_to_parent(u, life) || u->list[life->parent].below)
            continue;
        if (life_has(life_at(u, life->parent), RECORD_KIND_end) && was_waited_for(life))
            continue;
        u->list[life->parent].below = arena_alloc(arena, 1, sizeof(struct counters));
        if (!u->list[life->parent].below)
            return NOMEM;
    }
    return OK;
}

/* Calls each for every life, at the first of its places: in order, or from the back. */
static bool is_first_place(const struct usage *u, const uint32_t *order, uint32_t place)
{
    const struct life *life = life_at(u, u->images->list[order[place]].life);
    return order[place] == life->image;
}

static enum err walk_both_ways(struct usage *u, const uint32_t *order, uint32_t count)
{
    double *rates = calloc(u->lives->count + 1, sizeof *rates);
    if (!rates)
        return NOMEM;
    for (uint32_t place = count; place-- > 0;)
        if (is_first_place(u, order, place))
            sum_up(u, u->images->list[order[place]].life);
    for (uint32_t place = 0; place < count; place++)
        if (is_first_place(u, order, place))
            part_rest(u, u->images->list[order[place]].life, rates);
    free(rates);
    return OK;
}

enum err usage_init(struct usage *u, const struct events *events, const struct lives *lives, const struct images *images,
                    const uint32_t *order, uint32_t count)
{
    *u = (struct usage){ .events = events, .lives = lives, .images = images };
    u->list = calloc(lives->count + 1, sizeof *u->list);
    struct arena *arena = calloc(1, sizeof *arena);
    u->memory = arena;
    if (!u->list || !arena)
        return NOMEM;
    enum err err = make_sums(u, arena);
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

/* The wait's numbers without those of children. below NULL: it waited for nobody. */
static void take_wait(const struct told *told, const struct counters *below, struct counters *own)
{
    struct counters part = told->wait;
    part.known &= FROM_WAIT;
    if (below)
        usage_subtract(&part, below); /* what nobody told of children stays with the parent */
    own->known &= ~part.known;
    counters_fill(own, &part);
}

/* wait's largest memory is the largest of the process and of all that it waited for: its own only when it is more than
 * theirs. */
static void take_rss(const struct told *told, const struct counters *below, struct counters *own)
{
    uint64_t all = counters_get(&told->wait, COUNTER_rssmax);
    uint64_t children = below ? counters_get(below, COUNTER_rssmax) : 0;
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

/* Teardown is the kernel's time; what threads ran since the last tick was as what is known of them. */
static void add_extra(const struct told *told, uint64_t extra_us, struct counters *own)
{
    uint64_t user_us = counters_get(own, COUNTER_usertime), system_us = counters_get(own, COUNTER_systemtime);
    double user_part = tasks_of(told) > 1 ? (double)(user_us + 1) / (double)(user_us + system_us + 1) : 0;
    uint64_t to_user_us = (uint64_t)((double)extra_us * user_part);
    counters_set(own, COUNTER_usertime, user_us + to_user_us);
    counters_set(own, COUNTER_systemtime, system_us + extra_us - to_user_us);
}

bool usage_of_life(const struct usage *u, uint32_t index, const struct told *told, struct counters *own)
{
    const struct use *use = &u->list[index];
    const struct counters *children = told->has_end ? &told->end.children : use->below;
    *own = (struct counters){ 0 };
    bool has_self = self_of(told, own);
    if (!has_self && told->has_alive)
        *own = told->alive;
    if (told->has_end)
        counters_fill(own, &told->end.self);
    if (told->has_wait && (told->has_end || !has_self))
        take_wait(told, children, own);
    if (told->has_tasks && counters_has(&told->tasks, COUNTER_rssmax))
        counters_set(own, COUNTER_rssmax, told->tasks.value[COUNTER_rssmax]); /* of the last image alone */
    else if (told->has_wait)
        take_rss(told, children, own);
    if (use->extra_us)
        add_extra(told, use->extra_us, own);
    if (children)
        usage_take_children(children, own);
    return own->known != 0;
}
