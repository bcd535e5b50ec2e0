/* The bell, and the questions that the spool answers. */
#include "run/unprobed.h"

#include "base/clock.h"
#include "spool/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_NS (20 * NS_PER_MS) /* the loader may take so long to come to the probe */
#define GIVE_UP_NS NS_PER_S          /* and after that there will be no answer */
#define SKEW_NS NS_PER_MS            /* between the kernel's clock and the probe's, at most */
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

void dark_mark(struct dark *dark)
{
    struct stat st;
    if (dark->bell_fd < 0 || fstat(dark->spool_fd, &st) != 0)
        return;
    dark->old_end = dark->end;
    dark->end = (uint64_t)st.st_size;
}

/* What finds no place stays in the FIFO. */
void dark_hear(struct dark *dark)
{
    if (dark->bell_fd < 0 || dark->ring_count == DARK_RINGS_MAX)
        return;
    ssize_t got = read(dark->bell_fd, dark->rings + dark->ring_count,
                       (DARK_RINGS_MAX - dark->ring_count) * sizeof *dark->rings);
    if (got > 0)
        dark->ring_count += (size_t)got / sizeof *dark->rings;
}

void dark_heed(struct dark *dark, struct members *members, bool all_known)
{
    size_t kept = 0;
    for (size_t i = 0; i < dark->ring_count; i++) {
        struct member *member = members_find(members, dark->rings[i].pid);
        if (member) {
            member->rang_ns = dark->rings[i].time_ns;
            members_darken(members, member, true);
        } else if (!all_known) {
            dark->rings[kept++] = dark->rings[i];
        }
    }
    dark->ring_count = kept;
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
        *asked = (struct dark_asked){ member->pid, is_copy ? member->ppid : 0, time_ns, member->exec_ns };
    else
        members_darken(members, member, true);
    if (!is_copy)
        member->exec_ns = time_ns;
}

static void lighten(struct dark *dark, struct members *members, struct dark_asked *asked)
{
    struct member *member = members_find(members, asked->pid);
    if (member)
        members_darken(members, member, false);
    *asked = dark->asked[--dark->count];
}

/* An image speaks when it has come up, who executes it before; and then that is the last word before the exec. */
static bool is_about(const struct dark_asked *asked, enum record_kind kind, uint64_t time_ns)
{
    if (kind == RECORD_KIND_image)
        return time_ns >= asked->since_ns;
    return !asked->copy_of && time_ns >= asked->before_ns && time_ns <= asked->since_ns + SKEW_NS;
}

/* The probe has spoken: in the process itself and so in the copies made of it since, and in theirs. */
static void answer(struct dark *dark, struct members *members, enum record_kind kind, uint32_t pid, uint64_t time_ns)
{
    struct dark_asked *asked = find(dark, pid);
    const struct member *member = members_find(members, pid);
    if (!asked || !member || !is_about(asked, kind, time_ns) || time_ns < member->rang_ns)
        return;
    uint64_t since_ns = asked->since_ns;
    lighten(dark, members, asked);
    for (size_t i = 0; i < dark->count;) {
        const struct dark_asked *copy = &dark->asked[i];
        const struct member *maker = copy->copy_of ? members_find(members, copy->copy_of) : NULL;
        if (!maker || maker->dark || copy->since_ns < since_ns) {
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
        struct image_record image;
        struct exec_record exec;
        if (!err && kind == RECORD_KIND_image && record_unpack_image(body, &image) == OK)
            answer(dark, members, kind, (uint32_t)image.pid, image.time_ns);
        if (!err && kind == RECORD_KIND_exec && record_unpack_exec(body, &exec) == OK && exec.copied & RECORD_EXEC_WHOLE)
            answer(dark, members, kind, (uint32_t)exec.pid, exec.time_ns);
        dark->at += size;
        rest = (struct bytes){ rest.data + size, rest.size - size };
    }
}

/* A frame larger than a chunk (one giant command line) stands in nobody's way: it is stepped over. */
static void read_spool(struct dark *dark, struct members *members)
{
    char chunk[CHUNK_BYTES];
    while (dark->at < dark->end && dark->count) {
        uint64_t before = dark->at, left = dark->end - dark->at;
        size_t size = left < sizeof chunk ? (size_t)left : sizeof chunk;
        ssize_t got = pread(dark->spool_fd, chunk, size, (off_t)dark->at);
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

/* Without an answer for so long, it is dark; and the question is dropped when it has ended, or none will come (also when
 * we ourselves were stopped for that long). */
static void judge(struct dark *dark, struct members *members, uint64_t now_ns,
                  void (*found)(void *context, struct member *member), void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < dark->count; i++) {
        struct dark_asked asked = dark->asked[i];
        struct member *member = members_find(members, asked.pid);
        if (!is_alive(member))
            continue;
        if (!member->dark && now_ns > asked.since_ns + PATIENCE_NS) {
            members_darken(members, member, true);
            found(context, member);
        }
        if (now_ns <= asked.since_ns + GIVE_UP_NS)
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
    if (dark->bell_fd < 0)
        return;
    drop_ended(dark, members);
    if (dark->count)
        read_spool(dark, members);
    dark->at = dark->old_end;
    judge(dark, members, now_ns, found, context);
}
