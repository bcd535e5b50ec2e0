/* posix_spawn: the child is made inside libc, where no wrapped fork or exec sees it; its parent tells of it. */
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
    struct room room;
    if (!room_take(&room, EMIT_BOUND(0) + record.path.size + 2 * size))
        return;
    record.args = args_copy(argv, (char *)room.data + room.size - size);
    struct packer packer = emit_begin(room.data, room.size);
    record_pack_spawn(&packer, &record);
    emit_end(room.data, &packer, RECORD_KIND_spawn);
    room_give(&room);
}

__attribute__((noinline)) static void tell(pid_t pid, uint64_t time_ns, const char *path, char *const *envp)
{
    char real[ARGS_PATH_MAX];
    struct dark_environment environment = dark_environment(envp);
    struct dark_file file = { 0 };
    if (!probe.filtered && environment.is_ours)
        file = dark_see(path, real);
    dark_tell(pid, time_ns, &environment, &file);
}

static void spawned(pid_t pid, uint64_t time_ns, const char *path, char *const *argv, char *const *envp)
{
    char made[ARGS_PATH_MAX];
    if (probe_mine())
        atomic_fetch_add_explicit(&probe.children, 1, memory_order_relaxed);
    path = args_absolute(made, path);
    if (probe.bell)
        tell(pid, time_ns, path, envp);
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
    if (error == 0 && probe_on())
        spawned(*pid, time_ns, path, argv, envp);
    return error;
}

PROBE_EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                              const posix_spawn_file_actions_t *restrict actions,
                              const posix_spawnattr_t *restrict attributes, char *const *restrict argv,
                              char *const *restrict envp)
{
    pid_t own_pid;
    char made[ARGS_PATH_MAX];
    pid = pid ? pid : &own_pid;
    next_find_first();
    uint64_t time_ns = probe_now_ns();
    int error = NEXT(posix_spawnp)(pid, file, actions, attributes, argv, envp);
    if (error == 0 && probe_on()) {
        const char *path = args_search(made, file);
        spawned(*pid, time_ns, path ? path : file, argv, envp);
    }
    return error;
}
