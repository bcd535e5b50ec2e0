/* The bell, and the questions that the spool answers. */
#include "agent/dark.h"

#include "base/clock.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_NS (20 * NS_PER_MS) /* the loader may take so long to come to the probe */
#define GIVE_UP_NS NS_PER_S          /* and after that there will be no answer */
#define CHUNK_BYTES (64 << 10)

enum err dark_open(struct dark *dark, const char *path, int spool_fd)
{
    *dark = (struct dark){ .bell_fd = -1, .spool_fd = spool_fd };
    snprintf(dark->path, sizeof dark->path, "%s", path);
    if (mkfifo(path, 0600) != 0 || chmod(path, 0600) != 0)
        return err_from_errno(errno);
    /* For writing too: then there is always a writer, and the end of file is never seen. */
    dark->bell_fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (dark->bell_fd < 0) {
        enum err err = err_from_errno(errno);
        unlink(path);
        return err;
    }
    return OK;
}

void dark_close(struct dark *dark)
{
    if (dark->bell_fd < 0)
        return;
    close(dark->bell_fd);
    unlink(dark->path);
    dark->bell_fd = -1;
}

void dark_listen(struct dark *dark, struct members *members)
{
    uint32_t pids[256];
    ssize_t got;
    if (dark->bell_fd < 0)
        return;
    do {
        got = read(dark->bell_fd, pids, sizeof pids);
        for (ssize_t i = 0; i < got / (ssize_t)sizeof *pids; i++) {
            struct member *member = members_find(members, pids[i]);
            if (member)
                members_darken(members, member, true);
        }
    } while (got == (ssize_t)sizeof pids);
}

static struct dark_asked *find(struct dark *dark, uint32_t pid)
{
    for (size_t i = 0; i < dark->count; i++)
        if (dark->asked[i].pid == pid)
            return &dark->asked[i];
    return NULL;
}

/* Who does not fit is taken for dark: that costs time, no more. */
void dark_ask(struct dark *dark, struct members *members, struct member *member, uint64_t time_ns, bool is_copy)
{
    if (dark->bell_fd < 0)
        return;
    struct dark_asked *asked = find(dark, member->pid);
    if (!asked && dark->count < DARK_ASKED_MAX)
        asked = &dark->asked[dark->count++];
    if (asked)
        *asked = (struct dark_asked){ member->pid, is_copy ? member->ppid : 0, time_ns };
    else
        members_darken(members, member, true);
}

static void lighten(struct dark *dark, struct members *members, struct dark_asked *asked)
{
    struct member *member = members_find(members, asked->pid);
    if (member)
        members_darken(members, member, false);
    *asked = dark->asked[--dark->count];
}

/* The probe has spoken: in the process itself and so in its copies, and in theirs. */
static void answer(struct dark *dark, struct members *members, uint32_t pid, uint64_t time_ns)
{
    struct dark_asked *asked = find(dark, pid);
    if (!asked || time_ns < asked->since_ns)
        return;
    lighten(dark, members, asked);
    for (size_t i = 0; i < dark->count;) {
        const struct dark_asked *copy = &dark->asked[i];
        const struct member *maker = copy->copy_of ? members_find(members, copy->copy_of) : NULL;
        if (!maker || maker->dark) {
            i++;
            continue;
        }
        lighten(dark, members, &dark->asked[i]);
        i = 0; /* it may have copies too, that stand before */
    }
}

static void take_frames(struct dark *dark, struct members *members, struct bytes rest)
{
    enum record_kind kind;
    struct bytes body;
    size_t size;
    for (;;) {
        enum err err = frame_read(rest, &kind, &body, &size);
        if (err == AGAIN)
            return;
        struct image_record record;
        if (!err && kind == RECORD_KIND_image && record_unpack_image(body, &record) == OK)
            answer(dark, members, (uint32_t)record.pid, record.time_ns);
        dark->at += size;
        rest = (struct bytes){ rest.data + size, rest.size - size };
    }
}

/* A frame larger than a chunk (one giant command line) stands in nobody's way: it is stepped over. */
static void read_spool(struct dark *dark, struct members *members, uint64_t end)
{
    char chunk[CHUNK_BYTES];
    while (dark->at < end && dark->count) {
        uint64_t before = dark->at;
        ssize_t got = pread(dark->spool_fd, chunk, sizeof chunk, (off_t)dark->at);
        if (got <= 0)
            return;
        take_frames(dark, members, (struct bytes){ chunk, (size_t)got });
        if (dark->at != before)
            continue;
        if (got < (ssize_t)sizeof chunk)
            return; /* its end is being written */
        dark->at += (uint64_t)got;
    }
}

static bool is_alive(const struct member *member)
{
    return member && member->threads;
}

/* Without an answer for so long, it is dark; and the question is dropped when it has ended, or none will come. */
static void judge(struct dark *dark, struct members *members, uint64_t now_ns,
                  void (*found)(void *context, struct member *member), void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < dark->count; i++) {
        struct dark_asked asked = dark->asked[i];
        struct member *member = members_find(members, asked.pid);
        if (!is_alive(member) || now_ns > asked.since_ns + GIVE_UP_NS)
            continue;
        if (!member->dark && now_ns > asked.since_ns + PATIENCE_NS) {
            members_darken(members, member, true);
            found(context, member);
        }
        dark->asked[kept++] = asked;
    }
    dark->count = kept;
}

/* Nothing is read for those that have ended meanwhile, which in a storm of short processes are nearly all. */
static void drop_ended(struct dark *dark, struct members *members)
{
    size_t kept = 0;
    for (size_t i = 0; i < dark->count; i++)
        if (is_alive(members_find(members, dark->asked[i].pid)))
            dark->asked[kept++] = dark->asked[i];
    dark->count = kept;
}

void dark_look(struct dark *dark, struct members *members, uint64_t now_ns,
               void (*found)(void *context, struct member *member), void *context)
{
    struct stat st;
    if (dark->bell_fd < 0 || fstat(dark->spool_fd, &st) != 0)
        return;
    drop_ended(dark, members);
    if (dark->count)
        read_spool(dark, members, (uint64_t)st.st_size);
    if (!dark->count)
        dark->at = (uint64_t)st.st_size; /* an exec is told before its image writes: who is asked later answers later */
    judge(dark, members, now_ns, found, context);
}
