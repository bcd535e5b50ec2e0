/* The notice FIFO, and the candidates that are resolved from the spool. */
#include "run/unprobed.h"

#include "base/clock.h"
#include "spool/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_NS (20 * NS_PER_MS) /* the dynamic loader may take this long to start the probe */
#define GIVE_UP_NS NS_PER_S          /* after this time no record of the probe is expected */
#define SKEW_NS NS_PER_MS            /* maximum difference between the kernel's event times and the probe's */
#define CHUNK_BYTES (64 << 10)

enum err unprobed_open(struct unprobed *unprobed, const char *path, int spool_fd)
{
    *unprobed = (struct unprobed){ .notices_fd = -1, .spool_fd = spool_fd };
    snprintf(unprobed->path, sizeof unprobed->path, "%s", path);
    if (mkfifo(path, 0600) != 0 || chmod(path, 0600) != 0)
        return err_from_errno(errno);
    /* O_RDWR, so that there is always a writer and never an end of file. */
    unprobed->notices_fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (unprobed->notices_fd < 0) {
        enum err err = err_from_errno(errno);
        unlink(path);
        return err;
    }
    return OK;
}

void unprobed_close(struct unprobed *unprobed)
{
    if (unprobed->notices_fd < 0)
        return;
    close(unprobed->notices_fd);
    unlink(unprobed->path);
    unprobed->notices_fd = -1;
}

void unprobed_mark_spool_end(struct unprobed *unprobed)
{
    struct stat st;
    if (unprobed->notices_fd < 0 || fstat(unprobed->spool_fd, &st) != 0)
        return;
    unprobed->old_end = unprobed->end;
    unprobed->end = (uint64_t)st.st_size;
}

/* What does not fit stays in the FIFO. */
void unprobed_read_notices(struct unprobed *unprobed)
{
    if (unprobed->notices_fd < 0 || unprobed->notice_count == UNPROBED_NOTICES_MAX)
        return;
    ssize_t got = read(unprobed->notices_fd, unprobed->notices + unprobed->notice_count,
                       (UNPROBED_NOTICES_MAX - unprobed->notice_count) * sizeof *unprobed->notices);
    if (got > 0)
        unprobed->notice_count += (size_t)got / sizeof *unprobed->notices;
}

void unprobed_apply_notices(struct unprobed *unprobed, struct run_members *members, bool all_known)
{
    size_t kept = 0;
    for (size_t i = 0; i < unprobed->notice_count; i++) {
        struct run_member *member = members_find(members, unprobed->notices[i].pid);
        if (member) {
            member->notice_ns = unprobed->notices[i].time_ns;
            members_set_unprobed(members, member, true);
        } else if (!all_known) {
            unprobed->notices[kept++] = unprobed->notices[i];
        }
    }
    unprobed->notice_count = kept;
}

static struct unprobed_candidate *find(struct unprobed *unprobed, uint32_t pid)
{
    for (size_t i = 0; i < unprobed->count; i++)
        if (unprobed->candidates[i].pid == pid)
            return &unprobed->candidates[i];
    return NULL;
}

/* If there is no space, the process is treated as unprobed, which only costs time. */
void unprobed_add_candidate(struct unprobed *unprobed, struct run_members *members, struct run_member *member,
                            uint64_t time_ns, bool is_copy)
{
    if (unprobed->notices_fd < 0)
        return;
    struct unprobed_candidate *candidate = find(unprobed, member->pid);
    if (!candidate && unprobed->count < UNPROBED_CANDIDATES_MAX)
        candidate = &unprobed->candidates[unprobed->count++];
    if (candidate)
        *candidate = (struct unprobed_candidate){ member->pid, is_copy ? member->ppid : 0, time_ns, member->exec_ns };
    else
        members_set_unprobed(members, member, true);
    if (!is_copy)
        member->exec_ns = time_ns;
}

static void remove_probed(struct unprobed *unprobed, struct run_members *members, struct unprobed_candidate *candidate)
{
    struct run_member *member = members_find(members, candidate->pid);
    if (member)
        members_set_unprobed(members, member, false);
    *candidate = unprobed->candidates[--unprobed->count];
}

/* An image record is written after the exec, a complete exec record before it, as the last record of the old image. */
static bool is_about(const struct unprobed_candidate *candidate, enum record_kind kind, uint64_t time_ns)
{
    if (kind == RECORD_KIND_image)
        return time_ns >= candidate->since_ns;
    return !candidate->copy_of && time_ns >= candidate->before_ns && time_ns <= candidate->since_ns + SKEW_NS;
}

/* The probe has written a record: so the process has it, and all copies forked from it since, and theirs. */
static void on_probe_record(struct unprobed *unprobed, struct run_members *members, enum record_kind kind,
                            uint32_t pid, uint64_t time_ns)
{
    struct unprobed_candidate *candidate = find(unprobed, pid);
    const struct run_member *member = members_find(members, pid);
    if (!candidate || !member || !is_about(candidate, kind, time_ns) || time_ns < member->notice_ns)
        return;
    uint64_t since_ns = candidate->since_ns;
    remove_probed(unprobed, members, candidate);
    for (size_t i = 0; i < unprobed->count;) {
        const struct unprobed_candidate *copy = &unprobed->candidates[i];
        const struct run_member *creator = copy->copy_of ? members_find(members, copy->copy_of) : NULL;
        if (!creator || creator->is_unprobed || copy->since_ns < since_ns) {
            i++;
            continue;
        }
        remove_probed(unprobed, members, &unprobed->candidates[i]);
        i = 0; /* it may have been copied itself, by entries before it */
    }
}

static void take_frames(struct unprobed *unprobed, struct run_members *members, struct bytes rest)
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
            on_probe_record(unprobed, members, kind, (uint32_t)image.pid, image.time_ns);
        if (!err && kind == RECORD_KIND_exec && record_unpack_exec(body, &exec) == OK && exec.copied & RECORD_EXEC_WHOLE)
            on_probe_record(unprobed, members, kind, (uint32_t)exec.pid, exec.time_ns);
        unprobed->at += size;
        rest = (struct bytes){ rest.data + size, rest.size - size };
    }
}

/* A frame larger than the buffer (a huge command line) is skipped. */
static void read_spool(struct unprobed *unprobed, struct run_members *members)
{
    char chunk[CHUNK_BYTES];
    while (unprobed->at < unprobed->end && unprobed->count) {
        uint64_t before = unprobed->at, left = unprobed->end - unprobed->at;
        size_t size = left < sizeof chunk ? (size_t)left : sizeof chunk;
        ssize_t got = pread(unprobed->spool_fd, chunk, size, (off_t)unprobed->at);
        if (got <= 0)
            return;
        take_frames(unprobed, members, (struct bytes){ chunk, (size_t)got });
        if (unprobed->at != before)
            continue;
        if (got < (ssize_t)sizeof chunk)
            return; /* the rest is still being written */
        unprobed->at += (uint64_t)got;
    }
}

static bool is_alive(const struct run_member *member)
{
    return member && member->threads;
}

/* Without a record for this long, the process is unprobed. A candidate is dropped when it has ended, or when no
 * record will come any more (also if we were stopped for that long). */
static void decide(struct unprobed *unprobed, struct run_members *members, uint64_t now_ns,
                  void (*found)(void *context, struct run_member *member), void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < unprobed->count; i++) {
        struct unprobed_candidate candidate = unprobed->candidates[i];
        struct run_member *member = members_find(members, candidate.pid);
        if (!is_alive(member))
            continue;
        if (!member->is_unprobed && now_ns > candidate.since_ns + PATIENCE_NS) {
            members_set_unprobed(members, member, true);
            found(context, member);
        }
        if (now_ns <= candidate.since_ns + GIVE_UP_NS)
            unprobed->candidates[kept++] = candidate;
    }
    unprobed->count = kept;
}

/* Avoids reading the spool for processes that have ended, which in a burst of short ones are nearly all. */
static void drop_ended(struct unprobed *unprobed, struct run_members *members)
{
    size_t kept = 0;
    for (size_t i = 0; i < unprobed->count; i++)
        if (is_alive(members_find(members, unprobed->candidates[i].pid)))
            unprobed->candidates[kept++] = unprobed->candidates[i];
    unprobed->count = kept;
}

void unprobed_check_spool(struct unprobed *unprobed, struct run_members *members, uint64_t now_ns,
               void (*found)(void *context, struct run_member *member), void *context)
{
    if (unprobed->notices_fd < 0)
        return;
    drop_ended(unprobed, members);
    if (unprobed->count)
        read_spool(unprobed, members);
    unprobed->at = unprobed->old_end;
    decide(unprobed, members, now_ns, found, context);
}
