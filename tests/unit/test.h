/* SPDX-License-Identifier: GPL-2.0 */
/* What a unit test includes first: cmocka with what its header wants before it, and what most tests use. */
#ifndef FAULTLINE_TEST_H
#define FAULTLINE_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Times are nanoseconds. */
#define US     1000ull
#define MS     1000000ull
#define SECOND 1000000000ull

#endif
