#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints docs/api.md, from the public headers.
set -eu
cd "$(dirname "$0")/../.."
LC_ALL=C awk -f hal/install/api.awk hal/hal.h hal/channels.h hal/executables.h hal/flags.h hal/profiling.h hal/base/status.h
