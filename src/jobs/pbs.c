/* The cgroups of PBS Pro and OpenPBS (the cgroups hook): /pbs_jobs.service/jobid/ID in v1, /pbs_jobs.service/jobs/ID in
 * v2, and the systemd slices /pbspro.slice/pbspro-ID.slice of older versions; of Torque: /torque/ID. An id is a number
 * and the server's name ("4711.head", "4711[3].head"), as in PBS_JOBID. */
#include "jobs/job_source.h"

#include "jobs/cgroup_path.h"

#include <string.h>

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int hex(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* systemd escapes special characters in unit names as \x5b. */
static bool unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; out++) {
        if (in[0] == '\\' && in[1] == 'x' && is_hex(in[2]) && is_hex(in[3])) {
            *out = (char)(hex(in[2]) << 4 | hex(in[3]));
            in += 4;
        } else {
            *out = *in++;
        }
        if ((unsigned char)*out < ' ' || *out == 0x7f)
            return false;
    }
    *out = '\0';
    return true;
}

/* Every id begins with a digit; directories of the hook itself do not. */
static enum cgroup_kind job_named(struct bytes part, struct job_source_facts *facts)
{
    if (part.data[0] < '0' || part.data[0] > '9' || !cgroup_path_copy(part, facts->id, sizeof facts->id)
        || !unescape(facts->id))
        return CGROUP_UNRELATED;
    return CGROUP_JOB;
}

static enum cgroup_kind in_service(const char *at, struct job_source_facts *facts)
{
    struct bytes part;
    if (!cgroup_path_next(&at, &part) || (!cgroup_path_is(part, "jobid") && !cgroup_path_is(part, "jobs")))
        return CGROUP_UNRELATED;
    if (!*at)
        return CGROUP_PARENT;
    return cgroup_path_next(&at, &part) && !*at ? job_named(part, facts) : CGROUP_UNRELATED;
}

static enum cgroup_kind in_slice(const char *at, struct job_source_facts *facts)
{
    struct bytes part;
    if (!cgroup_path_next(&at, &part) || *at || !cgroup_path_cut_prefix(&part, "pbspro-")
        || !cgroup_path_cut_suffix(&part, ".slice"))
        return CGROUP_UNRELATED;
    return job_named(part, facts);
}

static enum cgroup_kind pbs_place(const char *path, struct job_source_facts *facts)
{
    struct bytes top, part;
    const char *at = path;
    if (!cgroup_path_next(&at, &top))
        return CGROUP_UNRELATED;
    bool service = cgroup_path_is(top, "pbs_jobs.service"), slice = cgroup_path_is(top, "pbspro.slice");
    bool torque = cgroup_path_is(top, "torque");
    if (!service && !slice && !torque)
        return CGROUP_UNRELATED;
    if (!*at)
        return CGROUP_PARENT;
    if (torque)
        return cgroup_path_next(&at, &part) && !*at ? job_named(part, facts) : CGROUP_UNRELATED;
    return service ? in_service(at, facts) : in_slice(at, facts);
}

const struct job_source job_source_pbs = {
    .name = "pbs",
    .about = "PBS Pro, OpenPBS, Torque",
    .place = pbs_place,
    .id_variable = "PBS_JOBID",
};
