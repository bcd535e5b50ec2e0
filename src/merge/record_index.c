/* Builds the index: decodes the fields at the front of each record, finds its pid in a hash table, appends it to the
 * pid's chain. */
#include "merge/record_index.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "spool/probe_env.h"

#include <stdlib.h>
#include <sys/wait.h>

#define COUNT_MAX (1u << 30)
#define TICK_NS (10 * NS_PER_MS) /* the kernel exports start times in 1/100 s (USER_HZ) on all our architectures */

void record_index_init(struct record_index *records, struct bytes spool, struct spool_pages *pages)
{
    *records = (struct record_index){ .spool = spool, .pages = pages, .boot_ns = UINT64_MAX };
}

void record_index_clear(struct record_index *records)
{
    free(records->list);
    free(records->pids);
    free(records->table);
    *records = (struct record_index){ 0 };
}

/* Decoders generated from the field lists of spool/record.h: numbers_KIND decodes the numbers of a record and skips its
 * strings, strings_KIND does the reverse. They stop at the first counters because nothing after them is needed here.
 * Exception: the ppid of exec is its last field; callers that need it decode the whole record. */
#define NUMBERS_number(field) numbers->field = unpack_number(&u);
#define NUMBERS_text(field) unpack_text(&u);
#define NUMBERS_counters(field) return !u.bad;
#define STRINGS_number(field) unpack_number(&u);
#define STRINGS_text(field) strings->field = unpack_text(&u);
#define STRINGS_counters(field) return;
#define NUMBERS_FIELD(type, field) \
    if (u.at >= u.end) \
        return !u.bad; \
    NUMBERS_##type(field)
#define STRINGS_FIELD(type, field) \
    if (u.at >= u.end) \
        return; \
    STRINGS_##type(field)
#define NUMBER_READER(name, fields) \
    static bool numbers_##name(struct bytes body, struct record_numbers *numbers) \
    { \
        struct unpacker u = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false }; \
        fields(NUMBERS_FIELD) \
        return !u.bad; \
    }
#define STRING_READER(name, fields) \
    static void strings_##name(struct bytes body, struct record_strings *strings) \
    { \
        struct unpacker u = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false }; \
        fields(STRINGS_FIELD) \
    }

NUMBER_READER(image, RECORD_IMAGE)
NUMBER_READER(fork, RECORD_FORK)
NUMBER_READER(exec, RECORD_EXEC)
NUMBER_READER(exec_failed, RECORD_EXEC_FAILED)
NUMBER_READER(spawn, RECORD_SPAWN)
NUMBER_READER(thread, RECORD_THREAD)
NUMBER_READER(end, RECORD_END)
NUMBER_READER(wait, RECORD_WAIT)
NUMBER_READER(kernel_fork, RECORD_KERNEL_FORK)
NUMBER_READER(kernel_exec, RECORD_KERNEL_EXEC)
NUMBER_READER(kernel_exit, RECORD_KERNEL_EXIT)
NUMBER_READER(taskstats, RECORD_TASKSTATS)
NUMBER_READER(perf, RECORD_PERF)
NUMBER_READER(alive, RECORD_ALIVE)

STRING_READER(image, RECORD_IMAGE)
STRING_READER(exec, RECORD_EXEC)
STRING_READER(spawn, RECORD_SPAWN)
STRING_READER(thread, RECORD_THREAD)
STRING_READER(kernel_exec, RECORD_KERNEL_EXEC)
STRING_READER(taskstats, RECORD_TASKSTATS)
STRING_READER(perf, RECORD_PERF)
STRING_READER(alive, RECORD_ALIVE)

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

uint64_t record_index_cpu_us(const struct record_index *records, const struct record_entry *entry)
{
    struct bytes body = record_index_body(records, entry);
    return entry->kind == RECORD_KIND_exec ? cpu_of_exec(body) : entry->kind == RECORD_KIND_wait ? cpu_of_wait(body) : 0;
}

bool record_numbers(enum record_kind kind, struct bytes body, struct record_numbers *numbers)
{
    *numbers = (struct record_numbers){ 0 };
    switch (kind) {
    case RECORD_KIND_image: return numbers_image(body, numbers);
    case RECORD_KIND_fork: return numbers_fork(body, numbers);
    case RECORD_KIND_exec: return numbers_exec(body, numbers);
    case RECORD_KIND_exec_failed: return numbers_exec_failed(body, numbers);
    case RECORD_KIND_spawn: return numbers_spawn(body, numbers);
    case RECORD_KIND_thread: return numbers_thread(body, numbers);
    case RECORD_KIND_end: return numbers_end(body, numbers);
    case RECORD_KIND_wait: return numbers_wait(body, numbers);
    case RECORD_KIND_kernel_fork: return numbers_kernel_fork(body, numbers);
    case RECORD_KIND_kernel_exec: return numbers_kernel_exec(body, numbers);
    case RECORD_KIND_kernel_exit: return numbers_kernel_exit(body, numbers);
    case RECORD_KIND_taskstats: return numbers_taskstats(body, numbers);
    case RECORD_KIND_perf: return numbers_perf(body, numbers);
    case RECORD_KIND_alive: return numbers_alive(body, numbers);
    default: return false;
    }
}

struct bytes record_index_body(const struct record_index *records, const struct record_entry *entry)
{
    uint32_t size; /* second word of the frame; checked by record_index_add's caller */
    memcpy(&size, records->spool.data + entry->offset + sizeof size, sizeof size);
    spool_pages_touch(records->pages, entry->offset);
    return (struct bytes){ records->spool.data + entry->offset + FRAME_HEAD, size };
}

void record_index_strings(const struct record_index *records, const struct record_entry *entry,
                          struct record_strings *strings)
{
    struct bytes body = record_index_body(records, entry);
    *strings = (struct record_strings){ 0 };
    switch ((enum record_kind)entry->kind) {
    case RECORD_KIND_image: strings_image(body, strings); break;
    case RECORD_KIND_exec: strings_exec(body, strings); break;
    case RECORD_KIND_spawn: strings_spawn(body, strings); break;
    case RECORD_KIND_thread: strings_thread(body, strings); break;
    case RECORD_KIND_kernel_exec: strings_kernel_exec(body, strings); break;
    case RECORD_KIND_taskstats: strings_taskstats(body, strings); break;
    case RECORD_KIND_perf: strings_perf(body, strings); break;
    case RECORD_KIND_alive: strings_alive(body, strings); break;
    default: break;
    }
}

bool record_index_numbers(const struct record_index *records, const struct record_entry *entry,
                          struct record_numbers *numbers)
{
    return record_numbers((enum record_kind)entry->kind, record_index_body(records, entry), numbers);
}

/* The pids of a spool are whatever its sender wrote. */
static uint32_t hash_of(uint32_t pid)
{
    return (uint32_t)map_hash_number(pid);
}

static bool grow_table(struct record_index *records)
{
    if (records->pid_count < records->table_size / 2)
        return true;
    uint32_t size = records->table_size ? records->table_size * 2 : 1024;
    uint32_t *table = malloc(size * sizeof *table);
    if (!table)
        return false;
    memset(table, 0xff, size * sizeof *table);
    for (uint32_t i = 0; i < records->pid_count; i++) {
        uint32_t at = hash_of(records->pids[i].pid) & (size - 1);
        while (table[at] != NONE)
            at = (at + 1) & (size - 1);
        table[at] = i;
    }
    free(records->table);
    records->table = table;
    records->table_size = size;
    return true;
}

/* The slot of this pid in the table, or the free slot where it belongs. */
static uint32_t table_slot(const struct record_index *records, uint32_t pid)
{
    uint32_t at = hash_of(pid) & (records->table_size - 1);
    while (records->table[at] != NONE && records->pids[records->table[at]].pid != pid)
        at = (at + 1) & (records->table_size - 1);
    return at;
}

struct pid_entry *record_index_find_pid(const struct record_index *records, uint32_t pid)
{
    if (!records->table_size)
        return NULL;
    uint32_t position = records->table[table_slot(records, pid)];
    return position == NONE ? NULL : &records->pids[position];
}

/* By half instead of doubling, since a run can have millions of records. */
static bool grow_array(void **array, uint32_t *capacity, size_t size, uint32_t first)
{
    uint32_t more = *capacity ? *capacity + *capacity / 2 : first;
    if (more > COUNT_MAX || vec_resize(array, more, size))
        return false;
    *capacity = more;
    return true;
}

struct pid_entry *record_index_add_pid(struct record_index *records, uint32_t pid)
{
    if (!grow_table(records))
        return NULL;
    uint32_t at = table_slot(records, pid);
    if (records->table[at] != NONE)
        return &records->pids[records->table[at]];
    if (records->pid_count == records->pid_capacity
        && !grow_array((void **)&records->pids, &records->pid_capacity, sizeof *records->pids, 512))
        return NULL;
    records->table[at] = records->pid_count;
    struct pid_entry *added = &records->pids[records->pid_count++];
    *added = (struct pid_entry){ .pid = pid, .first = NONE, .last = NONE, .first_instance = NONE, .unrecorded = NONE };
    return added;
}

static void classify(struct record_entry *entry, const struct record_numbers *n)
{
    entry->related_pid = (uint32_t)n->ppid;
    entry->time_ns = n->time_ns;
    switch ((enum record_kind)entry->kind) {
    case RECORD_KIND_exec:
        entry->flags = (n->copied & RECORD_EXEC_COPIED ? ENTRY_EXEC_COPIED : 0) | (n->copied & RECORD_EXEC_WHOLE
                                                                                   ? ENTRY_EXEC_COMPLETE : 0);
        break;
    case RECORD_KIND_wait:
        entry->related_pid = (uint32_t)n->waiter;
        entry->flags = WIFEXITED((int)n->status) || WIFSIGNALED((int)n->status) ? 0 : ENTRY_STOP;
        break;
    case RECORD_KIND_kernel_fork:
        if (n->tid && n->tid != n->pid) {
            entry->flags = ENTRY_OF_THREAD;
            entry->related_pid = (uint32_t)n->tid;
        }
        break;
    case RECORD_KIND_thread: case RECORD_KIND_kernel_exit: case RECORD_KIND_taskstats: case RECORD_KIND_perf:
        entry->related_pid = n->tid ? (uint32_t)n->tid : (uint32_t)n->pid;
        entry->flags = (entry->related_pid != n->pid ? ENTRY_OF_THREAD : 0) | (n->process_ended ? ENTRY_LAST_TASK : 0);
        if (entry->kind == RECORD_KIND_thread || entry->kind == RECORD_KIND_taskstats)
            entry->time_ns = n->end_ns;
        if (n->opened_ns) /* perf is read at the end but belongs to the image that ran when it was opened */
            entry->time_ns = n->opened_ns;
        if (n->since == PROBE_PERF_EXEC)
            entry->flags |= ENTRY_PERF_ON_EXEC;
        if (n->since == PROBE_PERF_IMAGE)
            entry->flags |= ENTRY_PERF_LATE;
        break;
    default:
        break;
    }
}

/* start_ticks count from boot, so time - ticks is the boot time plus the delay until the record was written. The
 * smallest value is the best estimate. */
static void learn_boot(struct record_index *records, const struct record_numbers *n)
{
    uint64_t since_boot;
    if (!n->start_ticks || __builtin_mul_overflow(n->start_ticks, TICK_NS, &since_boot) || since_boot > n->time_ns)
        return;
    if (n->time_ns - since_boot < records->boot_ns)
        records->boot_ns = n->time_ns - since_boot;
}

uint64_t record_index_ticks_ns(const struct record_index *records, uint64_t ticks)
{
    uint64_t since_boot, ns;
    if (!ticks || records->boot_ns == UINT64_MAX || __builtin_mul_overflow(ticks, TICK_NS, &since_boot)
        || __builtin_add_overflow(since_boot, records->boot_ns, &ns))
        return 0;
    return ns;
}

static void chain(struct record_index *records, struct pid_entry *pid, uint32_t index)
{
    if (pid->last == NONE)
        pid->first = index;
    else
        records->list[pid->last].next = index;
    pid->last = index;
}

enum err record_index_add(struct record_index *records, enum record_kind kind, struct bytes body)
{
    struct record_numbers n;
    if (!record_numbers(kind, body, &n) || n.pid == 0 || n.pid >= NONE)
        return CORRUPT;
    if (records->count == records->capacity) {
        uint32_t first = (uint32_t)(records->spool.size / 192 < COUNT_MAX / 2 ? records->spool.size / 192 : COUNT_MAX / 2);
        if (!grow_array((void **)&records->list, &records->capacity, sizeof *records->list, first < 64 ? 64 : first))
            return records->capacity >= COUNT_MAX / 2 ? FULL : NOMEM;
    }
    struct pid_entry *pid = record_index_add_pid(records, (uint32_t)n.pid);
    if (!pid)
        return NOMEM;
    struct record_entry entry = {
        .offset = (uint64_t)(body.data - FRAME_HEAD - records->spool.data) & (((uint64_t)1 << 44) - 1),
        .kind = kind,
        .next = NONE,
    };
    classify(&entry, &n);
    records->list[records->count] = entry;
    chain(records, pid, records->count++);
    records->threads += entry.flags & ENTRY_OF_THREAD ? 1 : 0;
    records->perfs += kind == RECORD_KIND_perf ? 1 : 0;
    if (entry.time_ns > records->last_ns)
        records->last_ns = entry.time_ns;
    if (kind == RECORD_KIND_image || kind == RECORD_KIND_alive)
        learn_boot(records, &n);
    return OK;
}
