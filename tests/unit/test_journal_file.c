// SPDX-License-Identifier: GPL-2.0
/* What records of a journal claim of themselves, behind checksums that hold. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "injectors/real/journal_file.h"

#define MAGIC 0x314a4c46u
#define HEAD  24u

static struct journal_content content;
static size_t missing; /* bytes of its end that are not parsed */

/* Parses a record of these claims, in memory that ends where `size` bytes of texts do. */
static size_t parse(__u16 type, __u16 texts, __u32 bytes, const char *text, size_t size)
{
	struct {
		__u32 magic;
		__u16 type, texts;
		__u32 sequence, bytes;
		__u64 checksum;
	} head = {.magic = MAGIC, .type = type, .texts = texts, .bytes = bytes};
	char *record = malloc(HEAD + size);
	XXH64_state_t *sum = XXH64_createState();
	size_t count;

	_Static_assert(sizeof(head) == HEAD, "the head has no padding");
	XXH64_reset(sum, 0);
	XXH64_update(sum, &head, offsetof(typeof(head), checksum));
	XXH64_update(sum, text, size);
	head.checksum = XXH64_digest(sum);
	XXH64_freeState(sum);
	memcpy(record, &head, HEAD);
	memcpy(record + HEAD, text, size);
	assert_int_equal(journal_parse(record, HEAD + size - missing, &content), 0);
	count = content.count;
	journal_content_free(&content);
	free(record);
	return count;
}

static void a_record_has_the_texts_that_it_says(void **state)
{
	assert_int_equal(parse(JOURNAL_SET, 3, 6, "a\0b\0c", 6), 1);
	assert_int_equal(parse(JOURNAL_SET, 2, 6, "a\0b\0c", 6), 0);
	assert_int_equal(parse(JOURNAL_SET, 3, 4, "a\0b", 4), 0);
	assert_int_equal(parse(JOURNAL_SET, 3, 7, "a\0b\0c\0d", 7), 0); /* one without an end */
	assert_int_equal(parse(JOURNAL_SET, JOURNAL_TEXTS + 1, 8, "a\0b\0c\0d", 8), 0);
	assert_int_equal(parse(JOURNAL_SET, 0, 0, "", 0), 1);
	assert_int_equal(parse(0, 0, 0, "", 0), 0);
	assert_int_equal(parse(JOURNAL_UNDONE + 1, 0, 0, "", 0), 0);
}

static void texts_have_a_limit(void **state)
{
	static char text[JOURNAL_TEXT_BYTES + 4096];

	memset(text, 'x', sizeof(text));
	text[JOURNAL_TEXT_BYTES - 1] = '\0';
	assert_int_equal(parse(JOURNAL_DIRECTORY, 1, JOURNAL_TEXT_BYTES, text, JOURNAL_TEXT_BYTES),
			 1);
	text[JOURNAL_TEXT_BYTES - 1] = 'x';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse(JOURNAL_DIRECTORY, 1, sizeof(text), text, sizeof(text)), 0);
}

/* Though what is behind the end would make it whole. */
static void texts_are_in_the_file(void **state)
{
	missing = 1;
	assert_int_equal(parse(JOURNAL_DIRECTORY, 1, 4, "abc", 4), 0);
	missing = 0;
	assert_int_equal(parse(JOURNAL_DIRECTORY, 1, 4, "abc", 4), 1);
	assert_int_equal(parse(JOURNAL_DIRECTORY, 1, UINT32_MAX, "abc", 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_has_the_texts_that_it_says),
		cmocka_unit_test(texts_have_a_limit),
		cmocka_unit_test(texts_are_in_the_file),
	};

	return cmocka_run_group_tests_name("journal file", tests, NULL, NULL);
}
