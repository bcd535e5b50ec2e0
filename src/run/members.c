/* The table of the job's processes: open addressing, linear probing. */
#include "run/members.h"

#include <stdlib.h>

#define ROOM_FIRST 256

void members_init(struct members *members)
{
    *members = (struct members){ 0 };
}

void members_clear(struct members *members)
{
    free(members->places);
    members_init(members);
}

/* Neighbouring pids shall not stand in one cluster. */
static size_t place_of(const struct members *members, uint32_t pid)
{
    return (pid * 2654435769u) & (members->room - 1);
}

/* Where pid stands, or the free place where it would. */
static struct member *look(const struct members *members, uint32_t pid)
{
    size_t i = place_of(members, pid);
    while (members->places[i].pid != 0 && members->places[i].pid != pid)
        i = (i + 1) & (members->room - 1);
    return &members->places[i];
}

struct member *members_find(const struct members *members, uint32_t pid)
{
    if (!members->room || !pid)
        return NULL;
    struct member *found = look(members, pid);
    return found->pid ? found : NULL;
}

static enum err rebuild(struct members *members, size_t room)
{
    struct members fresh = { .places = calloc(room, sizeof(struct member)), .room = room };
    if (!fresh.places)
        return NOMEM;
    for (size_t i = 0; i < members->room; i++) {
        const struct member *old = &members->places[i];
        if (!old->pid)
            continue;
        *look(&fresh, old->pid) = *old;
        fresh.used++;
        fresh.alive += old->threads > 0;
        fresh.dark += old->threads && old->dark;
    }
    free(members->places);
    *members = fresh;
    return OK;
}

struct member *members_add(struct members *members, uint32_t pid, uint32_t ppid)
{
    if (members->used + 1 > members->room / 2 && rebuild(members, members->room ? members->room * 2 : ROOM_FIRST))
        return NULL;
    struct member *member = look(members, pid);
    if (!member->pid)
        members->used++;
    else
        members_end(members, member, 0);
    *member = (struct member){ .pid = pid, .ppid = ppid, .threads = 1, .threads_made = 1 };
    members->alive++;
    return member;
}

void members_end(struct members *members, struct member *member, uint64_t now_ns)
{
    if (!member->threads)
        return;
    member->threads = 0;
    member->ended_ns = now_ns;
    members->alive--;
    members->dark -= member->dark;
}

void members_darken(struct members *members, struct member *member, bool dark)
{
    if (member->threads)
        members->dark = members->dark + dark - member->dark;
    member->dark = dark;
}

void members_end_thread(struct members *members, struct member *member, uint64_t now_ns)
{
    if (member->threads > 1)
        member->threads--;
    else
        members_end(members, member, now_ns);
}

/* Moves what stands behind the gap forward, so that nothing is hidden by it. */
static void close_gap(struct members *members, size_t gap)
{
    size_t mask = members->room - 1;
    for (size_t i = (gap + 1) & mask; members->places[i].pid; i = (i + 1) & mask) {
        size_t home = place_of(members, members->places[i].pid);
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        members->places[gap] = members->places[i];
        gap = i;
    }
    members->places[gap] = (struct member){ 0 };
}

void members_remove(struct members *members, uint32_t pid)
{
    struct member *member = members_find(members, pid);
    if (!member)
        return;
    members_end(members, member, 0);
    members->used--;
    close_gap(members, (size_t)(member - members->places));
}

void members_forget(struct members *members, uint64_t before_ns)
{
    size_t i = 0;
    while (i < members->room) {
        struct member *member = &members->places[i];
        if (member->pid && !member->threads && member->ended_ns < before_ns)
            members_remove(members, member->pid); /* another may have moved here: look again */
        else
            i++;
    }
    size_t room = members->room;
    while (room > ROOM_FIRST && members->used < room / 8)
        room /= 2;
    if (room < members->room)
        rebuild(members, room);
}

struct member *members_next(const struct members *members, size_t *at)
{
    while (*at < members->room) {
        struct member *member = &members->places[(*at)++];
        if (member->pid)
            return member;
    }
    return NULL;
}
