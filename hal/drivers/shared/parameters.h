/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers for parameters of device URIs that several drivers share. */
#ifndef HAL_SHARED_PARAMETERS_H
#define HAL_SHARED_PARAMETERS_H

#include "hal/driver.h"

/* HAL_INVALID: the value is not a number from 1 to `limit`. */
enum hal_status hal_parameter_count(const struct hal_uri_parameter *parameter, uint32_t limit,
                                    uint32_t *out_count) HAL_CHECKED;
/* HAL_INVALID: the value is neither of the two words. */
enum hal_status hal_parameter_choice(const struct hal_uri_parameter *parameter, const char *no,
                                     const char *yes, bool *out_yes) HAL_CHECKED;

#endif
