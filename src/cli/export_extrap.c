/* Turns operands into measurements: a path or existing file is a tau profile or a directory of them, anything else a
 * job id. */
#include "cli/export_extrap.h"

#include "base/log.h"
#include "report/extrap.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_CAPACITY 4096
#define DEPTH_MAX 4

struct exporting {
    const struct command_call *call;
    struct extrap extrap;
    struct store *store; /* NULL: not open yet */
    size_t skipped;
};

static enum err skip(struct exporting *exporting, const char *what, const char *name, const char *error)
{
    if (error) {
        log_warn("%s %s skipped: %s", what, name, error);
        exporting->skipped++;
    }
    return OK;
}

static enum err add_file(struct exporting *exporting, const char *path)
{
    struct tau_profile profile;
    const char *error = NULL;
    enum err err = tau_profile_load(&profile, path);
    if (err && err != NOMEM) {
        error = err == CORRUPT ? "not a tau profile" : err_text(err);
        err = OK;
    } else if (!err) {
        err = extrap_add_profile(&exporting->extrap, &profile, &error);
    }
    tau_profile_clear(&profile);
    return err ? err : skip(exporting, "file", path, error);
}

static bool is_profile(const char *name)
{
    size_t size = strlen(name);
    return size > 8 && strcmp(name + size - 8, ".profile") == 0;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* All *.profile files below path. */
static enum err add_directory(struct exporting *exporting, const char *path, int depth)
{
    DIR *dir = opendir(path);
    enum err err = OK;
    if (!dir)
        return skip(exporting, "directory", path, "cannot be read");
    for (const struct dirent *entry; !err && (entry = readdir(dir));) {
        char below[PATH_CAPACITY];
        if (entry->d_name[0] == '.' || snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below)
            continue;
        if (is_profile(entry->d_name))
            err = add_file(exporting, below);
        else if (depth < DEPTH_MAX && is_directory(below))
            err = add_directory(exporting, below, depth + 1);
    }
    closedir(dir);
    return err;
}

static enum err add_job(void *context, const struct store_job *job)
{
    struct exporting *exporting = context;
    const char *error = NULL;
    enum err err = extrap_add_job(&exporting->extrap, exporting->store, job, &error);
    return err ? err : skip(exporting, "job", job->job_id, error);
}

static bool open_store(struct exporting *exporting)
{
    return exporting->store || command_store_open(exporting->call, STORE_READ, &exporting->store);
}

/* USAGE: an error has been printed. */
static enum err add_named(struct exporting *exporting, const char *id)
{
    struct store_job job;
    if (!open_store(exporting) || !command_store_job(exporting->call, exporting->store, id, &job))
        return USAGE;
    enum err err = add_job(exporting, &job);
    store_job_clear(&job);
    return err;
}

struct ids {
    const char *name;
    struct buf list; /* NUL after each */
};

/* Names may contain characters that a filter takes for a pattern, so they are compared here. */
static enum err take_id(void *context, const struct store_job *job)
{
    struct ids *ids = context;
    if (strcmp(job->name ? job->name : "", ids->name) == 0)
        buf_add(&ids->list, job->job_id, strlen(job->job_id) + 1);
    return buf_err(&ids->list);
}

static enum err add_same_name(struct exporting *exporting)
{
    struct store_job last;
    struct ids ids;
    if (!open_store(exporting) || !command_store_job(exporting->call, exporting->store, NULL, &last))
        return USAGE;
    ids.name = last.name ? last.name : "";
    buf_init(&ids.list, 64u << 20);
    enum err err = store_jobs(exporting->store, &(struct store_filter){ .brief = true }, take_id, &ids);
    for (size_t at = 0; at < ids.list.size && !err; at += strlen(ids.list.data + at) + 1)
        err = add_named(exporting, ids.list.data + at);
    buf_clear(&ids.list);
    store_job_clear(&last);
    return err;
}

static enum err add_operand(struct exporting *exporting, const char *operand)
{
    if (is_directory(operand))
        return add_directory(exporting, operand, 0);
    if (strchr(operand, '/') || (is_profile(operand) && access(operand, F_OK) == 0))
        return add_file(exporting, operand);
    return add_named(exporting, operand);
}

static int write_all(struct exporting *exporting, const char *output, bool has_callpath)
{
    struct output stream;
    if (!exporting->extrap.count)
        return command_fail(exporting->call, "nothing to export%s",
                            exporting->skipped ? ": all were skipped" : ": no job and no profile found");
    enum err err = output_open(&stream, output);
    if (!err)
        err = extrap_write(&exporting->extrap, &stream, has_callpath);
    output_close(&stream);
    if (err && err != GONE)
        return command_fail(exporting->call, "cannot write to %s: %s", output ? output : "standard output",
                            err_text(err));
    return EXIT_GOOD;
}

int export_extrap(const struct command_call *call, const char *output, bool has_callpath)
{
    struct exporting exporting = { .call = call };
    enum err err = call->count ? OK : add_same_name(&exporting);
    int status;
    for (int i = 0; i < call->count && !err; i++)
        err = add_operand(&exporting, call->operands[i]);
    if (err == USAGE)
        status = EXIT_FAILED;
    else if (err)
        status = command_fail(call, "cannot read the jobs: %s%s%s", err_text(err), exporting.store ? ": " : "",
                              exporting.store ? store_message(exporting.store) : "");
    else
        status = write_all(&exporting, output, has_callpath);
    extrap_clear(&exporting.extrap);
    store_close(&exporting.store);
    return status;
}
