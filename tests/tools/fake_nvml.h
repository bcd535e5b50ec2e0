/* What the stand-in for NVIDIA's library says; a test finds it as the symbol fake_nvml and changes it. */
#ifndef SONDE_TESTS_TOOLS_FAKE_NVML_H
#define SONDE_TESTS_TOOLS_FAKE_NVML_H

#define FAKE_GPUS 8
#define FAKE_PROCESSES 8

struct fake_gpu {
    int answer; /* of every call about it; 0: success */
    unsigned minor, percent, memory_percent, milliwatts, celsius, megahertz;
    unsigned long long total, used, millijoules;
    unsigned process_count, pids[FAKE_PROCESSES];
    unsigned long long memory[FAKE_PROCESSES];
    char uuid[64];
};

struct fake_nvml {
    int init_answer;
    unsigned count, inits, shutdowns;
    struct fake_gpu gpus[FAKE_GPUS];
};

#endif
