/* Computes what each image used from what its process instance used: the difference between the values at its start and
 * at its end. */
#include "merge/image_counters.h"

#include "base/clock.h"
#include "merge/perf.h"
#include "merge/probe_overhead.h"

#define BIT(name) (1ull << COUNTER_##name)
#define OF_THREADS (BIT(delayacct_blkio_time) | BIT(guest_time) | BIT(rchar) | BIT(wchar) | BIT(syscr) | BIT(syscw) \
                    | BIT(read_bytes) | BIT(write_bytes) | BIT(cancelled_write_bytes) | BIT(time_oncpu) \
                    | BIT(time_waiting) | BIT(timeslices))

/* The exec record written by the previous image when it exec'd this one. */
static bool read_exec(const struct image_counters *n, uint32_t index, struct exec_record *exec)
{
    uint32_t entry = n->images->list[index].exec;
    return entry != NONE && n->records->list[entry].kind == RECORD_KIND_exec
           && record_unpack_exec(record_index_body(n->records, &n->records->list[entry]), exec) == OK;
}

/* What the pid had used when the image started; false if unknown. */
static bool read_usage_before(const struct image_counters *n, uint32_t index, struct counters *before)
{
    const struct process_image *image = &n->images->list[index];
    struct exec_record exec;
    struct image_record itself;
    if (read_exec(n, index, &exec) && exec.self.known) {
        *before = exec.self;
        usage_take_children(&exec.children, before);
        return true;
    }
    if (image->image != NONE
        && record_unpack_image(record_index_body(n->records, &n->records->list[image->image]), &itself) == OK
        && itself.self.known) {
        *before = itself.self;
        usage_take_children(&itself.children, before);
        return true;
    }
    return false;
}

/* What the process had used when the image started or, if that is unknown, when the nearest earlier image did. In that
 * case *exact is false, because the result includes the images in between. false: nothing to subtract. */
static bool find_usage_before(const struct image_counters *n, uint32_t index, struct counters *before, bool *exact)
{
    const struct process_instance *instance = &n->instances->list[n->images->list[index].instance];
    uint32_t from = index, least = index > instance->first_image + PROCESS_IMAGES_WALK_MAX ? index - PROCESS_IMAGES_WALK_MAX
                    : instance->first_image;
    while (from > least && !read_usage_before(n, from, before))
        from--;
    *exact = from == index;
    return from > least;
}

/* rss_is_own: the peak memory is known for this image alone. */
static void subtract_before(const struct counters *before, bool rss_is_own, struct counters *counters)
{
    usage_subtract(counters, before);
    if (!rss_is_own && counters_get(counters, COUNTER_rssmax) <= counters_get(before, COUNTER_rssmax))
        counters->known &= ~BIT(rssmax); /* the peak was reached by an earlier image */
}

/* The kernel's peak for a pid includes what it had before its exec: the memory of the process that forked it. Only a larger
 * peak is its own. */
static void drop_inherited_rss(const struct image_counters *n, uint32_t index, struct process *process)
{
    const struct process_image *image = &n->images->list[index];
    struct counters before = { 0 };
    if (image->exec == NONE && image->kernel_exec == NONE && image->image == NONE)
        return; /* a copy that never executed anything: its memory is its parent's */
    if (!read_usage_before(n, index, &before) && process->parent != PROCESS_NO_PARENT)
        before = n->run->processes[process->parent].counters;
    if (counters_get(&process->counters, COUNTER_rssmax) <= counters_get(&before, COUNTER_rssmax))
        process->counters.known &= ~BIT(rssmax);
}

static struct threads_window window_of(const struct image_counters *n, uint32_t index)
{
    const struct process_instance *instance = &n->instances->list[n->images->list[index].instance];
    uint32_t exec = n->images->list[index].exec;
    struct threads_window window = { 0, UINT64_MAX, exec == NONE ? 0 : n->records->list[exec].time_ns,
                                     process_image_first_record(n->images, instance,
                                                                index), instance->image_count > PROCESS_IMAGES_WALK_MAX };
    for (int end = 0; end < 2; end++) {
        uint32_t at = index + (uint32_t)end;
        if (at == instance->first_image || at == instance->first_image + instance->image_count)
            continue;
        const struct process_image *image = &n->images->list[at];
        uint32_t entry = image->kernel_exec != NONE ? image->kernel_exec : image->exec;
        entry = image->image != NONE ? image->image : entry;
        uint64_t time_ns = entry == NONE ? image->start_ns : n->records->list[entry].time_ns;
        *(end ? &window.until_ns : &window.from_ns) = time_ns;
    }
    return window;
}

/* Counters that the kernel keeps only per thread: the process gets their sum if all threads have them. */
static void sum_threads(const struct thread *threads, uint32_t count, bool all, struct counters *counters)
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

static void take_main_end(const struct usage_records *reported, struct thread *main_thread)
{
    struct counters exit_record = main_thread->counters;
    if (!reported->has_end)
        return;
    if (!main_thread->name[0])
        threads_set_name(main_thread, reported->end.name);
    threads_join(&main_thread->counters, &reported->end.main, &exit_record);
}

/* Gauges of the process that are read with the main thread's /proc stat line. */
static void take_gauges(const struct thread *main_thread, struct counters *counters)
{
    struct counters gauges = main_thread->counters;
    gauges.known &= BIT(num_threads) | BIT(starttime) | BIT(processor);
    counters_fill(counters, &gauges);
}

/* If the kernel reported the fork, the probe does not read the start time itself. */
static void derive_start(const struct image_counters *n, const struct process_instance *instance, struct counters *counters)
{
    uint64_t boot_ns = n->run->boot_ns;
    if (!counters_has(counters, COUNTER_starttime) && instance->has_exact_start && boot_ns && instance->start_ns > boot_ns)
        counters_set(counters, COUNTER_starttime, (instance->start_ns - boot_ns) / NS_PER_US);
}

static void fill_main_times(const struct process *process, struct thread *main_thread)
{
    main_thread->start_ns = process->start_ns;
    if (!main_thread->end_ns || main_thread->end_ns > process->end_ns)
        main_thread->end_ns = process->end_ns;
}

static void mark_estimates(const struct image_counters *n, uint32_t index, const struct usage_records *reported,
                           struct process *process)
{
    const struct instance_usage *use = &n->usage->list[n->images->list[index].instance];
    bool is_remainder = reported->has_wait && !reported->has_end && !reported->has_tasks;
    if (use->estimated)
        process->sources |= USAGE_ESTIMATED;
    if (use->includes_others && is_remainder)
        process->sources |= USAGE_WITH_OTHERS;
}

/* The last image had one thread and the previous one several: then its /proc/PID/io covers the whole process, including
 * the threads that have exited. */
static bool follows_threaded_image(const struct image_counters *n, uint32_t index,
                                   const struct usage_records *reported, struct counters *whole_io)
{
    struct exec_record exec;
    if (!reported->has_end || reported->end.threads != 1 || !read_exec(n, index, &exec) || !exec.whole_io.known)
        return false;
    for (int i = 0; i < COUNTERS_SIZE; i++) /* same condition as in the probe's end.c */
        if (counters_get(&reported->end.children, (enum counter)i))
            return false;
    *whole_io = exec.whole_io;
    return true;
}

static void subtract_probe_overhead(const struct image_counters *n, uint32_t index, bool after_threads,
                                    struct counters *process,
                         struct counters *main_thread)
{
    const struct process_image *image = &n->images->list[index];
    const struct process_instance *instance = &n->instances->list[image->instance];
    uint32_t first = process_image_first_record(n->images, instance, index > instance->first_image ? index - 1 : index);
    struct overhead_io own = after_threads ? probe_overhead_of_exec(n->records, image->exec)
                                   : probe_overhead_before(n->records, first, image->image, image->exec);
    probe_overhead_subtract(&own, process);
    probe_overhead_subtract(&own, main_thread);
}

static void replace(struct counters *counters, const struct counters *by)
{
    counters->known &= ~by->known;
    counters_fill(counters, by);
}

/* The exec record of image index has the name and usage of the thread that called exec, and marks its end. */
static void take_exec_caller(const struct image_counters *n, uint32_t index, struct thread *threads, uint32_t count)
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

/* What the main thread of an image had already used as the thread that called exec. In the exec record, I/O and time on
 * CPU are those of this thread; everything else is of the whole process, and therefore of the thread only if there was
 * no other. */
static void subtract_exec_caller(const struct image_counters *n, uint32_t index, const struct counters *before,
                            struct counters *main_thread)
{
    struct exec_record exec;
    struct counters own = *before;
    if (read_exec(n, index, &exec) && exec.tid)
        replace(&own, &exec.thread);
    usage_subtract(main_thread, &own);
}

/* The thread that called exec is described in the exec record, all others in their own records. */
static void sum_threads_before_exec(struct thread *threads, uint32_t count, struct counters *counters)
{
    struct thread *caller = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (threads[i].counters.known & OF_THREADS)
            continue;
        if (caller) { /* another thread without counters */
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
    sum_threads(threads, count, true, counters);
}

/* Had no image before this one other threads or waited-for children? Then everything was done by the thread that called
 * exec. */
static bool had_no_other_threads(const struct image_counters *n, uint32_t index)
{
    const struct process_instance *instance = &n->instances->list[n->images->list[index].instance];
    struct exec_record exec = { 0 };
    if (index - instance->first_image > PROCESS_IMAGES_WALK_MAX)
        return false;
    for (uint32_t i = instance->first_image + 1; i <= index; i++)
        if (!read_exec(n, i, &exec) || exec.tid || exec.whole_io.known)
            return false;
    return counters_cpu_us(&exec.children) == 0 && !counters_get(&exec.children, COUNTER_minflt);
}

/* What the process had read and written when its last image started. False: unknown. */
static bool find_io_before(const struct image_counters *n, uint32_t index, struct io_before *before)
{
    const struct process_instance *instance = &n->instances->list[n->images->list[index].instance];
    struct exec_record exec;
    *before = (struct io_before){ 0 };
    if (instance->image_count == 1)
        return true;
    if (!read_exec(n, index, &exec))
        return false;
    before->whole = exec.whole_io;
    before->children = exec.children;
    before->overhead = probe_overhead_of_exec(n->records, n->images->list[index].exec);
    if (!before->whole.known && had_no_other_threads(n, index)) {
        before->whole = exec.self;
        counters_add(&before->whole, &exec.own);
    }
    return (before->whole.known & IO_COUNTERS) == IO_COUNTERS;
}

/* Last image: usage of the whole process instance. Earlier images: what it had used when the next one started.
 * *all_threads: no thread is missing in threads. */
static bool fill_counters(struct image_counters *n, uint32_t index, struct process *process, struct thread *threads,
                          uint32_t count, bool *all_threads)
{
    const struct process_instance *instance = &n->instances->list[n->images->list[index].instance];
    struct usage_records reported = { 0 };
    struct counters before;
    struct io_before io_before;
    bool is_last = index + 1 == instance->first_image + instance->image_count, exact = true, known;
    if (is_last) {
        usage_records_read(n->records, instance, &reported);
        take_main_end(&reported, &threads[0]);
        mark_estimates(n, index, &reported, process);
        known = usage_of_instance(n->usage, n->images->list[index].instance, &reported, &process->counters);
    } else {
        known = read_usage_before(n, index + 1, &process->counters);
        if (count > 1)
            sum_threads_before_exec(threads, count, &process->counters);
        take_exec_caller(n, index + 1, threads, count);
    }
    *all_threads = !reported.has_end || reported.end.threads <= count;
    if (reported.has_end || reported.has_tasks)
        sum_threads(threads, count, *all_threads, &process->counters);
    if (instance->image_count == 1 && find_io_before(n, index, &io_before))
        io_with_children_fill(n->io, n->images->list[index].instance, &reported, &io_before, &process->counters);
    take_gauges(&threads[0], &process->counters);
    derive_start(n, instance, &process->counters);
    struct counters whole_io;
    bool after_threads = is_last && follows_threaded_image(n, index, &reported, &whole_io);
    if (known && find_usage_before(n, index, &before, &exact)) {
        if (after_threads)
            replace(&before, &whole_io);
        subtract_before(&before, usage_records_have_own_rss(&reported), &process->counters);
        subtract_exec_caller(n, index, &before, &threads[0].counters);
        exact = exact && !(process->counters.known & OF_THREADS & ~before.known);
    }
    subtract_probe_overhead(n, index, after_threads, &process->counters, &threads[0].counters);
    if (is_last && instance->image_count > 1 && find_io_before(n, index, &io_before))
        io_with_children_fill(n->io, n->images->list[index].instance, &reported, &io_before, &process->counters);
    if (!usage_records_have_own_rss(&reported)) /* also if it is not the last image */
        drop_inherited_rss(n, index, process);
    return !known || exact;
}

enum err image_counters_fill(struct image_counters *n, uint32_t index, struct process *process)
{
    const struct process_instance *instance = &n->instances->list[n->images->list[index].instance];
    struct thread *threads = n->run->threads + n->run->thread_count;
    uint32_t count = 1;
    enum err err = threads_of(&n->scratch, n->records, instance, window_of(n, index), threads, &count);
    if (err)
        return err;
    bool all_threads;
    if (!fill_counters(n, index, process, threads, count, &all_threads))
        process->sources |= USAGE_WITH_OTHERS;
    fill_main_times(process, &threads[0]);
    process->thread_first = (uint32_t)n->run->thread_count;
    process->thread_count = count;
    perf_fill(n->records, &n->scratch, n->run, all_threads, process);
    if (count > 1)
        n->run->thread_count += count;
    return OK;
}
