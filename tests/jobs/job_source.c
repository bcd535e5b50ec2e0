/* Classification of cgroup names of each batch system. */
#include "jobs/job_source.h"
#include "tools/unit.h"

static const struct source_case {
    const char *path;
    enum cgroup_kind place;
    const char *source, *id, *node, *user, *step;
    uint32_t uid;
    bool id_is_secondary;
} cases[] = {
#define NOBODY UINT32_MAX
    /* Slurm, v1 */
    { "/slurm", CGROUP_PARENT, "slurm", "", "", "", "", NOBODY, false },
    { "/slurm_c1", CGROUP_PARENT, "slurm", "", "c1", "", "", NOBODY, false },
    { "/slurm/uid_1000", CGROUP_PARENT, "slurm", "", "", "", "", 1000, false },
    { "/slurm/uid_1000/job_4711", CGROUP_JOB, "slurm", "4711", "", "", "", 1000, false },
    { "/slurm_c1/uid_0/job_4711/step_batch", CGROUP_STEP, "slurm", "4711", "c1", "", "batch", 0, false },
    { "/slurm/uid_1000/job_4711/step_0/task_0", CGROUP_UNRELATED, NULL },
    { "/slurm/system", CGROUP_UNRELATED, NULL },
    { "/slurm/uid_x/job_1", CGROUP_UNRELATED, NULL },
    { "/slurm/uid_99999999999/job_1", CGROUP_UNRELATED, NULL },
    { "/slurm/uid_1000/job_", CGROUP_UNRELATED, NULL },
    { "/slurm/uid_1000/job_12x", CGROUP_UNRELATED, NULL },
    { "/slurm_", CGROUP_UNRELATED, NULL },
    /* Slurm, v2 */
    { "/system.slice", CGROUP_PARENT, "slurm", "", "", "", "", NOBODY, false },
    { "/system.slice/slurmstepd.scope", CGROUP_PARENT, "slurm", "", "", "", "", NOBODY, false },
    { "/system.slice/c1_slurmstepd.scope", CGROUP_PARENT, "slurm", "", "c1", "", "", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7", CGROUP_JOB, "slurm", "7", "", "", "", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7/step_0", CGROUP_STEP, "slurm", "7", "", "", "0", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7/step_0/user", CGROUP_STEP, "slurm", "7", "", "", "0", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7/step_0/slurm", CGROUP_UNRELATED, NULL },
    { "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", CGROUP_UNRELATED, NULL },
    { "/system.slice/slurmstepd.scope/system", CGROUP_UNRELATED, NULL },
    { "/system.slice/sshd.service", CGROUP_UNRELATED, NULL },
    { "/system.slice/slurmd.service", CGROUP_UNRELATED, NULL },
    /* Slurm from 26.05 on */
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV500", CGROUP_JOB, "slurm", "sEKNKTV3WPV500", "", "", "", NOBODY, true },
    { "/system.slice/c2_slurmstepd.scope/s5K1KKYAYG5D00/step_extern", CGROUP_STEP, "slurm", "s5K1KKYAYG5D00", "c2", "",
      "extern", NOBODY, true },
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV50", CGROUP_UNRELATED, NULL },   /* too short */
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV5000", CGROUP_UNRELATED, NULL }, /* too long */
    { "/system.slice/slurmstepd.scope/seknktv3wpv500", CGROUP_UNRELATED, NULL },
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV50U", CGROUP_UNRELATED, NULL }, /* not a digit of base 32 */
    /* OAR 2 */
    { "/oar", CGROUP_PARENT, "oar", "", "", "", "", NOBODY, false },
    { "/oar/anna_4711", CGROUP_JOB, "oar", "4711", "", "anna", "", NOBODY, false },
    { "/oar/ben_b_4711", CGROUP_JOB, "oar", "4711", "", "ben_b", "", NOBODY, false },
    { "/oar/anna", CGROUP_UNRELATED, NULL },
    { "/oar/_4711", CGROUP_UNRELATED, NULL },
    { "/oar/anna_4711/x", CGROUP_UNRELATED, NULL },
    /* OAR 3 */
    { "/oar.slice", CGROUP_PARENT, "oar", "", "", "", "", NOBODY, false },
    { "/oar.slice/oar-u1000.slice", CGROUP_PARENT, "oar", "", "", "", "", 1000, false },
    { "/oar.slice/oar-u1000.slice/oar-u1000-j45670.slice", CGROUP_JOB, "oar", "45670", "", "", "", 1000, false },
    { "/oar.slice/oar-u1000.slice/oar-u1000-j45670.slice/oar-u1000-j45670-s2101.scope", CGROUP_STEP, "oar", "45670", "", "",
      "2101", 1000, false },
    { "/oar.slice/oar-1000.slice/oar-1000-j45670.slice", CGROUP_JOB, "oar", "45670", "", "", "", 1000, false },
    { "/oar.slice/anna_45670.scope", CGROUP_JOB, "oar", "45670", "", "anna", "", NOBODY, false },
    { "/oar.slice/oar-ux.slice", CGROUP_UNRELATED, NULL },
    { "/oar.slice/oar-u1000.slice/oar-u1000.slice", CGROUP_UNRELATED, NULL },
    /* PBS */
    { "/pbs_jobs.service", CGROUP_PARENT, "pbs", "", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobid", CGROUP_PARENT, "pbs", "", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobid/4711.head", CGROUP_JOB, "pbs", "4711.head", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobs/4711[3].head", CGROUP_JOB, "pbs", "4711[3].head", "", "", "", NOBODY, false },
    { "/pbspro.slice/pbspro-4711.head.slice", CGROUP_JOB, "pbs", "4711.head", "", "", "", NOBODY, false },
    { "/pbspro.slice/pbspro-4711\\x5b3\\x5d.head.slice", CGROUP_JOB, "pbs", "4711[3].head", "", "", "", NOBODY, false },
    { "/torque/4711.head", CGROUP_JOB, "pbs", "4711.head", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobid/leaf", CGROUP_UNRELATED, NULL },
    { "/pbspro.slice/pbspro-4711\\x07.slice", CGROUP_UNRELATED, NULL },
    { "/pbs_jobs.service/other", CGROUP_UNRELATED, NULL },
    /* Unrelated */
    { "", CGROUP_UNRELATED, NULL },
    { "/", CGROUP_UNRELATED, NULL },
    { "slurm", CGROUP_UNRELATED, NULL },
    { "/user.slice", CGROUP_UNRELATED, NULL },
    { "/slurm//job_1", CGROUP_UNRELATED, NULL },
};

static void paths_are_classified(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source_case *c = &cases[i];
        const struct job_source *source;
        struct job_source_facts facts;
        enum cgroup_kind place = job_source_classify(c->path, &source, &facts);
        if (place != c->place)
            fail_msg("%s is %d, not %d", c->path, (int)place, (int)c->place);
        if (place == CGROUP_UNRELATED) {
            assert_null(source);
            continue;
        }
        assert_string_equal(source->name, c->source);
        if (strcmp(facts.id, c->id) || strcmp(facts.node, c->node) || strcmp(facts.user, c->user)
            || strcmp(facts.step, c->step) || facts.uid != c->uid || facts.id_is_secondary != c->id_is_secondary)
            fail_msg("%s: id %s node %s user %s step %s uid %u", c->path, facts.id, facts.node, facts.user, facts.step,
                     facts.uid);
    }
}

static void the_title_of_slurmstepd_has_the_id(void **state)
{
    (void)state;
    char id[JOB_ID_MAX] = "";
    assert_true(job_source_slurm.title("slurmstepd: [3385.batch]", id));
    assert_string_equal(id, "3385");
    assert_true(job_source_slurm.title("slurmstepd: [40555]", id));
    assert_string_equal(id, "40555");
    assert_false(job_source_slurm.title("slurmstepd: []", id));
    assert_false(job_source_slurm.title("/usr/sbin/slurmstepd infinity", id));
    assert_false(job_source_slurm.title("", id));
}

static void a_list_of_sources_is_a_set(void **state)
{
    (void)state;
    static const struct { const char *text, *written; } lists[] = {
        { "all", "all" }, { "none", "none" }, { "", "none" }, { "oar, slurm", "slurm,oar" },
        { "pbs,pbs", "pbs" }, { "pbs,all", "all" },
    };
    char unknown[JOB_SOURCE_NAME_MAX];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct buf out;
        uint32_t sources = 7;
        buf_init(&out, 64);
        assert_int_equal(job_sources_parse(lists[i].text, &sources, unknown), OK);
        job_sources_write(&out, sources);
        assert_string_equal(buf_text(&out), lists[i].written);
        buf_clear(&out);
    }
    uint32_t sources = 5;
    assert_int_equal(job_sources_parse("slurm,lsf", &sources, unknown), USAGE);
    assert_string_equal(unknown, "lsf");
    assert_int_equal(sources, 5);
    assert_true(job_sources_have(1, &job_source_slurm));
    assert_false(job_sources_have(1, &job_source_oar));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_classified),
        cmocka_unit_test(the_title_of_slurmstepd_has_the_id),
        cmocka_unit_test(a_list_of_sources_is_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
