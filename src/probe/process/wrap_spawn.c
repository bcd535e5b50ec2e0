/* posix_spawn creates the child inside libc, past the fork and exec wrappers: the parent writes its record. */
#include "probe/process/probe.h"

#include <spawn.h>

static void spawn_write(pid_t pid, uint64_t time_ns, const char *path, char *const *argv)
{
    struct spawn_record record = {
        .pid = (uint64_t)pid,
        .ppid = (uint64_t)sys_getpid(),
        .time_ns = time_ns,
        .path = { path, strlen(path) },
    };
    size_t size = args_size(argv);
    struct emit_buffer buffer;
    if (!emit_buffer_alloc(&buffer, EMIT_BOUND(0) + record.path.size + 2 * size))
        return;
    record.args = args_copy(argv, (char *)buffer.data + buffer.size - size);
    struct packer packer = emit_begin(buffer.data, buffer.size);
    record_pack_spawn(&packer, &record);
    emit_end(buffer.data, &packer, RECORD_KIND_spawn);
    emit_buffer_free(&buffer);
}

__attribute__((noinline)) static void notify(pid_t pid, uint64_t time_ns, const char *path, char *const *envp)
{
    char real[ARGS_PATH_MAX];
    struct exec_environment environment = unprobed_scan_environment(envp);
    struct exec_file file = { 0 };
    if (!probe.has_seccomp && environment.is_ours)
        file = unprobed_check_file(path, real);
    unprobed_notify(pid, time_ns, &environment, &file);
}

static void on_spawned(pid_t pid, uint64_t time_ns, const char *path, char *const *argv, char *const *envp)
{
    char absolute[ARGS_PATH_MAX];
    if (probe_is_own_process())
        atomic_fetch_add_explicit(&probe.children, 1, memory_order_relaxed);
    path = args_absolute(absolute, path);
    if (probe.has_notices)
        notify(pid, time_ns, path, envp);
    spawn_write(pid, time_ns, path, argv);
}

PROBE_EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
                             const posix_spawn_file_actions_t *restrict actions,
                             const posix_spawnattr_t *restrict attributes, char *const *restrict argv,
                             char *const *restrict envp)
{
    pid_t own_pid;
    pid = pid ? pid : &own_pid;
    next_find_first();
    uint64_t time_ns = probe_now_ns();
    int error = NEXT(posix_spawn)(pid, path, actions, attributes, argv, envp);
    if (error == 0 && probe_is_active())
        on_spawned(*pid, time_ns, path, argv, envp);
    return error;
}

PROBE_EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                              const posix_spawn_file_actions_t *restrict actions,
                              const posix_spawnattr_t *restrict attributes, char *const *restrict argv,
                              char *const *restrict envp)
{
    pid_t own_pid;
    char absolute[ARGS_PATH_MAX];
    pid = pid ? pid : &own_pid;
    next_find_first();
    uint64_t time_ns = probe_now_ns();
    int error = NEXT(posix_spawnp)(pid, file, actions, attributes, argv, envp);
    if (error == 0 && probe_is_active()) {
        const char *path = args_search(absolute, file);
        on_spawned(*pid, time_ns, path ? path : file, argv, envp);
    }
    return error;
}
