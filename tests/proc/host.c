/* Facts of captured nodes and of this one. */
#include "proc/host.h"

#include "tools/node.h"
#include "tools/unit.h"

#include <sys/utsname.h>
#include <unistd.h>

static void a_captured_node_is_read(void **state)
{
    (void)state;
    struct host_facts facts;
    host_read(node_root("big"), &facts);
    assert_string_equal(facts.name, "node0128.cluster.example");
    assert_string_equal(facts.kernel, "5.14.0-427.el9.x86_64");
    assert_string_equal(facts.cpu_model, "AMD EPYC 7763 64-Core Processor");
    assert_int_equal(facts.cores, 128);
    assert_int_equal(facts.memory_bytes, 1056563004ull * 1024);
    struct host host = host_from_facts(&facts);
    assert_bytes(host.kernel, "5.14.0-427.el9.x86_64");
    assert_int_equal(host.cores, 128);
}

static void unreadable_facts_are_unknown(void **state)
{
    (void)state;
    struct host_facts facts;
    host_read("/nonexistent", &facts);
    assert_string_equal(facts.name, "");
    assert_string_equal(facts.cpu_model, "");
    assert_int_equal(facts.cores, 0);
    assert_int_equal(host_from_facts(&facts).name.size, 0);
}

static void this_node_agrees_with_its_system_calls(void **state)
{
    (void)state;
    struct host_facts facts;
    struct utsname uts;
    host_read("", &facts);
    uname(&uts);
    assert_string_equal(facts.name, uts.nodename);
    assert_string_equal(facts.kernel, uts.release);
    assert_int_equal(facts.cores, sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_node_is_read),
        cmocka_unit_test(unreadable_facts_are_unknown),
        cmocka_unit_test(this_node_agrees_with_its_system_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
