// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/import_private.h"

#define TRANSLATION 1 /* the only type of record that a trace of addresses has */

static __u64 little_endian(const unsigned char *bytes, int count)
{
	__u64 value = 0;

	while (count--)
		value = value << 8 | bytes[count];
	return value;
}

bool import_hypersio_knows(const unsigned char *bytes, size_t count)
{
	return count >= 4 && little_endian(bytes, 4) == TRANSLATION;
}

static int import_record(struct store *store, const char *path, __u64 index, __u32 number,
			 const unsigned char *bytes)
{
	__u64 type = little_endian(bytes, 4);
	__u64 source = little_endian(bytes + 4, 2), domain = little_endian(bytes + 6, 2);
	__u64 iova = little_endian(bytes + 8, 8), mask = little_endian(bytes + 16, 8);
	__u64 level = little_endian(bytes + 24, 8);

	if (type != TRANSLATION)
		return failed(-EINVAL, "%s:record %llu: type %llu: accepted: %d, a translation",
			      path, index, type, TRANSLATION);
	if (!level || level > IMPORT_LEVELS)
		return failed(-EINVAL,
			      "%s:record %llu: level %llu: accepted: 1 (4K), 2 (2M), 3 (1G)", path,
			      index, level);
	if (mask != ~0ull << import_page_shift(level))
		return failed(-EINVAL,
			      "%s:record %llu: mask 0x%llx: accepted: 0x%llx at level %llu", path,
			      index, mask, ~0ull << import_page_shift(level), level);
	if (iova >> IMPORT_ADDRESS_BITS)
		return failed(-EINVAL, "%s:record %llu: address 0x%llx: accepted: below 2^%d", path,
			      index, iova, IMPORT_ADDRESS_BITS);
	return store_add(store, import_key(number, source, domain), iova, import_page_shift(level));
}

int import_hypersio(struct store *store, const char *path, FILE *file, __u32 number)
{
	unsigned char bytes[IMPORT_RECORD_BYTES];
	size_t got;
	int error = 0;

	for (__u64 index = 1; !error && (got = fread(bytes, 1, sizeof(bytes), file)); index++)
		error = got < sizeof(bytes)
				? failed(-EINVAL,
					 "%s:record %llu: ends after %zu bytes: accepted: records "
					 "of %d bytes",
					 path, index, got, IMPORT_RECORD_BYTES)
				: import_record(store, path, index, number, bytes);
	return error;
}
