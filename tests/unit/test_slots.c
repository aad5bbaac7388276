// SPDX-License-Identifier: GPL-2.0
/* Tables by device handle, and the way through them: every one, in order, and no step for what is not there. */
#include "tests/unit/test.h"

#include "lib/analyze/session.h"
#include "lib/analyze/slots.h"

static const __u32 handles[] = {1, 2, 63, 64, 129, 4096, 40000, 40001, 65535};

static void slots_are_all_passed(void **state)
{
	struct slots slots;
	size_t steps = 0, found = 0;

	slots_init(&slots, sizeof(__u32));
	assert_int_equal(slots_next(&slots, 0), SLOTS_MAX);
	for (size_t i = 0; i < COUNT(handles); i++)
		*(__u32 *)slots_make(&slots, handles[i]) = handles[i];
	for (__u32 h = 0; h < slots.end; h = slots_next(&slots, h)) {
		const __u32 *slot = slots_find(&slots, h);

		steps++;
		if (!*slot)
			continue;
		assert_int_equal(h, handles[found++]);
		assert_int_equal(*slot, h);
	}
	assert_int_equal(found, COUNT(handles));
	assert_true(steps <= COUNT(handles) * SLOTS_CHUNK);
	slots_free(&slots);
	assert_int_equal(slots_next(&slots, 0), SLOTS_MAX);
}

/* Told by a record, named by an event, a row of counts, a page. */
static void devices_are_all_passed(void **state)
{
	struct session *session;
	struct stream stream;
	size_t found = 0;

	assert_int_equal(session_create(&session), 0);
	assert_int_equal(session_device_next(session, 0), SESSION_DEVICES);
	stream = session_stream(session);
	for (size_t i = 0; i < COUNT(handles); i++) {
		const struct device_info device = {.handle = handles[i]};
		const struct event event = {.device = handles[i]};
		const struct aggregate_row row = {.key = {.device = handles[i]}};
		const struct aggregate_page page = {.device = handles[i]};
		const struct aggregate_frame frame = {.rows = &row,
						      .row_count = i % 4 == 2,
						      .pages = &page,
						      .page_count = i % 4 == 3};

		if (i % 4 == 0)
			assert_int_equal(stream.ops->device(stream.self, &device), 0);
		if (i % 4 == 1)
			assert_int_equal(stream_events(stream, &event, 1), 0);
		assert_int_equal(stream.ops->aggregate(stream.self, &frame), 0);
	}
	for (__u32 h = 0; (h = session_device_next(session, h)) < SESSION_DEVICES;)
		assert_int_equal(h, handles[found++]);
	assert_int_equal(found, COUNT(handles));
	session_destroy(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_all_passed),
		cmocka_unit_test(devices_are_all_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
