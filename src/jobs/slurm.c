/* Slurm's folders: in each v1 hierarchy /slurm[_NODE]/uid_U/job_J/step_S, in v2 /system.slice/[NODE_]slurmstepd.scope/
 * job_J/step_S. From 26.05 on the job's folder in v2 has its SLUID as name ('s' and 13 characters in base 32), from which
 * the job's number cannot be told: it is in the title of slurmstepd and in the environment of the job's processes. */
#include "jobs/source.h"

#include "jobs/cgroup_path.h"

#include <string.h>

#define SLUID_SIZE 14

/* "slurm", or "slurm_NODE" where several slurmd share a machine. */
static bool is_top_v1(struct bytes part, struct source_facts *facts)
{
    return path_is(part, "slurm") || (path_cut_front(&part, "slurm_") && path_copy(part, facts->node, sizeof facts->node));
}

static bool is_scope(struct bytes part, struct source_facts *facts)
{
    return path_is(part, "slurmstepd.scope")
           || (path_cut_back(&part, "_slurmstepd.scope") && path_copy(part, facts->node, sizeof facts->node));
}

/* Crockford's base 32, as Slurm prints it: in capitals, without I, L, O and U. */
static bool is_sluid(struct bytes part)
{
    if (part.size != SLUID_SIZE || part.data[0] != 's')
        return false;
    for (size_t i = 1; i < part.size; i++)
        if (!part.data[i] || !strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZ", part.data[i]))
            return false;
    return true;
}

static bool is_job(struct bytes part, struct source_facts *facts)
{
    uint64_t number;
    facts->id_is_other = is_sluid(part);
    if (!facts->id_is_other && !(path_cut_front(&part, "job_") && path_number(part, &number)))
        return false;
    return path_copy(part, facts->id, sizeof facts->id);
}

/* At the job's part: the job, then its step. In v2 the tasks of a step are in "user" below it. */
static enum source_place from_job(const char *at, struct source_facts *facts)
{
    struct bytes part;
    if (!path_next(&at, &part))
        return PLACE_WAY;
    if (!is_job(part, facts))
        return PLACE_NONE;
    if (!*at)
        return PLACE_JOB;
    if (!path_next(&at, &part) || !path_cut_front(&part, "step_") || !path_copy(part, facts->step, sizeof facts->step))
        return PLACE_NONE;
    return !*at || (path_next(&at, &part) && !*at && path_is(part, "user")) ? PLACE_STEP : PLACE_NONE;
}

static bool is_user(struct bytes part, struct source_facts *facts)
{
    uint64_t uid;
    if (!path_cut_front(&part, "uid_") || !path_number(part, &uid) || uid >= UINT32_MAX)
        return false;
    facts->uid = (uint32_t)uid;
    return true;
}

static enum source_place slurm_place(const char *path, struct source_facts *facts)
{
    struct bytes top, second;
    const char *at = path;
    if (!path_next(&at, &top))
        return PLACE_NONE;
    bool unified = path_is(top, "system.slice");
    if (!unified && !is_top_v1(top, facts))
        return PLACE_NONE;
    if (!*at)
        return PLACE_WAY;
    if (!path_next(&at, &second) || !(unified ? is_scope(second, facts) : is_user(second, facts)))
        return PLACE_NONE;
    return *at ? from_job(at, facts) : PLACE_WAY;
}

/* "slurmstepd: [4711.batch]" */
static bool slurm_title(const char *title, char id[ID_MAX])
{
    static const char front[] = "slurmstepd: [";
    if (strncmp(title, front, sizeof front - 1) != 0)
        return false;
    const char *begin = title + sizeof front - 1;
    struct bytes number = { begin, strspn(begin, "0123456789") };
    return number.size && path_copy(number, id, ID_MAX);
}

const struct job_source job_source_slurm = {
    .name = "slurm",
    .about = "Slurm, cgroup v1 and v2, several slurmd on a node, folders with SLUIDs",
    .place = slurm_place,
    .id_variable = "SLURM_JOB_ID",
    .user_variable = "SLURM_JOB_USER",
    .cores_variable = "SLURM_CPUS_ON_NODE",
    .title = slurm_title,
};
