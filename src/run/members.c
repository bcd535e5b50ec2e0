/* Hash table of the job's processes: open addressing, linear probing. */
#include "run/members.h"

#include <stdlib.h>

#define CAPACITY_FIRST 256

void members_init(struct run_members *members)
{
    *members = (struct run_members){ 0 };
}

void members_clear(struct run_members *members)
{
    free(members->entries);
    members_init(members);
}

/* Spreads consecutive pids, to avoid clusters. */
static size_t index_of(const struct run_members *members, uint32_t pid)
{
    return (pid * 2654435769u) & (members->capacity - 1);
}

/* The entry of pid, or the free one where it belongs. */
static struct run_member *find_entry(const struct run_members *members, uint32_t pid)
{
    size_t i = index_of(members, pid);
    while (members->entries[i].pid != 0 && members->entries[i].pid != pid)
        i = (i + 1) & (members->capacity - 1);
    return &members->entries[i];
}

struct run_member *members_find(const struct run_members *members, uint32_t pid)
{
    if (!members->capacity || !pid)
        return NULL;
    struct run_member *found = find_entry(members, pid);
    return found->pid ? found : NULL;
}

static enum err rebuild(struct run_members *members, size_t capacity)
{
    struct run_members fresh = { .entries = calloc(capacity, sizeof(struct run_member)), .capacity = capacity };
    if (!fresh.entries)
        return NOMEM;
    for (size_t i = 0; i < members->capacity; i++) {
        const struct run_member *old = &members->entries[i];
        if (!old->pid)
            continue;
        *find_entry(&fresh, old->pid) = *old;
        fresh.used++;
        fresh.alive += old->threads > 0;
        fresh.unprobed_count += old->threads && old->is_unprobed;
    }
    free(members->entries);
    *members = fresh;
    return OK;
}

struct run_member *members_add(struct run_members *members, uint32_t pid, uint32_t ppid)
{
    if (members->used + 1 > members->capacity / 2
        && rebuild(members, members->capacity ? members->capacity * 2 : CAPACITY_FIRST))
        return NULL;
    struct run_member *member = find_entry(members, pid);
    if (!member->pid)
        members->used++;
    else
        members_end(members, member, 0);
    *member = (struct run_member){ .pid = pid, .ppid = ppid, .threads = 1, .threads_created = 1 };
    members->alive++;
    return member;
}

void members_end(struct run_members *members, struct run_member *member, uint64_t now_ns)
{
    if (!member->threads)
        return;
    member->threads = 0;
    member->ended_ns = now_ns;
    members->alive--;
    members->unprobed_count -= member->is_unprobed;
}

void members_set_unprobed(struct run_members *members, struct run_member *member, bool is_unprobed)
{
    if (member->threads)
        members->unprobed_count = members->unprobed_count + is_unprobed - member->is_unprobed;
    member->is_unprobed = is_unprobed;
}

void members_end_thread(struct run_members *members, struct run_member *member, uint64_t now_ns)
{
    if (member->threads > 1)
        member->threads--;
    else
        members_end(members, member, now_ns);
}

/* Moves entries after the gap forward, so that lookups still find them. */
static void close_gap(struct run_members *members, size_t gap)
{
    size_t mask = members->capacity - 1;
    for (size_t i = (gap + 1) & mask; members->entries[i].pid; i = (i + 1) & mask) {
        size_t home = index_of(members, members->entries[i].pid);
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        members->entries[gap] = members->entries[i];
        gap = i;
    }
    members->entries[gap] = (struct run_member){ 0 };
}

void members_remove(struct run_members *members, uint32_t pid)
{
    struct run_member *member = members_find(members, pid);
    if (!member)
        return;
    members_end(members, member, 0);
    members->used--;
    close_gap(members, (size_t)(member - members->entries));
}

void members_forget(struct run_members *members, uint64_t before_ns)
{
    size_t i = 0;
    while (i < members->capacity) {
        struct run_member *member = &members->entries[i];
        if (member->pid && !member->threads && member->ended_ns < before_ns)
            members_remove(members, member->pid); /* another entry may have moved here: check it again */
        else
            i++;
    }
    size_t capacity = members->capacity;
    while (capacity > CAPACITY_FIRST && members->used < capacity / 8)
        capacity /= 2;
    if (capacity < members->capacity)
        rebuild(members, capacity);
}

struct run_member *members_next(const struct run_members *members, size_t *at)
{
    while (*at < members->capacity) {
        struct run_member *member = &members->entries[(*at)++];
        if (member->pid)
            return member;
    }
    return NULL;
}
