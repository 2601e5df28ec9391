/* Loaded into a kernel in virtual time. Equal seeds give equal random numbers, all of its processes share one CPU, because they wake each other up at
 * every system call, and it ends with the process that started it. */

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>

static uint64_t state;

__attribute__((constructor)) static void begin(void) {
    const char *seed = getenv("BLOATLAB_SEED");
    const char *cpu = getenv("BLOATLAB_CPU");
    cpu_set_t cpus;
    state = seed ? strtoull(seed, NULL, 10) : 0;
    if (cpu) {
        CPU_ZERO(&cpus);
        CPU_SET(strtoul(cpu, NULL, 10), &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* SplitMix64 (Steele, Lea and Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags) {
    unsigned char *bytes = buffer;
    (void)flags;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)next();
    return (ssize_t)length;
}
