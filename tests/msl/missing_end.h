/* SPDX-License-Identifier: Apache-2.0 */
/* What missing.h has defined. */
#undef BASE
#undef IN
#undef AT
#undef FILL
#undef FOLD
#undef IN_TWO_WAYS
#undef IN_THREE_WAYS
