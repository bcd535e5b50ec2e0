/* Building the index: the numbers at the front of each record, a hash table of pids, chains. */
#include "merge/record_index.h"

#include "base/clock.h"
#include "spool/probe_env.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define COUNT_MAX (1u << 30)
#define TICK_NS (10 * NS_PER_MS) /* start_ticks count hundredths of a second on every kernel we know */

void events_pages_init(struct events_pages *pages, struct bytes spool)
{
    size_t part = spool.size / EVENTS_WINDOW / 8;
    *pages = (struct events_pages){ .mapped = spool, .most = part > EVENTS_WINDOWS_LEAST ? part : EVENTS_WINDOWS_LEAST };
}

void events_pages_forget(struct events_pages *pages)
{
    if (pages->mapped.size)
        madvise((void *)pages->mapped.data, pages->mapped.size, MADV_DONTNEED);
    pages->touched = 0;
}

void events_init(struct events *events, struct bytes spool, struct events_pages *pages)
{
    *events = (struct events){ .spool = spool, .pages = pages, .boot_ns = UINT64_MAX };
}

void events_clear(struct events *events)
{
    free(events->list);
    free(events->pids);
    free(events->table);
    *events = (struct events){ 0 };
}

/* Readers made from the lists of spool/record.h, one for the numbers and one for the texts: they stop at the first
 * counters, behind which nothing is needed here. exec is the exception: its ppid comes last and is read with the rest
 * when it matters. */
#define SKIM_number(field) numbers->field = unpack_number(&u);
#define SKIM_text(field) unpack_text(&u);
#define SKIM_counters(field) return !u.bad;
#define READ_number(field) unpack_number(&u);
#define READ_text(field) texts->field = unpack_text(&u);
#define READ_counters(field) return;
#define SKIM_FIELD(type, field) \
    if (u.at >= u.end) \
        return !u.bad; \
    SKIM_##type(field)
#define READ_FIELD(type, field) \
    if (u.at >= u.end) \
        return; \
    READ_##type(field)
#define READERS(name, fields) \
    static bool skim_##name(struct bytes body, struct event_numbers *numbers) \
    { \
        struct unpacker u = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false }; \
        fields(SKIM_FIELD) \
        return !u.bad; \
    }
#define TEXTS(name, fields) \
    static void read_##name(struct bytes body, struct event_texts *texts) \
    { \
        struct unpacker u = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false }; \
        fields(READ_FIELD) \
    }

READERS(image, RECORD_IMAGE)
READERS(fork, RECORD_FORK)
READERS(exec, RECORD_EXEC)
READERS(exec_failed, RECORD_EXEC_FAILED)
READERS(spawn, RECORD_SPAWN)
READERS(thread, RECORD_THREAD)
READERS(end, RECORD_END)
READERS(wait, RECORD_WAIT)
READERS(kernel_fork, RECORD_KERNEL_FORK)
READERS(kernel_exec, RECORD_KERNEL_EXEC)
READERS(kernel_exit, RECORD_KERNEL_EXIT)
READERS(taskstats, RECORD_TASKSTATS)
READERS(perf, RECORD_PERF)
READERS(alive, RECORD_ALIVE)

TEXTS(image, RECORD_IMAGE)
TEXTS(exec, RECORD_EXEC)
TEXTS(spawn, RECORD_SPAWN)
TEXTS(thread, RECORD_THREAD)
TEXTS(kernel_exec, RECORD_KERNEL_EXEC)
TEXTS(taskstats, RECORD_TASKSTATS)
TEXTS(perf, RECORD_PERF)
TEXTS(alive, RECORD_ALIVE)

static uint64_t cpu_of(struct unpacker *u)
{
    uint64_t known = unpack_number(u);
    uint64_t user_us = known >> COUNTER_usertime & 1 ? unpack_number(u) : 0;
    uint64_t system_us = known >> COUNTER_systemtime & 1 ? unpack_number(u) : 0;
    return u->bad ? 0 : user_us + system_us;
}
_Static_assert(COUNTER_usertime == 0 && COUNTER_systemtime == 1, "the CPU time comes first");

#define CPU_number(field) unpack_number(&u);
#define CPU_text(field) unpack_text(&u);
#define CPU_counters(field) return cpu_of(&u);
#define CPU_FIELD(type, field) CPU_##type(field)
#define CPU(name, fields) \
    static uint64_t cpu_of_##name(struct bytes body) \
    { \
        struct unpacker u = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false }; \
        fields(CPU_FIELD) \
        return 0; \
    }
CPU(exec, RECORD_EXEC)
CPU(wait, RECORD_WAIT)

uint64_t event_cpu_us(const struct events *events, const struct event *event)
{
    struct bytes body = event_body(events, event);
    return event->kind == RECORD_KIND_exec ? cpu_of_exec(body) : event->kind == RECORD_KIND_wait ? cpu_of_wait(body) : 0;
}

bool event_numbers(enum record_kind kind, struct bytes body, struct event_numbers *numbers)
{
    *numbers = (struct event_numbers){ 0 };
    switch (kind) {
    case RECORD_KIND_image: return skim_image(body, numbers);
    case RECORD_KIND_fork: return skim_fork(body, numbers);
    case RECORD_KIND_exec: return skim_exec(body, numbers);
    case RECORD_KIND_exec_failed: return skim_exec_failed(body, numbers);
    case RECORD_KIND_spawn: return skim_spawn(body, numbers);
    case RECORD_KIND_thread: return skim_thread(body, numbers);
    case RECORD_KIND_end: return skim_end(body, numbers);
    case RECORD_KIND_wait: return skim_wait(body, numbers);
    case RECORD_KIND_kernel_fork: return skim_kernel_fork(body, numbers);
    case RECORD_KIND_kernel_exec: return skim_kernel_exec(body, numbers);
    case RECORD_KIND_kernel_exit: return skim_kernel_exit(body, numbers);
    case RECORD_KIND_taskstats: return skim_taskstats(body, numbers);
    case RECORD_KIND_perf: return skim_perf(body, numbers);
    case RECORD_KIND_alive: return skim_alive(body, numbers);
    default: return false;
    }
}

struct bytes event_body(const struct events *events, const struct event *event)
{
    uint32_t size; /* second word of the frame, which was checked when the event was taken in */
    memcpy(&size, events->spool.data + event->at + sizeof size, sizeof size);
    events_pages_touch(events->pages, event->at);
    return (struct bytes){ events->spool.data + event->at + FRAME_HEAD, size };
}

void event_texts(const struct events *events, const struct event *event, struct event_texts *texts)
{
    struct bytes body = event_body(events, event);
    *texts = (struct event_texts){ 0 };
    switch ((enum record_kind)event->kind) {
    case RECORD_KIND_image: read_image(body, texts); break;
    case RECORD_KIND_exec: read_exec(body, texts); break;
    case RECORD_KIND_spawn: read_spawn(body, texts); break;
    case RECORD_KIND_thread: read_thread(body, texts); break;
    case RECORD_KIND_kernel_exec: read_kernel_exec(body, texts); break;
    case RECORD_KIND_taskstats: read_taskstats(body, texts); break;
    case RECORD_KIND_perf: read_perf(body, texts); break;
    case RECORD_KIND_alive: read_alive(body, texts); break;
    default: break;
    }
}

bool event_read(const struct events *events, const struct event *event, struct event_numbers *numbers)
{
    return event_numbers((enum record_kind)event->kind, event_body(events, event), numbers);
}

static uint32_t hash_of(uint32_t pid)
{
    return pid * 0x9e3779b1u >> 7;
}

static bool grow_table(struct events *events)
{
    if (events->pid_count < events->table_size / 2)
        return true;
    uint32_t size = events->table_size ? events->table_size * 2 : 1024;
    uint32_t *table = malloc(size * sizeof *table);
    if (!table)
        return false;
    memset(table, 0xff, size * sizeof *table);
    for (uint32_t i = 0; i < events->pid_count; i++) {
        uint32_t at = hash_of(events->pids[i].pid) & (size - 1);
        while (table[at] != NONE)
            at = (at + 1) & (size - 1);
        table[at] = i;
    }
    free(events->table);
    events->table = table;
    events->table_size = size;
    return true;
}

/* Where the pid stands in the table, or the free place where it belongs. */
static uint32_t table_place(const struct events *events, uint32_t pid)
{
    uint32_t at = hash_of(pid) & (events->table_size - 1);
    while (events->table[at] != NONE && events->pids[events->table[at]].pid != pid)
        at = (at + 1) & (events->table_size - 1);
    return at;
}

struct pid *events_find(const struct events *events, uint32_t pid)
{
    if (!events->table_size)
        return NULL;
    uint32_t place = events->table[table_place(events, pid)];
    return place == NONE ? NULL : &events->pids[place];
}

static bool grow_array(void **array, uint32_t *room, size_t size, uint32_t first)
{
    uint32_t more = *room ? *room + *room / 2 : first;
    void *moved = more > COUNT_MAX ? NULL : realloc(*array, more * size);
    if (!moved)
        return false;
    *array = moved;
    *room = more;
    return true;
}

struct pid *events_pid(struct events *events, uint32_t pid)
{
    if (!grow_table(events))
        return NULL;
    uint32_t at = table_place(events, pid);
    if (events->table[at] != NONE)
        return &events->pids[events->table[at]];
    if (events->pid_count == events->pid_room
        && !grow_array((void **)&events->pids, &events->pid_room, sizeof *events->pids, 512))
        return NULL;
    events->table[at] = events->pid_count;
    struct pid *added = &events->pids[events->pid_count++];
    *added = (struct pid){ .pid = pid, .first = NONE, .last = NONE, .life = NONE, .unseen = NONE };
    return added;
}

static void classify(struct event *event, const struct event_numbers *n)
{
    event->who = (uint32_t)n->ppid;
    event->time_ns = n->time_ns;
    switch ((enum record_kind)event->kind) {
    case RECORD_KIND_exec:
        event->flags = (n->copied & RECORD_EXEC_COPIED ? EVENT_COPIED : 0) | (n->copied & RECORD_EXEC_WHOLE ? EVENT_WHOLE : 0);
        break;
    case RECORD_KIND_wait:
        event->who = (uint32_t)n->waiter;
        event->flags = WIFEXITED((int)n->status) || WIFSIGNALED((int)n->status) ? 0 : EVENT_STOP;
        break;
    case RECORD_KIND_kernel_fork:
        if (n->tid && n->tid != n->pid) {
            event->flags = EVENT_OF_THREAD;
            event->who = (uint32_t)n->tid;
        }
        break;
    case RECORD_KIND_thread: case RECORD_KIND_kernel_exit: case RECORD_KIND_taskstats: case RECORD_KIND_perf:
        event->who = n->tid ? (uint32_t)n->tid : (uint32_t)n->pid;
        event->flags = (event->who != n->pid ? EVENT_OF_THREAD : 0) | (n->process_ended ? EVENT_LAST : 0);
        if (event->kind == RECORD_KIND_thread || event->kind == RECORD_KIND_taskstats)
            event->time_ns = n->end_ns;
        if (n->opened_ns) /* perf: read at the end, but it belongs to the image that ran when it was opened */
            event->time_ns = n->opened_ns;
        if (n->since == PROBE_PERF_EXEC)
            event->flags |= EVENT_ON_EXEC;
        if (n->since == PROBE_PERF_IMAGE)
            event->flags |= EVENT_LATE;
        break;
    default:
        break;
    }
}

/* ticks count from boot: the clock minus the ticks is the time of boot or later, and nearest to it for the process that
 * told of itself soonest. */
static void learn_boot(struct events *events, const struct event_numbers *n)
{
    uint64_t since_boot;
    if (!n->start_ticks || __builtin_mul_overflow(n->start_ticks, TICK_NS, &since_boot) || since_boot > n->time_ns)
        return;
    if (n->time_ns - since_boot < events->boot_ns)
        events->boot_ns = n->time_ns - since_boot;
}

uint64_t events_ticks_ns(const struct events *events, uint64_t ticks)
{
    uint64_t since_boot, ns;
    if (!ticks || events->boot_ns == UINT64_MAX || __builtin_mul_overflow(ticks, TICK_NS, &since_boot)
        || __builtin_add_overflow(since_boot, events->boot_ns, &ns))
        return 0;
    return ns;
}

static void chain(struct events *events, struct pid *pid, uint32_t index)
{
    if (pid->last == NONE)
        pid->first = index;
    else
        events->list[pid->last].next = index;
    pid->last = index;
}

enum err events_add(struct events *events, enum record_kind kind, struct bytes body)
{
    struct event_numbers n;
    if (!event_numbers(kind, body, &n) || n.pid == 0 || n.pid >= NONE)
        return CORRUPT;
    if (events->count == events->room) {
        uint32_t first = (uint32_t)(events->spool.size / 192 < COUNT_MAX / 2 ? events->spool.size / 192 : COUNT_MAX / 2);
        if (!grow_array((void **)&events->list, &events->room, sizeof *events->list, first < 64 ? 64 : first))
            return events->room >= COUNT_MAX / 2 ? FULL : NOMEM;
    }
    struct pid *pid = events_pid(events, (uint32_t)n.pid);
    if (!pid)
        return NOMEM;
    struct event event = {
        .at = (uint64_t)(body.data - FRAME_HEAD - events->spool.data) & (((uint64_t)1 << 44) - 1),
        .kind = kind,
        .next = NONE,
    };
    classify(&event, &n);
    events->list[events->count] = event;
    chain(events, pid, events->count++);
    events->threads += event.flags & EVENT_OF_THREAD ? 1 : 0;
    events->perfs += kind == RECORD_KIND_perf ? 1 : 0;
    if (event.time_ns > events->last_ns)
        events->last_ns = event.time_ns;
    if (kind == RECORD_KIND_image || kind == RECORD_KIND_alive)
        learn_boot(events, &n);
    return OK;
}
