/* Fills the identity of a process image. The image's own record has precedence, then the record of the process that
 * exec'd it, then /proc. A forked copy inherits from its parent. */
#include "merge/identity.h"

#include "base/clock.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#define FINAL_SCAN_NS (500 * NS_PER_MS)
#define DELETED " (deleted)"
#define ARGS_COPY_MAX 1024 /* longer ones stay in the mapped spool */

struct subject {
    const struct identity *from;
    const struct process_image *image, *next; /* next image of the same instance; NULL if this is the last */
    const struct process_instance *instance;
    bool is_first, is_last; /* among the images of its instance */
    struct process *process;
};

static struct bytes keep(const struct subject *s, struct bytes text)
{
    return arena_strings_intern(s->from->strings, text);
}

static struct bytes intern_args(const struct subject *s, struct bytes args)
{
    return args.size <= ARGS_COPY_MAX ? keep(s, args) : args;
}

static void take_strings(const struct subject *s, const struct record_strings *strings)
{
    struct process *p = s->process;
    p->path = p->path.size ? p->path : keep(s, strings->path);
    p->args = p->args.size ? p->args : intern_args(s, strings->args);
    p->cwd = p->cwd.size ? p->cwd : keep(s, strings->cwd);
    p->tags = p->tags.size ? p->tags : keep(s, strings->tags);
    p->name = p->name.size ? p->name : keep(s, strings->name);
}

static void take_ids(struct process *p, const struct record_numbers *n)
{
    if (!p->pgid_known && n->pgid) {
        p->pgid = (uint32_t)n->pgid;
        p->pgid_known = true;
    }
    if (!p->sid_known && n->sid) {
        p->sid = (uint32_t)n->sid;
        p->sid_known = true;
    }
    if (!p->uid_known && n->uid != RECORD_UID_UNKNOWN) {
        p->uid = (uint32_t)n->uid;
        p->uid_known = true;
    }
}

static void take_event(const struct subject *s, uint32_t index, bool has_ids)
{
    if (index == NONE)
        return;
    const struct record_entry *e = &s->from->records->list[index];
    struct record_strings strings;
    struct record_numbers n;
    record_index_strings(s->from->records, e, &strings);
    take_strings(s, &strings);
    if (has_ids && record_index_numbers(s->from->records, e, &n))
        take_ids(s->process, &n);
}

/* The exec record described the new image completely. False: it did not. */
static bool take_whole_exec(const struct subject *s)
{
    const struct record_entry *e = s->image->exec == NONE ? NULL : &s->from->records->list[s->image->exec];
    struct exec_record record;
    if (s->image->image != NONE || !e || !(e->flags & ENTRY_EXEC_COMPLETE)
        || record_unpack_exec(record_index_body(s->from->records, e), &record))
        return false;
    take_strings(s, &(struct record_strings){ .path = record.path, .args = record.args, .cwd = record.cwd,
                                            .tags = record.tags });
    take_ids(s->process, &(struct record_numbers){ .pgid = record.pgid, .sid = record.sid, .uid = record.uid });
    return true;
}

/* sonde run reads /proc after the kernel's exec event and may be so late that it reads the next image. Its path counts
 * only if the arguments are the announced ones. */
static void take_kernel_exec(const struct subject *s)
{
    if (s->image->kernel_exec == NONE)
        return;
    const struct record_entry *e = &s->from->records->list[s->image->kernel_exec];
    struct record_strings kernel, announced = { 0 };
    struct record_numbers n;
    record_index_strings(s->from->records, e, &kernel);
    if (s->image->exec != NONE)
        record_index_strings(s->from->records, &s->from->records->list[s->image->exec], &announced);
    if (s->image->exec == NONE || process_image_is_announced(&announced, &kernel))
        take_strings(s, &kernel);
    if (record_index_numbers(s->from->records, e, &n) && n.stat_known)
        take_ids(s->process, &n);
}

/* fork copies the parent's state at that time. Working directory and process group may have changed since then and are
 * not copied. */
static void take_parent(const struct subject *s)
{
    struct process *p = s->process;
    if (p->parent == PROCESS_NO_PARENT)
        return;
    const struct process *parent = &s->from->run->processes[p->parent];
    p->path = parent->path;
    p->args = parent->args;
    p->tags = parent->tags;
    p->name = parent->name;
    if (!p->uid_known) {
        p->uid = parent->uid;
        p->uid_known = parent->uid_known;
    }
    if (!p->sid_known) {
        p->sid = parent->sid;
        p->sid_known = parent->sid_known;
    }
    if (!p->pgid_known) {
        p->pgid = parent->pgid;
        p->pgid_known = parent->pgid_known;
    }
}

static void take_end(const struct subject *s, const struct record_entry *e)
{
    struct record_numbers n;
    if (!record_index_numbers(s->from->records, e, &n))
        return;
    if (n.pgid) {
        s->process->pgid = (uint32_t)n.pgid;
        s->process->pgid_known = true;
    }
    if (n.sid) {
        s->process->sid = (uint32_t)n.sid;
        s->process->sid_known = true;
    }
}

static void take_taskstats(const struct subject *s, const struct record_entry *e)
{
    struct record_numbers n;
    struct record_strings strings;
    if (!record_index_numbers(s->from->records, e, &n))
        return;
    if (!s->process->uid_known) {
        s->process->uid = (uint32_t)n.uid;
        s->process->uid_known = true;
    }
    if (s->process->name.size || e->flags & ENTRY_OF_THREAD)
        return;
    record_index_strings(s->from->records, e, &strings);
    s->process->name = keep(s, strings.name);
}

/* Sources of the exit status, weakest first. */
enum status_rank { STATUS_NONE, STATUS_END, STATUS_TASKSTATS, STATUS_KERNEL, STATUS_WAIT };

static enum status_rank status_rank(const struct subject *s, uint32_t index)
{
    const struct record_entry *e = &s->from->records->list[index];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_wait: return index == s->instance->wait ? STATUS_WAIT : STATUS_NONE;
    case RECORD_KIND_kernel_exit: return e->flags & ENTRY_OF_THREAD ? STATUS_NONE : STATUS_KERNEL;
    case RECORD_KIND_taskstats: return e->flags & ENTRY_LAST_TASK ? STATUS_TASKSTATS : STATUS_NONE;
    case RECORD_KIND_end: return process_instance_has(s->instance, RECORD_KIND_end) ? STATUS_END : STATUS_NONE;
    default: return STATUS_NONE;
    }
}

static void set_status(const struct subject *s, const struct record_entry *e)
{
    struct record_numbers n;
    struct process *p = s->process;
    if (!record_index_numbers(s->from->records, e, &n))
        return;
    int status = e->kind == RECORD_KIND_end ? (int)(n.exit_code & 0xff) << 8 : (int)n.status;
    p->status_known = WIFEXITED(status) || WIFSIGNALED(status);
    p->exit_code = WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0;
    p->exit_signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
}

static unsigned source_of(const struct subject *s, const struct record_entry *e)
{
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_wait: return SEEN_WAIT;
    case RECORD_KIND_kernel_exit: case RECORD_KIND_kernel_fork: return SEEN_CONNECTOR;
    case RECORD_KIND_taskstats: return SEEN_TASKSTATS;
    case RECORD_KIND_alive: return SEEN_PROC;
    case RECORD_KIND_end: case RECORD_KIND_thread: case RECORD_KIND_exec_failed: return SEEN_PROBE;
    case RECORD_KIND_fork: return s->image->exec == NONE && s->image->image == NONE ? SEEN_PROBE : 0;
    default: return 0;
    }
}

/* Records about the whole process: its start belongs to the first image, its end to the last one. */
static void take_life(const struct subject *s)
{
    enum status_rank best = STATUS_NONE;
    uint32_t from = NONE;
    if (!s->is_first && !s->is_last)
        return;
    for (uint32_t i = s->instance->first; i != NONE; i = s->from->records->list[i].next) {
        const struct record_entry *e = &s->from->records->list[i];
        bool is_beginning = e->kind == RECORD_KIND_fork || e->kind == RECORD_KIND_kernel_fork;
        if (is_beginning ? !s->is_first : !s->is_last)
            continue;
        s->process->sources |= source_of(s, e);
        if (e->kind == RECORD_KIND_end)
            take_end(s, e);
        else if (e->kind == RECORD_KIND_taskstats)
            take_taskstats(s, e);
        else if (e->kind == RECORD_KIND_alive)
            take_event(s, i, true);
        enum status_rank rank = status_rank(s, i);
        if (rank > best) {
            best = rank;
            from = i;
        }
    }
    if (from != NONE)
        set_status(s, &s->from->records->list[from]);
}

/* Did the probe in this image announce the next exec? */
static bool reported_next_exec(const struct subject *s)
{
    return s->next && s->next->exec != NONE && s->from->records->list[s->next->exec].kind == RECORD_KIND_exec;
}

static unsigned sources_of_image(const struct subject *s)
{
    unsigned sources = s->image->image != NONE || reported_next_exec(s) ? SEEN_PROBE : 0;
    sources |= s->image->exec != NONE ? SEEN_PARENT : 0;
    sources |= s->image->kernel_exec != NONE ? SEEN_CONNECTOR : 0;
    return sources | (s->instance->first == NONE ? SEEN_CHILD : 0);
}

static struct bytes base_name(struct bytes path)
{
    const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
    if (!slash || slash + 1 == path.data + path.size)
        return path;
    return (struct bytes){ slash + 1, (size_t)(path.data + path.size - slash - 1) };
}

/* In /proc the kernel appends " (deleted)" to the path of an executable that was removed or never had a name (memfd).
 * sonde run strips it; the probe does not. A file may really have such a name. */
static struct bytes without_deleted_suffix(struct bytes path)
{
    char text[PATH_MAX];
    size_t mark_estimates = sizeof DELETED - 1;
    if (path.size <= mark_estimates || path.size >= sizeof text || memcmp(path.data + path.size - mark_estimates,
                                                                          DELETED, mark_estimates) != 0)
        return path;
    memcpy(text, path.data, path.size);
    text[path.size] = '\0';
    return access(text, F_OK) == 0 ? path : (struct bytes){ path.data, path.size - mark_estimates };
}

static void set_name(struct process *p)
{
    p->path = without_deleted_suffix(p->path);
    if (p->path.size)
        p->name = base_name(p->path);
    else if (!p->name.size && p->args.size)
        p->name = base_name((struct bytes){ p->args.data, strnlen(p->args.data, p->args.size) });
}

/* Processes still running are scanned just before the run's last record. A process found only much earlier has
 * disappeared since. */
static bool was_alive_at_end(const struct subject *s)
{
    const struct run *run = s->from->run;
    if (!run->ended)
        return false;
    for (uint32_t i = s->instance->first; i != NONE; i = s->from->records->list[i].next) {
        const struct record_entry *e = &s->from->records->list[i];
        if (e->kind == RECORD_KIND_alive && e->time_ns + FINAL_SCAN_NS >= run->end_ns)
            return true;
    }
    return false;
}

static enum process_state state_of(const struct subject *s)
{
    if (!s->is_last)
        return PROCESS_EXECED;
    if (s->instance->ended)
        return PROCESS_ENDED;
    return was_alive_at_end(s) ? PROCESS_RUNNING : PROCESS_LOST;
}

void identity_fill(const struct identity *from, uint32_t index, struct process *process)
{
    const struct process_image *image = &from->images->list[index];
    const struct process_instance *instance = &from->instances->list[image->instance];
    struct subject s = {
        .from = from, .image = image, .instance = instance, .process = process,
        .is_first = index == instance->first_image, .is_last = index + 1 == instance->first_image + instance->image_count,
    };
    s.next = s.is_last ? NULL : image + 1;
    process->pid = instance->pid;
    process->ppid = instance->ppid;
    process->image = index - instance->first_image;
    process->parent = image->parent == NONE ? PROCESS_NO_PARENT : from->images->list[image->parent].position;
    process->start_ns = image->start_ns;
    process->end_ns = s.is_last ? instance->end_ns : from->images->list[index + 1].start_ns;
    process->state = state_of(&s);
    process->sources = sources_of_image(&s);
    if (take_whole_exec(&s))
        process->sources |= SEEN_PROBE;
    take_event(&s, image->image, true);
    if (!process->path.size || !process->args.size || !process->cwd.size) {
        take_kernel_exec(&s);
        take_event(&s, image->exec, false);
    }
    take_life(&s);
    if (image->image == NONE && image->exec == NONE && image->kernel_exec == NONE)
        take_parent(&s);
    set_name(process);
}
