/* SPDX-License-Identifier: Apache-2.0 */
/* Records of any bytes, as far as they are records, in a trace that is right otherwise: what a
 * replay plans to do with it, and what the viewer makes of it. */
#include "format/trace.h"
#include "replay/replay.h"
#include "tests/fuzz/records.h"
#include "viewer/model/model.h"

static void plan(const char *path)
{
    for (int allow = 0; allow < 2; allow++) {
        const struct replay_load_options options = {.memory_limit_bytes = 16u << 20,
                                                    .allow_unsupported = allow};
        struct replay_plan *plan = NULL;
        if (replay_plan_load(path, &options, &plan) == HAL_OK)
            replay_plan_destroy(plan);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_write_records(fuzz_output(), data, bytes);
    plan(fuzz_output());
    struct view_model *model = NULL;
    if (view_model_open(fuzz_output(), &model) == HAL_OK)
        view_model_close(model);
    return 0;
}
