/* SPDX-License-Identifier: Apache-2.0 */
/* What bench-capture has done, plain and captured: its file says what each workload is. A run gives
 * the nanoseconds that recording, submitting and waiting took. */
#ifndef TESTS_BENCH_BENCH_WORKLOADS_H
#define TESTS_BENCH_BENCH_WORKLOADS_H

#include "hal/hal.h"

enum { BENCH_THREADS = 2, BENCH_CHANGE = 4096 };

struct workload {
    const char *name;
    double (*run)(struct hal_device *device, const struct workload *workload);
    uint64_t submissions;
    uint64_t pairs;  /* a command and a barrier, in each submission */
    bool is_warm;    /* of mt: each thread has recorded as much before */
    bool uses_all;   /* of d */
    bool is_weights; /* of uploads: as those of a model, else random */
    uint32_t *data;  /* of uploads */
    uint64_t uploads,
        distinct; /* how many, and how many of them differ; 0: these are not c or cs */
    uint64_t more_calls, written; /* beside those of the submissions; by the host */
    int repeats;
    double target_ns, target_us; /* cost per call, per submission */
    double target_ratio, target_closed, target_mb_s, target_bytes; /* 0: no target */
};

double bench_run_commands(struct hal_device *device, const struct workload *workload);
double bench_run_threads(struct hal_device *device, const struct workload *workload);
double bench_run_uploads(struct hal_device *device, const struct workload *workload);
double bench_run_mapped(struct hal_device *device, const struct workload *workload);

/* Of each upload; of the mapping. */
uint64_t bench_upload_bytes(void);
uint64_t bench_mapped_bytes(void);

/* Random bytes; or numbers between -2 and 2, most of them small, cut to 16 bits: weights. */
uint32_t *bench_upload_data(bool weights);

double bench_ns_since(int64_t begin_ns);
/* What the calling thread itself has computed: says the same however busy the machine is. */
double bench_thread_ns(void);
/* What the threads of the last run of threads have computed. */
extern double bench_others_ns;

#endif
