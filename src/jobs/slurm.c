/* Slurm's cgroups: in each v1 hierarchy /slurm[_NODE]/uid_U/job_J/step_S, in v2 /system.slice/[NODE_]slurmstepd.scope/
 * job_J/step_S. Since 26.05 the job's cgroup in v2 is named by its SLUID ('s' and 13 characters in base 32), which does
 * not contain the job number: that is in the title of slurmstepd and in the environment of the job's processes. */
#include "jobs/job_source.h"

#include "jobs/cgroup_path.h"

#include <string.h>

#define SLUID_SIZE 14

/* "slurm", or "slurm_NODE" if several slurmd share a machine. */
static bool is_top_v1(struct bytes part, struct job_source_facts *facts)
{
    return cgroup_path_is(part, "slurm") || (cgroup_path_cut_prefix(&part, "slurm_")
                                             && cgroup_path_copy(part, facts->node, sizeof facts->node));
}

static bool is_scope(struct bytes part, struct job_source_facts *facts)
{
    return cgroup_path_is(part, "slurmstepd.scope")
           || (cgroup_path_cut_suffix(&part, "_slurmstepd.scope")
               && cgroup_path_copy(part, facts->node, sizeof facts->node));
}

/* Crockford's base 32 as printed by Slurm: upper case, without I, L, O and U. */
static bool is_sluid(struct bytes part)
{
    if (part.size != SLUID_SIZE || part.data[0] != 's')
        return false;
    for (size_t i = 1; i < part.size; i++)
        if (!part.data[i] || !strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZ", part.data[i]))
            return false;
    return true;
}

static bool is_job(struct bytes part, struct job_source_facts *facts)
{
    uint64_t number;
    facts->id_is_secondary = is_sluid(part);
    if (!facts->id_is_secondary && !(cgroup_path_cut_prefix(&part, "job_") && cgroup_path_number(part, &number)))
        return false;
    return cgroup_path_copy(part, facts->id, sizeof facts->id);
}

/* Parses the job, then its step. In v2 the tasks of a step are in "user" below it. */
static enum cgroup_kind from_job(const char *at, struct job_source_facts *facts)
{
    struct bytes part;
    if (!cgroup_path_next(&at, &part))
        return CGROUP_PARENT;
    if (!is_job(part, facts))
        return CGROUP_UNRELATED;
    if (!*at)
        return CGROUP_JOB;
    if (!cgroup_path_next(&at, &part) || !cgroup_path_cut_prefix(&part, "step_")
        || !cgroup_path_copy(part, facts->step, sizeof facts->step))
        return CGROUP_UNRELATED;
    return !*at || (cgroup_path_next(&at, &part) && !*at
                    && cgroup_path_is(part, "user")) ? CGROUP_STEP : CGROUP_UNRELATED;
}

static bool is_user(struct bytes part, struct job_source_facts *facts)
{
    uint64_t uid;
    if (!cgroup_path_cut_prefix(&part, "uid_") || !cgroup_path_number(part, &uid) || uid >= UINT32_MAX)
        return false;
    facts->uid = (uint32_t)uid;
    return true;
}

static enum cgroup_kind slurm_place(const char *path, struct job_source_facts *facts)
{
    struct bytes top, second;
    const char *at = path;
    if (!cgroup_path_next(&at, &top))
        return CGROUP_UNRELATED;
    bool unified = cgroup_path_is(top, "system.slice");
    if (!unified && !is_top_v1(top, facts))
        return CGROUP_UNRELATED;
    if (!*at)
        return CGROUP_PARENT;
    if (!cgroup_path_next(&at, &second) || !(unified ? is_scope(second, facts) : is_user(second, facts)))
        return CGROUP_UNRELATED;
    return *at ? from_job(at, facts) : CGROUP_PARENT;
}

/* "slurmstepd: [4711.batch]" */
static bool slurm_title(const char *title, char id[JOB_ID_MAX])
{
    static const char front[] = "slurmstepd: [";
    if (strncmp(title, front, sizeof front - 1) != 0)
        return false;
    const char *begin = title + sizeof front - 1;
    struct bytes number = { begin, strspn(begin, "0123456789") };
    return number.size && cgroup_path_copy(number, id, JOB_ID_MAX);
}

const struct job_source job_source_slurm = {
    .name = "slurm",
    .about = "Slurm, cgroup v1 and v2, several slurmd on a node, SLUIDs",
    .place = slurm_place,
    .id_variable = "SLURM_JOB_ID",
    .user_variable = "SLURM_JOB_USER",
    .cores_variable = "SLURM_CPUS_ON_NODE",
    .title = slurm_title,
};
