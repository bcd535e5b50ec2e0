/* From what a life used to what each of its images used: the difference of what it had used when each began. */
#include "merge/image_counters.h"

#include "base/clock.h"
#include "merge/probe_overhead.h"
#include "merge/perf.h"

#define BIT(name) (1ull << COUNTER_##name)
#define OF_THREADS (BIT(delayacct_blkio_time) | BIT(guest_time) | BIT(rchar) | BIT(wchar) | BIT(syscr) | BIT(syscw) \
                    | BIT(read_bytes) | BIT(write_bytes) | BIT(cancelled_write_bytes) | BIT(time_oncpu) \
                    | BIT(time_waiting) | BIT(timeslices))

/* What the image before told when it executed this one. */
static bool read_exec(const struct numbers *n, uint32_t index, struct exec_record *exec)
{
    uint32_t event = n->images->list[index].exec;
    return event != NONE && n->events->list[event].kind == RECORD_KIND_exec
           && record_unpack_exec(event_body(n->events, &n->events->list[event]), exec) == OK;
}

/* What the pid had used when the image began; false: nobody told. */
static bool read_before(const struct numbers *n, uint32_t index, struct counters *before)
{
    const struct image *image = &n->images->list[index];
    struct exec_record exec;
    struct image_record itself;
    if (read_exec(n, index, &exec) && exec.self.known) {
        *before = exec.self;
        usage_take_children(&exec.children, before);
        return true;
    }
    if (image->image != NONE
        && record_unpack_image(event_body(n->events, &n->events->list[image->image]), &itself) == OK
        && itself.self.known) {
        *before = itself.self;
        usage_take_children(&itself.children, before);
        return true;
    }
    return false;
}

/* What the life had used when the image began, or when the nearest image before it did of which that was told: then
 * *exact is false, because the image's numbers hold those of the ones between. false: nothing is to be subtracted. */
static bool find_before(const struct numbers *n, uint32_t index, struct counters *before, bool *exact)
{
    const struct life *life = &n->lives->list[n->images->list[index].life];
    uint32_t from = index, least = index > life->image + IMAGES_WALKED_MAX ? index - IMAGES_WALKED_MAX : life->image;
    while (from > least && !read_before(n, from, before))
        from--;
    *exact = from == index;
    return from > least;
}

/* rss_is_own: it was told of this image alone. */
static void subtract_before(const struct counters *before, bool rss_is_own, struct counters *counters)
{
    usage_subtract(counters, before);
    if (!rss_is_own && counters_get(counters, COUNTER_rssmax) <= counters_get(before, COUNTER_rssmax))
        counters->known &= ~BIT(rssmax); /* that was the largest of an earlier image */
}

static struct threads_window window_of(const struct numbers *n, uint32_t index)
{
    const struct life *life = &n->lives->list[n->images->list[index].life];
    uint32_t exec = n->images->list[index].exec;
    struct threads_window window = { 0, UINT64_MAX, exec == NONE ? 0 : n->events->list[exec].time_ns,
                                     images_first_event(n->images, life, index), life->images > IMAGES_WALKED_MAX };
    for (int end = 0; end < 2; end++) {
        uint32_t at = index + (uint32_t)end;
        if (at == life->image || at == life->image + life->images)
            continue;
        const struct image *image = &n->images->list[at];
        uint32_t event = image->kernel_exec != NONE ? image->kernel_exec : image->exec;
        event = image->image != NONE ? image->image : event;
        uint64_t time_ns = event == NONE ? image->start_ns : n->events->list[event].time_ns;
        *(end ? &window.until_ns : &window.from_ns) = time_ns;
    }
    return window;
}

/* Numbers that only threads have: the process has their sum, when all of them are known. */
static void add_up_threads(const struct thread *threads, uint32_t count, bool all, struct counters *counters)
{
    uint64_t known = all ? OF_THREADS : 0;
    struct counters sum = { 0 };
    for (uint32_t i = 0; i < count && known; i++) {
        known &= threads[i].counters.known;
        counters_add(&sum, &threads[i].counters);
    }
    sum.known &= known;
    counters->known &= ~OF_THREADS;
    counters_fill(counters, &sum);
}

static void take_main_end(const struct told *told, struct thread *main_thread)
{
    struct counters exit_record = main_thread->counters;
    if (!told->has_end)
        return;
    if (!main_thread->name[0])
        threads_set_name(main_thread, told->end.name);
    threads_join(&main_thread->counters, &told->end.main, &exit_record);
}

/* Gauges of the process that the main thread's line in /proc tells. */
static void take_gauges(const struct thread *main_thread, struct counters *counters)
{
    struct counters gauges = main_thread->counters;
    gauges.known &= BIT(num_threads) | BIT(starttime) | BIT(processor);
    counters_fill(counters, &gauges);
}

/* Where the kernel told of the fork, the probe does not read the start of its task. */
static void derive_start(const struct numbers *n, const struct life *life, struct counters *counters)
{
    uint64_t boot_ns = n->run->boot_ns;
    if (!counters_has(counters, COUNTER_starttime) && life->start_exact && boot_ns && life->start_ns > boot_ns)
        counters_set(counters, COUNTER_starttime, (life->start_ns - boot_ns) / NS_PER_US);
}

static void fill_times(const struct process *process, struct thread *main_thread)
{
    main_thread->start_ns = process->start_ns;
    if (!main_thread->end_ns || main_thread->end_ns > process->end_ns)
        main_thread->end_ns = process->end_ns;
}

static void mark(const struct numbers *n, uint32_t index, const struct told *told, struct process *process)
{
    const struct use *use = &n->usage->list[n->images->list[index].life];
    bool is_remainder = told->has_wait && !told->has_end && !told->has_tasks;
    if (use->estimated)
        process->sources |= USAGE_ESTIMATED;
    if (use->with_others && is_remainder)
        process->sources |= USAGE_WITH_OTHERS;
}

/* The last image had one thread, the one before several: then its file of io is the process's, with those that have ended. */
static bool is_after_threads(const struct numbers *n, uint32_t index, const struct told *told, struct counters *whole_io)
{
    struct exec_record exec;
    if (!told->has_end || told->end.threads != 1 || !read_exec(n, index, &exec) || !exec.whole_io.known)
        return false;
    for (int i = 0; i < COUNTERS_SIZE; i++) /* as the probe decides: end.c */
        if (counters_get(&told->end.children, (enum counter)i))
            return false;
    *whole_io = exec.whole_io;
    return true;
}

static void take_off_own(const struct numbers *n, uint32_t index, bool after_threads, struct counters *process,
                         struct counters *main_thread)
{
    const struct image *image = &n->images->list[index];
    const struct life *life = &n->lives->list[image->life];
    uint32_t first = images_first_event(n->images, life, index > life->image ? index - 1 : index);
    struct own own = after_threads ? own_of_exec(n->events, image->exec)
                                   : own_before(n->events, first, image->image, image->exec);
    own_subtract(&own, process);
    own_subtract(&own, main_thread);
}

static void replace(struct counters *counters, const struct counters *by)
{
    counters->known &= ~by->known;
    counters_fill(counters, by);
}

/* The thread that executed the image index tells its name and what it used, and is at its end. */
static void take_caller(const struct numbers *n, uint32_t index, struct thread *threads, uint32_t count)
{
    struct exec_record exec;
    if (!read_exec(n, index, &exec) || !exec.tid)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (threads[i].tid != exec.tid)
            continue;
        threads_set_name(&threads[i], exec.name);
        threads[i].end_ns = threads[i].end_ns ? threads[i].end_ns : exec.time_ns;
        counters_fill(&threads[i].counters, &exec.thread);
        return;
    }
}

/* What the main thread of an image had used before as the thread that executed it: in the exec record io and the time on a CPU
 * are its own, the rest is the whole process's, and its own only when that had no other thread. */
static void subtract_caller(const struct numbers *n, uint32_t index, const struct counters *before,
                            struct counters *main_thread)
{
    struct exec_record exec;
    struct counters own = *before;
    if (read_exec(n, index, &exec) && exec.tid)
        replace(&own, &exec.thread);
    usage_subtract(main_thread, &own);
}

/* Of an image that exec'd, the thread that did it told of itself in the exec record, all others in their own. */
static void add_up_before_exec(struct thread *threads, uint32_t count, struct counters *counters)
{
    struct thread *caller = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (threads[i].counters.known & OF_THREADS)
            continue;
        if (caller) { /* somebody else did not tell either */
            counters->known &= ~OF_THREADS;
            return;
        }
        caller = &threads[i];
    }
    if (!caller)
        return;
    struct counters own = *counters;
    own.known &= OF_THREADS;
    counters_fill(&caller->counters, &own);
    add_up_threads(threads, count, true, counters);
}

/* Did no image before this one have threads, or wait for children? Then there was nothing but the thread that executed it. */
static bool was_alone(const struct numbers *n, uint32_t index)
{
    const struct life *life = &n->lives->list[n->images->list[index].life];
    struct exec_record exec = { 0 };
    if (index - life->image > IMAGES_WALKED_MAX)
        return false;
    for (uint32_t i = life->image + 1; i <= index; i++)
        if (!read_exec(n, i, &exec) || exec.tid || exec.whole_io.known)
            return false;
    return counters_cpu_us(&exec.children) == 0 && !counters_get(&exec.children, COUNTER_minflt);
}

/* What the process had read and written when its last image began. False: nobody told. */
static bool find_io_before(const struct numbers *n, uint32_t index, struct io_before *before)
{
    const struct life *life = &n->lives->list[n->images->list[index].life];
    struct exec_record exec;
    *before = (struct io_before){ 0 };
    if (life->images == 1)
        return true;
    if (!read_exec(n, index, &exec))
        return false;
    before->whole = exec.whole_io;
    before->children = exec.children;
    before->own = own_of_exec(n->events, n->images->list[index].exec);
    if (!before->whole.known && was_alone(n, index)) {
        before->whole = exec.self;
        counters_add(&before->whole, &exec.own);
    }
    return (before->whole.known & IO_COUNTERS) == IO_COUNTERS;
}

/* The last image: what the life used in all. The ones before: what it had used when the next began. all_threads: none was
 * made that is not among those given. */
static bool fill_counters(struct numbers *n, uint32_t index, struct process *process, struct thread *threads,
                          uint32_t count, bool *all_threads)
{
    const struct life *life = &n->lives->list[n->images->list[index].life];
    struct told told = { 0 };
    struct counters before;
    struct io_before io_before;
    bool is_last = index + 1 == life->image + life->images, exact, known;
    if (is_last) {
        told_read(n->events, life, &told);
        take_main_end(&told, &threads[0]);
        mark(n, index, &told, process);
        known = usage_of_life(n->usage, n->images->list[index].life, &told, &process->counters);
    } else {
        known = read_before(n, index + 1, &process->counters);
        if (count > 1)
            add_up_before_exec(threads, count, &process->counters);
        take_caller(n, index + 1, threads, count);
    }
    *all_threads = !told.has_end || told.end.threads <= count;
    if (told.has_end || told.has_tasks)
        add_up_threads(threads, count, *all_threads, &process->counters);
    if (life->images == 1 && find_io_before(n, index, &io_before))
        io_fill(n->io, n->images->list[index].life, &told, &io_before, &process->counters);
    take_gauges(&threads[0], &process->counters);
    derive_start(n, life, &process->counters);
    struct counters whole_io;
    bool after_threads = is_last && is_after_threads(n, index, &told, &whole_io);
    if (known && find_before(n, index, &before, &exact)) {
        if (after_threads)
            replace(&before, &whole_io);
        subtract_before(&before, told.has_tasks && counters_has(&told.tasks, COUNTER_rssmax), &process->counters);
        subtract_caller(n, index, &before, &threads[0].counters);
        exact = exact && !(process->counters.known & OF_THREADS & ~before.known);
    }
    take_off_own(n, index, after_threads, &process->counters, &threads[0].counters);
    if (is_last && life->images > 1 && find_io_before(n, index, &io_before))
        io_fill(n->io, n->images->list[index].life, &told, &io_before, &process->counters);
    return !known || exact;
}

enum err numbers_fill(struct numbers *n, uint32_t index, struct process *process)
{
    const struct life *life = &n->lives->list[n->images->list[index].life];
    struct thread *threads = n->run->threads + n->run->thread_count;
    uint32_t count = 1;
    enum err err = threads_of(&n->scratch, n->events, life, window_of(n, index), threads, &count);
    if (err)
        return err;
    bool all_threads;
    if (!fill_counters(n, index, process, threads, count, &all_threads))
        process->sources |= USAGE_WITH_OTHERS;
    fill_times(process, &threads[0]);
    process->thread_first = (uint32_t)n->run->thread_count;
    process->thread_count = count;
    perf_fill(n->events, &n->scratch, n->run, all_threads, process);
    if (count > 1)
        n->run->thread_count += count;
    return OK;
}
