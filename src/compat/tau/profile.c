/* The bytes of a profile, and the sum of two. */
#include "compat/tau/profile.h"

#include "base/file.h"
#include "base/vec.h"
#include "model/dictionary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABELS_END "\"}"

/* Bytes after the end of a string are cleared: they may be anything. */
static void terminate_string(char *text, size_t size)
{
    const char *end = memchr(text, '\0', size - 1);
    size_t used = end ? (size_t)(end - text) : size - 1;
    memset(text + used, 0, size - used);
}

static void copy_string(char *to, size_t size, const char *from)
{
    size_t used = strnlen(from ? from : "", size - 1);
    memset(to, 0, size);
    memcpy(to, from ? from : "", used);
}

static void terminate_job(struct tau_job *job)
{
    terminate_string(job->id, sizeof job->id);
    terminate_string(job->command, sizeof job->command);
    terminate_string(job->nodelist, sizeof job->nodelist);
    terminate_string(job->partition, sizeof job->partition);
    terminate_string(job->cluster, sizeof job->cluster);
    terminate_string(job->run_dir, sizeof job->run_dir);
    job->pad = 0;
}

void tau_profile_init(struct tau_profile *profile, const struct tau_job *job)
{
    *profile = (struct tau_profile){ .job = *job };
    terminate_job(&profile->job);
}

void tau_profile_clear(struct tau_profile *profile)
{
    free(profile->metrics);
    *profile = (struct tau_profile){ 0 };
}

static enum err reserve(struct tau_profile *profile, size_t count)
{
    if (count > TAU_PROFILE_METRICS_MAX)
        return FULL;
    if (count <= profile->capacity)
        return OK;
    if (array_resize(profile->metrics, count))
        return NOMEM;
    profile->capacity = count;
    return OK;
}

/* A name that is too long loses characters of its last label, but not the closing brace. */
static void copy_name(char name[TAU_TEXT_MAX], const char *from)
{
    size_t keep = TAU_TEXT_MAX - sizeof LABELS_END;
    copy_string(name, TAU_TEXT_MAX, from);
    if (strlen(from) < TAU_TEXT_MAX || !memchr(name, '{', keep))
        return;
    size_t backslashes = 0;
    while (backslashes < keep && name[keep - 1 - backslashes] == '\\')
        backslashes++;
    keep -= backslashes % 2; /* an odd one would escape the quote */
    memset(name + keep, 0, TAU_TEXT_MAX - keep);
    memcpy(name + keep, LABELS_END, sizeof LABELS_END - 1);
}

enum err tau_profile_add(struct tau_profile *profile, enum tau_metric_type type, const char *name, const char *doc, double value,
                         double update_s)
{
    if (profile->count == profile->capacity) {
        size_t capacity = profile->capacity ? 2 * profile->capacity : 64;
        enum err err = reserve(profile, capacity < TAU_PROFILE_METRICS_MAX ? capacity : TAU_PROFILE_METRICS_MAX);
        if (err)
            return err;
    }
    if (profile->count == profile->capacity)
        return FULL;
    struct tau_snapshot *snapshot = &profile->metrics[profile->count++];
    *snapshot = (struct tau_snapshot){ .type = (int32_t)type, .canary = TAU_SNAPSHOT_CANARY };
    copy_string(snapshot->doc, sizeof snapshot->doc, doc);
    copy_name(snapshot->event.name, name);
    snapshot->event.value = value;
    snapshot->event.update_s = update_s;
    return OK;
}

static uint32_t nodes_of(const struct tau_snapshot *snapshot)
{
    uint32_t nodes = snapshot->merged & 0xffff;
    return (snapshot->merged & 0xffff0000u) == TAU_MERGED && nodes ? nodes : 1; /* tau leaves padding there */
}

static void add_values(struct tau_snapshot *to, const struct tau_snapshot *from)
{
    uint32_t a = nodes_of(to), b = nodes_of(from), nodes = a + b < 0xffff ? a + b : 0xffff;
    if (to->type == TAU_GAUGE)
        to->event.value = (to->event.value * a + from->event.value * b) / (a + b);
    else
        to->event.value += from->event.value;
    if (from->event.update_s > to->event.update_s)
        to->event.update_s = from->event.update_s;
    to->merged = TAU_MERGED | nodes;
}

/* Adds to the metric of this name, or appends it. The capacity was reserved: nothing moves while the dictionary is in
 * use. */
static enum err absorb(struct tau_profile *profile, struct dictionary *names, const struct tau_snapshot *from)
{
    if (profile->count >= profile->capacity)
        return FULL;
    struct tau_snapshot *next = &profile->metrics[profile->count];
    *next = *from;
    terminate_string(next->doc, sizeof next->doc);
    terminate_string(next->event.name, sizeof next->event.name);
    uint32_t number = dictionary_add(names, bytes_of(next->event.name));
    if (number == DICTIONARY_NONE)
        return NOMEM;
    if (number == profile->count)
        profile->count++;
    else if (profile->metrics[number].type == from->type)
        add_values(&profile->metrics[number], from);
    return OK;
}

static bool has_command(const char *commands, const char *command)
{
    size_t size = strlen(command);
    for (const char *at = commands; (at = strstr(at, command)); at++)
        if ((at == commands || (at - commands > 2 && memcmp(at - 3, " : ", 3) == 0))
            && (!at[size] || strncmp(at + size, " : ", 3) == 0))
            return true;
    return false;
}

static void fill_string(char *text, const char *other, size_t size)
{
    if (!*text)
        memcpy(text, other, size);
}

static void merge_jobs(struct tau_job *job, const struct tau_job *other)
{
    size_t used = strlen(job->command), more = strlen(other->command);
    if (used && more && used + more + 4 <= sizeof job->command && !has_command(job->command, other->command)) {
        memcpy(job->command + used, " : ", 3);
        memcpy(job->command + used + 3, other->command, more);
    }
    fill_string(job->command, other->command, sizeof job->command);
    fill_string(job->nodelist, other->nodelist, sizeof job->nodelist);
    fill_string(job->partition, other->partition, sizeof job->partition);
    fill_string(job->cluster, other->cluster, sizeof job->cluster);
    fill_string(job->run_dir, other->run_dir, sizeof job->run_dir);
    if (other->size > job->size)
        job->size = other->size;
    if (other->start_s && (other->start_s < job->start_s || !job->start_s))
        job->start_s = other->start_s;
    if (other->end_s > job->end_s)
        job->end_s = other->end_s;
}

static enum err absorb_all(struct tau_profile *profile, struct dictionary *names, const struct tau_snapshot *list, size_t count)
{
    enum err err = OK;
    for (size_t i = 0; i < count && !err; i++)
        err = absorb(profile, names, &list[i]);
    return err;
}

enum err tau_profile_merge(struct tau_profile *profile, const struct tau_profile *other)
{
    struct tau_profile sum = { .job = profile->job };
    struct dictionary names;
    enum err err = reserve(&sum, profile->count + other->count + 1);
    dictionary_init(&names);
    if (!err)
        err = absorb_all(&sum, &names, profile->metrics, profile->count);
    if (!err)
        err = absorb_all(&sum, &names, other->metrics, other->count);
    dictionary_clear(&names);
    if (err) {
        tau_profile_clear(&sum);
        return err;
    }
    merge_jobs(&sum.job, &other->job);
    tau_profile_clear(profile);
    *profile = sum;
    return OK;
}

void tau_profile_write(const struct tau_profile *profile, struct buf *out)
{
    struct tau_profile_head head = { .count = (int32_t)profile->count, .job = profile->job };
    int32_t end = TAU_PROFILE_END;
    buf_add(out, &head, sizeof head);
    if (profile->count)
        buf_add(out, profile->metrics, profile->count * sizeof *profile->metrics);
    buf_add(out, &end, sizeof end);
}

/* The bytes may not be aligned. */
static enum err read_metrics(struct tau_profile *profile, const char *at, size_t count)
{
    struct dictionary names;
    enum err err = OK;
    dictionary_init(&names);
    for (size_t i = 0; i < count && !err; i++, at += sizeof(struct tau_snapshot)) {
        struct tau_snapshot snapshot;
        memcpy(&snapshot, at, sizeof snapshot);
        if (snapshot.canary != TAU_SNAPSHOT_CANARY)
            err = CORRUPT;
        else if (snapshot.type == TAU_COUNTER || snapshot.type == TAU_GAUGE) /* others are unused */
            err = absorb(profile, &names, &snapshot);
    }
    dictionary_clear(&names);
    return err;
}

enum err tau_profile_read(struct tau_profile *profile, struct bytes bytes)
{
    struct tau_profile_head head;
    int32_t end;
    *profile = (struct tau_profile){ 0 };
    if (bytes.size < sizeof head + sizeof end)
        return CORRUPT;
    memcpy(&head, bytes.data, sizeof head);
    memcpy(&end, bytes.data + bytes.size - sizeof end, sizeof end);
    size_t count = (bytes.size - sizeof head - sizeof end) / sizeof(struct tau_snapshot);
    if (head.count < 0 || (size_t)head.count != count || end != TAU_PROFILE_END
        || bytes.size != sizeof head + count * sizeof(struct tau_snapshot) + sizeof end)
        return CORRUPT;
    tau_profile_init(profile, &head.job);
    enum err err = reserve(profile, count + 1);
    return err ? err : read_metrics(profile, bytes.data + sizeof head, count);
}

enum err tau_profile_load(struct tau_profile *profile, const char *path)
{
    struct stat status;
    int fd;
    *profile = (struct tau_profile){ 0 };
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = fstat(fd, &status) == 0 ? OK : err_from_errno(errno);
    if (!err && !S_ISREG(status.st_mode))
        err = CORRUPT;
    if (!err && (size_t)status.st_size > TAU_PROFILE_BYTES_MAX)
        err = FULL;
    char *text = err ? NULL : malloc((size_t)status.st_size + 2);
    size_t got = 0;
    if (!err)
        err = text ? file_read_fd(fd, text, (size_t)status.st_size + 2, &got) : NOMEM;
    close(fd);
    if (!err)
        err = tau_profile_read(profile, (struct bytes){ text, got });
    free(text);
    return err;
}

/* What follows " -- " of a launcher; NULL: it is none. */
static const char *after_launcher(const char *command)
{
    static const char *const launchers[] = { "tau_metric_proxy_run", "tau_strace" };
    size_t word = strcspn(command, " "), start = word;
    while (start && command[start - 1] != '/')
        start--;
    const char *end = strstr(command, " -- ");
    for (size_t i = 0; end && i < sizeof launchers / sizeof *launchers; i++)
        if (word - start == strlen(launchers[i]) && strncmp(command + start, launchers[i], word - start) == 0)
            return end + 4;
    return NULL;
}

void tau_profile_real_command(char *command)
{
    for (const char *real; (real = after_launcher(command));)
        memmove(command, real, strlen(real) + 1);
}
