/* Starts the probe: reads its settings from the environment and records the process image. */
#include "probe/process/probe.h"

#include "appmetrics/segment_format.h"
#include "spool/spool.h"

#include <linux/seccomp.h> /* return values of PR_GET_SECCOMP */
#include <link.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

struct probe probe;

/* musl does not have it, and refuses to start a program with unresolved symbols. */
#pragma weak on_exit

struct probe_settings {
    const char *spool, *tags, *tags_papiex, *events, *socket, *segment_dir;
    char *flags; /* NULL: none */
};

static void setting_read(struct probe_settings *settings, char *text)
{
    char *value;
    if ((value = PROBE_ENV_VALUE(text, PROBE_ENV_SPOOL)))
        settings->spool = value;
    else if ((value = PROBE_ENV_VALUE(text, PROBE_ENV_FLAGS)))
        settings->flags = value;
    else if ((value = PROBE_ENV_VALUE(text, PROBE_ENV_EVENTS)))
        settings->events = value;
    else if ((value = PROBE_ENV_VALUE(text, PROBE_ENV_SOCKET)))
        settings->socket = value;
    else if ((value = PROBE_ENV_VALUE(text, SEGMENT_ENV_DIR)))
        settings->segment_dir = value;
    else if ((value = PROBE_ENV_VALUE(text, PROBE_TAGS)))
        settings->tags = value;
    else if ((value = PROBE_ENV_VALUE(text, PROBE_TAGS_PAPIEX)))
        settings->tags_papiex = value;
}

/* All variables we want start with SON or PAP: the rest of a large environment costs three bytes each. */
static struct probe_settings settings_read(char **envp)
{
    struct probe_settings settings = { .tags = "", .tags_papiex = "" };
    for (; *envp; envp++) {
        char *text = *envp;
        if ((text[0] == 'S' && text[1] == 'O' && text[2] == 'N') || (text[0] == 'P' && text[1] == 'A' && text[2] == 'P'))
            setting_read(&settings, text);
    }
    return settings;
}

/* The auxiliary vector follows the environment. Not getauxval: a symbol lookup takes a microsecond. In set-uid
 * programs, where the loader has removed variables from the environment, nothing is found here. */
static struct probe_auxv auxv_read(char **envp)
{
    struct probe_auxv auxv = { .is_secure = true, .ticks_per_s = 100 };
    while (*envp)
        envp++;
    for (const ElfW(auxv_t) *at = (const void *)(envp + 1); at->a_type != AT_NULL; at++) {
        switch (at->a_type) {
        case AT_SECURE: auxv.is_secure = at->a_un.a_val; break;
        case AT_BASE: auxv.has_loader = at->a_un.a_val; break;
        case AT_EXECFN: auxv.name = (const char *)at->a_un.a_val; break;
        case AT_PHDR: auxv.parts = (const void *)at->a_un.a_val; break;
        case AT_PHNUM: auxv.part_count = at->a_un.a_val; break;
        case AT_UID: auxv.uid = at->a_un.a_val; break;
        case AT_CLKTCK: auxv.ticks_per_s = at->a_un.a_val; break;
        default: break;
        }
    }
    return auxv;
}

static struct bytes cwd_read(char *to)
{
    long size = sys2(SYS_getcwd, to, PATH_MAX); /* includes the NUL; "(unreachable)…" if outside our root */
    return (struct bytes){ to, size > 1 && to[0] == '/' ? (size_t)size - 1 : 0 };
}

static enum err image_pack(const struct image_record *record, struct emit_buffer *buffer, int fd)
{
    struct packer packer = emit_begin(buffer->data, buffer->size);
    record_pack_image(&packer, record);
    return emit_end_close(buffer->data, &packer, RECORD_KIND_image, fd);
}

/* fd: the spool's, or -errno; closed here. */
static enum err image_emit(int argc, char **argv, const struct probe_auxv *auxv,
                           const struct probe_settings *settings, int fd)
{
    char paths[2 * PATH_MAX]; /* contiguous, so that they usually share a page of the stack */
    struct bytes path = exe_read(paths, argv, auxv);
    struct image_record record = {
        .pid = (uint64_t)probe.pid,
        .ppid = (uint64_t)sys0(SYS_getppid),
        .pgid = (uint64_t)sys1(SYS_getpgid, 0),
        .sid = (uint64_t)sys1(SYS_getsid, 0),
        .uid = auxv->uid,
        .start_ticks = probe.start_ticks,
        .time_ns = probe_now_ns(),
        .path = path,
        .cwd = cwd_read(paths + path.size),
        .args = args_block(argc, argv),
    };
    read_usage(&record.self, RUSAGE_SELF);
    read_usage(&record.children, RUSAGE_CHILDREN);

    size_t tags_size = args_tags_size(settings->tags, settings->tags_papiex);
    size_t copied_size = record.args.data ? 0 : args_size(argv);
    struct emit_buffer buffer;
    if (!emit_buffer_alloc(&buffer,
                           EMIT_BOUND(2) + record.path.size + record.cwd.size + record.args.size + 2 * copied_size +
                              2 * tags_size)) {
        sys_close(fd);
        return NOMEM;
    }
    char *tail = (char *)buffer.data + buffer.size - tags_size; /* strings packed into the frame may be stored after it */
    record.tags = args_tags(settings->tags, settings->tags_papiex, tail);
    if (!record.args.data)
        record.args = args_copy(argv, tail - copied_size);
    enum err err = image_pack(&record, &buffer, fd);
    emit_buffer_free(&buffer);
    return err;
}

static uint64_t number_of(const char *digits)
{
    uint64_t number = 0;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        number = 10 * number + (uint64_t)(*digits - '0');
    return number;
}

static char *find_flag(const struct probe_settings *settings, char flag)
{
    return settings->flags ? strchr(settings->flags, flag) : NULL;
}

/* Is this process in a different pid namespace from sonde run, where that matters? Looking in /proc took 15 us, so
 * first check the pid under which we see the holder of the spool's lock. */
static bool is_in_other_namespace(const struct probe_settings *settings, int fd)
{
    const char *run_namespace = find_flag(settings, PROBE_FLAG_NAMESPACE), *holder = find_flag(settings,
                                                                                               PROBE_FLAG_LOCK_HOLDER);
    struct stat st;
    pid_t pid;
    if (!run_namespace)
        return false;
    if (holder && spool_holder(fd, &pid) == OK)
        return (uint64_t)pid != number_of(holder + 1);
    return sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) == 0 && st.st_ino != number_of(run_namespace + 1);
}

/* Something the process that executed this image has done for it. The flag is removed, since it is valid for one
 * exec only. */
static bool take_flag(const struct probe_settings *settings, char flag)
{
    char *found = find_flag(settings, flag);
    if (!found)
        return false;
    *found = '\0';
    return number_of(found + 1) == (uint64_t)sys_getpid();
}

static void count_image(const struct probe_settings *settings)
{
    perf_start(settings->events, settings->socket);
    if (!take_flag(settings, PROBE_FLAG_COUNTED))
        perf_open_image();
}

static void set_batch_dir(const struct probe_settings *settings)
{
    const char *dir = find_flag(settings, PROBE_FLAG_BATCHES) ? settings->segment_dir : NULL;
    if (dir && strlen(dir) < sizeof probe.batch_dir)
        memcpy(probe.batch_dir, dir, strlen(dir) + 1);
}

/* Once per process: applies the flags and paths from the environment. False: the probe stays inactive. */
static bool settings_apply(const struct probe_settings *settings)
{
    size_t size = settings->spool ? strlen(settings->spool) + 1 : 0;
    if (size < 2 || size > sizeof probe.spool || settings->spool[0] != '/')
        return false;
    memcpy(probe.spool, settings->spool, size); /* a copy, because programs overwrite their environment */
    set_batch_dir(settings);
    probe.has_taskstats = find_flag(settings, PROBE_FLAG_TASKSTATS);
    probe.has_delay_accounting = find_flag(settings, PROBE_FLAG_DELAYS);
    probe.has_notices = find_flag(settings, PROBE_FLAG_NOTICES);
    probe.is_in_run_namespace = find_flag(settings, PROBE_FLAG_NAMESPACE);
    probe.has_seccomp = find_flag(settings, PROBE_FLAG_SECCOMP);
    return probe.has_seccomp || sys1(SYS_prctl, PR_GET_SECCOMP) != SECCOMP_MODE_FILTER;
}

static void on_end(int status, void *nothing)
{
    (void)nothing;
    end_emit(status, true);
}

/* What the loader read to load this library: one ELF header block, in one call. */
#define LOADER_READ 832

static void init_self(const struct probe_auxv *auxv)
{
    struct counters usage = { 0 };
    probe.pid = sys_getpid();
    probe.main_thread = probe_thread();
    probe.ticks_per_s = auxv->ticks_per_s;
    if (!probe.has_taskstats) /* else the kernel's exit record has the peak memory of the last image */
        read_usage(&usage, RUSAGE_SELF);
    probe.rss_before_kb = counters_get(&usage, COUNTER_rssmax);
    emit_add_overhead((struct probe_overhead){ .rchar = LOADER_READ, .syscr = 1 });
}

/* False: there is no spool for us. */
static bool record_image(int argc, char **argv, const struct probe_auxv *auxv, const struct probe_settings *settings)
{
    int fd = spool_append_open(probe.spool);
    if (is_in_other_namespace(settings, fd)) {
        sys_close(fd);
        return false;
    }
    init_self(auxv);
    struct read_stat stat;
    /* else the kernel has reported the start time */
    if (!probe.is_in_run_namespace && read_stat(&stat, AT_FDCWD, "/proc/self/stat"))
        probe.start_ticks = stat.field[STAT_START];
    enum err err = image_emit(argc, argv, auxv, settings, fd);
    return err == OK || err == FULL || err == NOMEM || err == NOFILES;
}

static bool begin_image(int argc, char **argv, const struct probe_auxv *auxv, const struct probe_settings *settings)
{
    if (!take_flag(settings, PROBE_FLAG_RECORDED))
        return record_image(argc, argv, auxv, settings);
    init_self(auxv);
    return true;
}

/* Other C libraries may load the probe too (musl, in a container that shares our environment and directories). They
 * pass neither arguments nor environment to constructors. Then the wrapped functions only forward to the real ones. */
static bool is_our_libc(void)
{
    return on_exit != NULL;
}

__attribute__((constructor)) static void process_start(int argc, char **argv, char **envp)
{
    probe.is_started = true;
    if (!is_our_libc() || next_needs_libdl())
        next_find_first();
    if (!is_our_libc())
        return;
    struct probe_settings settings = settings_read(envp);
    struct probe_auxv auxv = auxv_read(envp);
    probe.is_active = !auxv.is_secure && settings_apply(&settings) && begin_image(argc, argv, &auxv, &settings);
    if (probe.is_active) {
        unprobed_notify_self(&auxv);
        on_exit(on_end, NULL);
        if (settings.events)
            count_image(&settings);
    } else {
        next_find_first(); /* our fork wrapper will not do it */
    }
}
