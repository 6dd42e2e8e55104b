/* SPDX-License-Identifier: Apache-2.0 */
/* No sandbox on this system. */
#include "hal/compiler/spirv/confine.h"

bool spirv_confine(void)
{
    return false;
}
