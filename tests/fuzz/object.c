/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled kernel of any bytes, before it would be loaded. */
#include "hal/compiler/msl/object.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (msl_object_check(data, bytes, "a kernel") != HAL_OK)
        fuzz_check(hal_message()[0] != '\0');
    return 0;
}
