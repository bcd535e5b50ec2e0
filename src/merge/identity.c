/* The image's own word counts most, then that of who exec'd it, then that of /proc. A copy made by fork is what its
 * parent was. */
#include "merge/identity.h"

#include "base/clock.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAST_LOOK_NS (500 * NS_PER_MS)
#define DELETED " (deleted)"
#define ARGS_COPY_MAX 1024 /* longer ones stay in the mapped spool */

struct subject {
    const struct identity *from;
    const struct image *image, *next; /* next: of the same life, NULL: it is the last */
    const struct life *life;
    bool is_first, is_last; /* of the images of its life */
    struct process *process;
};

static struct bytes keep(const struct subject *s, struct bytes text)
{
    return texts_keep(s->from->texts, text);
}

static struct bytes keep_args(const struct subject *s, struct bytes args)
{
    return args.size <= ARGS_COPY_MAX ? keep(s, args) : args;
}

static void take_texts(const struct subject *s, const struct event_texts *texts)
{
    struct process *p = s->process;
    p->path = p->path.size ? p->path : keep(s, texts->path);
    p->args = p->args.size ? p->args : keep_args(s, texts->args);
    p->cwd = p->cwd.size ? p->cwd : keep(s, texts->cwd);
    p->tags = p->tags.size ? p->tags : keep(s, texts->tags);
    p->name = p->name.size ? p->name : keep(s, texts->name);
}

static void take_ids(struct process *p, const struct event_numbers *n)
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
    const struct event *e = &s->from->events->list[index];
    struct event_texts texts;
    struct event_numbers n;
    event_texts(s->from->events, e, &texts);
    take_texts(s, &texts);
    if (has_ids && event_read(s->from->events, e, &n))
        take_ids(s->process, &n);
}

/* Who exec'd it told all of it. False: it did not. */
static bool take_whole_exec(const struct subject *s)
{
    const struct event *e = s->image->exec == NONE ? NULL : &s->from->events->list[s->image->exec];
    struct exec_record record;
    if (s->image->image != NONE || !e || !(e->flags & EVENT_WHOLE)
        || record_unpack_exec(event_body(s->from->events, e), &record))
        return false;
    take_texts(s, &(struct event_texts){ .path = record.path, .args = record.args, .cwd = record.cwd, .tags = record.tags });
    take_ids(s->process, &(struct event_numbers){ .pgid = record.pgid, .sid = record.sid, .uid = record.uid });
    return true;
}

/* What the kernel's list told may be of a later image when it was read late: the path only counts when the arguments
 * are those that were announced. */
static void take_kernel_exec(const struct subject *s)
{
    if (s->image->kernel_exec == NONE)
        return;
    const struct event *e = &s->from->events->list[s->image->kernel_exec];
    struct event_texts told, announced = { 0 };
    struct event_numbers n;
    event_texts(s->from->events, e, &told);
    if (s->image->exec != NONE)
        event_texts(s->from->events, &s->from->events->list[s->image->exec], &announced);
    if (s->image->exec == NONE || images_is_announced(&announced, &told))
        take_texts(s, &told);
    if (event_read(s->from->events, e, &n) && n.stat_known)
        take_ids(s->process, &n);
}

/* fork copies what the parent is at this moment; where it stands now and what it calls its group may have changed. */
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

static void take_end(const struct subject *s, const struct event *e)
{
    struct event_numbers n;
    if (!event_read(s->from->events, e, &n))
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

static void take_taskstats(const struct subject *s, const struct event *e)
{
    struct event_numbers n;
    struct event_texts texts;
    if (!event_read(s->from->events, e, &n))
        return;
    if (!s->process->uid_known) {
        s->process->uid = (uint32_t)n.uid;
        s->process->uid_known = true;
    }
    if (s->process->name.size || e->flags & EVENT_OF_THREAD)
        return;
    event_texts(s->from->events, e, &texts);
    s->process->name = keep(s, texts.name);
}

/* Whose word on the status counts more. */
enum status_rank { STATUS_NONE, STATUS_END, STATUS_TASKSTATS, STATUS_KERNEL, STATUS_WAIT };

static enum status_rank status_rank(const struct subject *s, uint32_t index)
{
    const struct event *e = &s->from->events->list[index];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_wait: return index == s->life->wait ? STATUS_WAIT : STATUS_NONE;
    case RECORD_KIND_kernel_exit: return e->flags & EVENT_OF_THREAD ? STATUS_NONE : STATUS_KERNEL;
    case RECORD_KIND_taskstats: return e->flags & EVENT_LAST ? STATUS_TASKSTATS : STATUS_NONE;
    case RECORD_KIND_end: return life_has(s->life, RECORD_KIND_end) ? STATUS_END : STATUS_NONE;
    default: return STATUS_NONE;
    }
}

static void set_status(const struct subject *s, const struct event *e)
{
    struct event_numbers n;
    struct process *p = s->process;
    if (!event_read(s->from->events, e, &n))
        return;
    int status = e->kind == RECORD_KIND_end ? (int)(n.exit_code & 0xff) << 8 : (int)n.status;
    p->status_known = WIFEXITED(status) || WIFSIGNALED(status);
    p->exit_code = WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0;
    p->exit_signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
}

static unsigned source_of(const struct subject *s, const struct event *e)
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

/* What was told of the whole life: its end belongs to the last image, its beginning to the first. */
static void take_life(const struct subject *s)
{
    enum status_rank best = STATUS_NONE;
    uint32_t from = NONE;
    if (!s->is_first && !s->is_last)
        return;
    for (uint32_t i = s->life->first; i != NONE; i = s->from->events->list[i].next) {
        const struct event *e = &s->from->events->list[i];
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
        set_status(s, &s->from->events->list[from]);
}

/* It is the probe in this image that told what it executed next. */
static bool tells_of_next(const struct subject *s)
{
    return s->next && s->next->exec != NONE && s->from->events->list[s->next->exec].kind == RECORD_KIND_exec;
}

static unsigned sources_of_image(const struct subject *s)
{
    unsigned sources = s->image->image != NONE || tells_of_next(s) ? SEEN_PROBE : 0;
    sources |= s->image->exec != NONE ? SEEN_PARENT : 0;
    sources |= s->image->kernel_exec != NONE ? SEEN_CONNECTOR : 0;
    return sources | (s->life->first == NONE ? SEEN_CHILD : 0);
}

static struct bytes last_part(struct bytes path)
{
    const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
    if (!slash || slash + 1 == path.data + path.size)
        return path;
    return (struct bytes){ slash + 1, (size_t)(path.data + path.size - slash - 1) };
}

/* The kernel marks a file that was removed, or never had a name (memfd): the path is the one before the mark. The watcher
 * cuts it from what it reads, the probe tells what it was told. A file may also be called so. */
static struct bytes without_mark(struct bytes path)
{
    char text[PATH_MAX];
    size_t mark = sizeof DELETED - 1;
    if (path.size <= mark || path.size >= sizeof text || memcmp(path.data + path.size - mark, DELETED, mark) != 0)
        return path;
    memcpy(text, path.data, path.size);
    text[path.size] = '\0';
    return access(text, F_OK) == 0 ? path : (struct bytes){ path.data, path.size - mark };
}

static void set_name(struct process *p)
{
    p->path = without_mark(p->path);
    if (p->path.size)
        p->name = last_part(p->path);
    else if (!p->name.size && p->args.size)
        p->name = last_part((struct bytes){ p->args.data, strnlen(p->args.data, p->args.size) });
}

/* Those that are left are looked at just before the run's last record; one that was looked at long before it has
 * vanished since. */
static bool was_alive_at_end(const struct subject *s)
{
    const struct run *run = s->from->run;
    if (!run->ended)
        return false;
    for (uint32_t i = s->life->first; i != NONE; i = s->from->events->list[i].next) {
        const struct event *e = &s->from->events->list[i];
        if (e->kind == RECORD_KIND_alive && e->time_ns + LAST_LOOK_NS >= run->end_ns)
            return true;
    }
    return false;
}

static enum process_state state_of(const struct subject *s)
{
    if (!s->is_last)
        return PROCESS_EXECED;
    if (s->life->ended)
        return PROCESS_ENDED;
    return was_alive_at_end(s) ? PROCESS_RUNNING : PROCESS_LOST;
}

void identity_fill(const struct identity *from, uint32_t index, struct process *process)
{
    const struct image *image = &from->images->list[index];
    const struct life *life = &from->lives->list[image->life];
    struct subject s = {
        .from = from, .image = image, .life = life, .process = process,
        .is_first = index == life->image, .is_last = index + 1 == life->image + life->images,
    };
    s.next = s.is_last ? NULL : image + 1;
    process->pid = life->pid;
    process->ppid = life->ppid;
    process->image = index - life->image;
    process->parent = image->parent == NONE ? PROCESS_NO_PARENT : from->images->list[image->parent].place;
    process->start_ns = image->start_ns;
    process->end_ns = s.is_last ? life->end_ns : from->images->list[index + 1].start_ns;
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
