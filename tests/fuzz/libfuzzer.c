/* What libFuzzer calls, for the target that the build names. */
#include "fuzz/cost.h"

fuzz_target FUZZ_TARGET;
fuzz_target LLVMFuzzerTestOneInput;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return cost_run(FUZZ_TARGET, data, size);
}
