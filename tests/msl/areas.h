/* SPDX-License-Identifier: Apache-2.0 */
/* Every area, as C or as a table; read by cases.c twice. */
#ifdef SUITE_TABLES
static const struct suite_case suite_scalars[] = {
#endif
#include "tests/msl/scalars.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_vectors[] = {
#endif
#include "tests/msl/vectors.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_matrices[] = {
#endif
#include "tests/msl/matrices.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_narrow[] = {
#endif
#include "tests/msl/narrow.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_spaces[] = {
#endif
#include "tests/msl/spaces.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_templates[] = {
#endif
#include "tests/msl/templates.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_constants[] = {
#endif
#include "tests/msl/constants.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_attributes[] = {
#endif
#include "tests/msl/attributes.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_math[] = {
#endif
#include "tests/msl/math.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_integers[] = {
#endif
#include "tests/msl/integers.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_packing[] = {
#endif
#include "tests/msl/packing.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_atomics[] = {
#endif
#include "tests/msl/atomics.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_together[] = {
#endif
#include "tests/msl/together.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_missing[] = {
#endif
#include "tests/msl/missing.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_ways[] = {
#endif
#include "tests/msl/ways.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_tiles[] = {
#endif
#include "tests/msl/tiles.cases"
#ifdef SUITE_TABLES
};
#endif
#ifdef SUITE_TABLES
static const struct suite_case suite_engines[] = {
#endif
#include "tests/msl/engines.cases"
#ifdef SUITE_TABLES
};
#endif
