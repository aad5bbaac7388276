// SPDX-License-Identifier: GPL-2.0
/* What a seed gives is part of the outputs: known answers of splitmix64 and of how draws are scaled. */
#include "tests/unit/test.h"

#include "lib/base/random.h"

static void the_stream_is_that_of_splitmix64(void **state)
{
	struct random zero = {0}, other = {1234567};

	assert_true(random_next(&zero) == 0xe220a8397b1dcdafull);
	assert_true(random_next(&zero) == 0x6e789e6aa1b965f4ull);
	assert_true(random_next(&zero) == 0x06c45d188009454full);
	assert_true(random_next(&other) == 6457827717110365317ull);
	assert_true(random_next(&other) == 3203168211198807973ull);
}

static void draws_are_its_upper_bits(void **state)
{
	struct random random = {0};

	assert_true(random_below(&random, 1000) == 883);
	assert_true(random_below(&random, 1ull << 32) == 0x6e789e6a);
	random.state = 0;
	assert_true(random_unit(&random) == (double)(0xe220a8397b1dcdafull >> 11) * 0x1p-53);
	random.state = 0;
	assert_true(random_unit_above_0(&random) ==
		    (double)((0xe220a8397b1dcdafull >> 11) + 1) * 0x1p-53);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stream_is_that_of_splitmix64),
		cmocka_unit_test(draws_are_its_upper_bits),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
