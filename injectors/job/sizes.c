// SPDX-License-Identifier: GPL-2.0
/* Sizes with weights, of I/Os and of frames. */
#include <errno.h>
#include <string.h>

#include "injectors/job/options_private.h"
#include "lib/job/quantity.h"

static int parse_size(const struct option_row *row, char *word, __u64 *size, __u32 *weight)
{
	char *colon = strchr(word, ':');
	double bytes, parts = 1;

	if (colon) {
		*colon = '\0';
		if (quantity_parse(colon + 1, QUANTITY_COUNT, &parts) || parts < 1 || parts > 1e6)
			return -EINVAL;
	}
	if (quantity_parse(word, QUANTITY_BYTES, &bytes))
		return -EINVAL;
	if (!option_in_range(row, bytes))
		return -ERANGE;
	*size = (__u64)bytes;
	*weight = (__u32)parts;
	return 0;
}

int sizes_parse(const struct option_row *row, const char *text, __u64 sizes[SIZES_MAX],
		__u32 weights[SIZES_MAX], __u32 *count)
{
	char copy[256], *word, *item, *rest = copy;
	int err = 0;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	*count = 0;
	while (!err && (word = strsep(&rest, ","))) {
		__u32 before = *count;

		/* Blanks may stand for commas and around them, but nothing may not stand for a size. */
		while (!err && (item = strsep(&word, " \t"))) {
			if (!*item)
				continue;
			err = *count == SIZES_MAX
				      ? -EINVAL
				      : parse_size(row, item, &sizes[*count], &weights[*count]);
			*count += !err;
		}
		if (*count == before)
			err = err ?: -EINVAL;
	}
	return err;
}
