// SPDX-License-Identifier: GPL-2.0
/* What serve tells: exact buckets, counters that never fall, labels of strangers, rows that are bounded. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/live.h"
#include "tools/serve/exposition.h"
#include "tools/serve/gather.h"
#include "tools/serve/options.h"
#include "tools/serve/state.h"

static void a_bound_includes_its_last_nanosecond(void **state)
{
	for (unsigned int b = 0; b < BOUNDS; b++)
		for (int above = 0; above < 2; above++) {
			struct histogram *h = calloc(1, sizeof(*h));
			struct bounded bounded = {0};

			histogram_init(h);
			histogram_add(h, bounds_ns(b) + (__u64)above);
			bounded_add(&bounded, h);
			assert_int_equal(bounded.buckets[b + (unsigned int)above], 1);
			assert_int_equal(bounded.sum_ns, bounds_ns(b) + (__u64)above);
			free(h);
		}
}

static void every_value_is_in_one_bucket(void **state)
{
	struct histogram *h = calloc(1, sizeof(*h));
	struct bounded bounded = {0};
	__u64 sum = 0;

	histogram_init(h);
	for (__u64 ns = 1; ns < 1ull << 45; ns = ns * 3 / 2 + 1)
		histogram_add(h, ns);
	bounded_add(&bounded, h);
	for (unsigned int b = 0; b <= BOUNDS; b++)
		sum += bounded.buckets[b];
	assert_int_equal(sum, h->count);
	assert_int_equal(bounded.count, h->count);
	free(h);
}

static void count(struct ledger *ledger, const char *device, __u64 began)
{
	struct ledger_row *row = ledger_row(ledger, LEDGER_DEVICE, device, "");

	assert_non_null(row);
	LEDGER_NOW(row, device_counts)->began += began;
}

static __u64 told_of(struct ledger *ledger, const char *device)
{
	return LEDGER_TOLD(ledger_row(ledger, LEDGER_DEVICE, device, ""), device_counts)->began;
}

static void a_device_that_goes_leaves_its_counts(void **state)
{
	struct ledger ledger;

	ledger_init(&ledger, 7);
	ledger_begin(&ledger);
	count(&ledger, "vm0/disk", 13);
	ledger_end(&ledger);
	ledger_begin(&ledger);
	ledger_end(&ledger);
	assert_int_equal(told_of(&ledger, "vm0/disk"), 13);
	ledger_begin(&ledger);
	count(&ledger, "vm0/disk", 11);
	count(&ledger, "vm0/disk", 6); /* two of one name */
	ledger_end(&ledger);
	assert_int_equal(told_of(&ledger, "vm0/disk"), 17);
	ledger_free(&ledger);
}

static void what_is_beyond_the_limit_is_other(void **state)
{
	struct ledger ledger;
	size_t rows = 0;

	ledger_init(&ledger, 3);
	ledger_begin(&ledger);
	for (int i = 0; i < 101; i++) {
		char name[32];

		snprintf(name, sizeof(name), "vm%d/disk", i);
		count(&ledger, name, 1);
	}
	ledger_end(&ledger);
	LEDGER_EACH(row, &ledger, LEDGER_DEVICE)
	rows++;
	assert_int_equal(rows, 4);
	assert_int_equal(told_of(&ledger, LEDGER_OTHER), 98);
	assert_string_equal(ledger_device(&ledger, "vm57/disk"), LEDGER_OTHER);
	assert_string_equal(ledger_device(&ledger, "vm1/disk"), "vm1/disk");
	ledger_free(&ledger);
}

struct served {
	struct analysis *analysis;
	struct tally tally;
	struct ledger ledger;
};

/* One page of a group of the first device. */
static void serve_event(struct served *s, __u16 kind, __u32 group, __u64 time_ns)
{
	const struct event e = {.time_ns = time_ns,
				.device = 1,
				.group = group,
				.pasid = PASID_NONE,
				.address = 4096ull * (1 + group),
				.length = 4096,
				.kind = kind,
				.flags = kind == EVENT_FAULT_ABANDON ? EVENT_GROUP : EVENT_MAJOR};

	assert_int_equal(stream_events(analysis_stream(s->analysis), &e, 1), 0);
}

static void serve_stages(struct served *s, __u16 first, __u16 last, __u32 group, __u64 time_ns)
{
	for (__u16 kind = first; kind <= last; kind++)
		serve_event(s, kind, group, time_ns + kind);
}

/* What is open and abandoned: as told to Prometheus, and as `top` has it. */
static void assert_now(struct served *s, __u64 open, __u64 abandoned)
{
	const struct gather_self self = {0};
	struct live_summary summary;
	struct ledger_row *row;
	struct live_device live;

	gather_counts(&s->ledger, s->analysis, &s->tally, &self);
	row = ledger_row(&s->ledger, LEDGER_DEVICE, "vm0/disk", "");
	assert_int_equal(row->is.device.open, open);
	assert_int_equal(LEDGER_TOLD(row, device_counts)->abandoned, abandoned);
	assert_int_equal(LEDGER_NOW(row, device_counts)->abandoned, abandoned);
	assert_int_equal(live_device(s->analysis, 1, 1000 * SECOND, SECOND, &live), 0);
	assert_int_equal(live.open, open);
	assert_int_equal(live.abandoned, abandoned);
	live_summary(s->analysis, &summary);
	assert_int_equal(summary.abandoned, abandoned);
}

static void what_a_device_gave_up_is_over_at_once(void **state)
{
	const struct device_info device = {.handle = 1, .name = "vm0/disk"};
	const __u64 start = 77 * SECOND;
	struct served s = {0};
	struct stream to;
	const __u64 *over;

	assert_int_equal(analysis_create(&s.analysis, NULL), 0);
	assert_int_equal(tally_create(&s.tally, s.analysis), 0);
	ledger_init(&s.ledger, 7);
	to = analysis_stream(s.analysis);
	to.ops->device(to.self, &device);
	for (__u32 group = 0; group < 5; group++)
		serve_stages(&s, EVENT_FAULT_DETECT, EVENT_FAULT_REQUEST, group, start);
	assert_now(&s, 5, 0);
	for (__u32 group = 0; group < 3; group++)
		serve_event(&s, EVENT_FAULT_ABANDON, group, start + SECOND);
	assert_now(&s, 2, 3);
	/* The host goes on with one, whose response comes late, and nothing is counted twice. */
	serve_stages(&s, EVENT_FAULT_ISR, EVENT_FAULT_RESOLVED, 0, start + 5 * SECOND);
	assert_now(&s, 2, 3);
	serve_stages(&s, EVENT_FAULT_MAPPED, EVENT_FAULT_RESPONSE, 0, start + 6 * SECOND);
	assert_now(&s, 2, 3);
	/* One is answered in time, but one of its timestamps was not seen: it waits for it, and is not open. */
	serve_stages(&s, EVENT_FAULT_ISR, EVENT_FAULT_RESOLVED, 4, start + 7 * SECOND);
	serve_stages(&s, EVENT_FAULT_RESPONSE, EVENT_FAULT_RESUME, 4, start + 8 * SECOND);
	assert_now(&s, 1, 3);
	to.ops->end(to.self, start + 9 * SECOND);
	assert_now(&s, 0, 3);
	/* Kinds are those of the table: what was given up has none, though the host resolved it. */
	over = LEDGER_TOLD(ledger_row(&s.ledger, LEDGER_DEVICE, "vm0/disk", ""), device_counts)
		       ->over;
	assert_int_equal(over[EFFORT_NONE], 3);
	assert_int_equal(over[EFFORT_MAJOR], 2);
	assert_int_equal(over[EFFORT_MINOR] + over[EFFORT_UNKNOWN], 0);
	analysis_destroy(s.analysis);
	tally_destroy(&s.tally);
	ledger_free(&s.ledger);
}

static void write_bytes(const char *path, const char *bytes, size_t length)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static void counts_go_on_after_a_restart(void **state)
{
	char path[] = "/tmp/faultline-serve-state.XXXXXX", note[STATE_NOTE];
	struct state_bytes bytes = {0};
	struct ledger before, after;

	close(mkstemp(path));
	ledger_init(&before, 7);
	ledger_begin(&before);
	count(&before, "vm0/disk", 13);
	count(&before, "vm1/disk", 29);
	ledger_end(&before);
	assert_int_equal(state_pack(&before, &bytes), 0);
	write_bytes(path, bytes.bytes, bytes.length);
	ledger_init(&after, 7);
	assert_int_equal(state_load(&after, path, note), 0);
	assert_string_equal(note, "");
	ledger_begin(&after);
	count(&after, "vm0/disk", 2);
	ledger_end(&after);
	assert_int_equal(told_of(&after, "vm0/disk"), 15);
	assert_int_equal(told_of(&after, "vm1/disk"), 29);
	ledger_free(&after);
	/* With room for one the rest is other, and no count is lost. */
	ledger_init(&after, 1);
	assert_int_equal(state_load(&after, path, note), 0);
	assert_int_equal(told_of(&after, LEDGER_OTHER), 29);
	ledger_free(&after);
	ledger_free(&before);
	free(bytes.bytes);
	unlink(path);
}

static void a_damaged_state_is_left_behind(void **state)
{
	char path[] = "/tmp/faultline-serve-state.XXXXXX", note[STATE_NOTE];
	struct state_bytes bytes = {0};
	struct ledger ledger;

	close(mkstemp(path));
	ledger_init(&ledger, 7);
	ledger_begin(&ledger);
	count(&ledger, "vm0/disk", 13);
	ledger_end(&ledger);
	assert_int_equal(state_pack(&ledger, &bytes), 0);
	ledger_free(&ledger);
	for (size_t i = 8; i < bytes.length; i += 7) {
		bytes.bytes[i] ^= 0x10;
		write_bytes(path, bytes.bytes, bytes.length);
		bytes.bytes[i] ^= 0x10;
		ledger_init(&ledger, 7);
		assert_int_equal(state_load(&ledger, path, note), 0);
		assert_string_not_equal(note, "");
		assert_null(ledger.rows);
		ledger_free(&ledger);
	}
	write_bytes(path, "my thesis", 9);
	ledger_init(&ledger, 7);
	assert_int_equal(state_load(&ledger, path, note), -EBADMSG);
	ledger_free(&ledger);
	free(bytes.bytes);
	unlink(path);
}

static void names_of_strangers_stay_in_their_quotes(void **state)
{
	char labels[128];

	exposition_label(labels, sizeof(labels), 0, "device", "a\"} 1\n\\x\x1b[2J\xff");
	assert_string_equal(labels, "device=\"a\\\"} 1\\\\n\\\\x\\\\x1b[2J\\\\xff\"");
}

static void text_is_what_prometheus_reads(void **state)
{
	const struct bounded one = {.count = 1, .sum_ns = 1500, .buckets = {[1] = 1}};
	struct exposition out = {0};

	exposition_begin(&out);
	exposition_seconds(&out, (struct sample_name){"a", "", NULL, NULL}, 1000000001);
	exposition_limit(&out, (struct sample_name){"b", "", "x=\"y\"", NULL}, UINT64_MAX);
	exposition_histogram(&out, (struct sample_name){"c", "", "x=\"y\"", "z=\"w\""}, &one);
	out.text[out.length] = '\0';
	assert_non_null(strstr(out.text, "faultline_a 1.000000001\nfaultline_b{x=\"y\"} +Inf\n"));
	assert_non_null(
		strstr(out.text, "faultline_c_bucket{x=\"y\",z=\"w\",le=\"0.000001007\"} 0\n"));
	assert_non_null(
		strstr(out.text, "le=\"+Inf\"} 1\nfaultline_c_sum{x=\"y\",z=\"w\"} 0.0000015\n"));
	assert_non_null(strstr(out.text, "faultline_c_count{x=\"y\",z=\"w\"} 1\n"));
	exposition_free(&out);
}

static void addresses_are_numbers_of_this_host(void **state)
{
	static const char *const wrong[] = {"",		 "9753",     "localhost:80",
					    "1.2.3.4",	 "1.2.3.4:", "::1:80",
					    "[::1]",	 "[::1:80",  "1.2.3.4:65536",
					    "1.2.3.4:-1"};
	struct listen_address address;
	char text[ADDRESS_TEXT];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(listen_parse(wrong[i], &address), -EINVAL);
	assert_int_equal(listen_parse(":17", &address), 0);
	assert_string_equal(listen_text(&address, text), "127.0.0.1:17");
	assert_true(address.loopback);
	assert_int_equal(listen_parse("[::1]:17", &address), 0);
	assert_string_equal(listen_text(&address, text), "[::1]:17");
	assert_true(address.loopback);
	assert_int_equal(listen_parse("0.0.0.0:17", &address), 0);
	assert_false(address.loopback);
	assert_int_equal(listen_parse("none", &address), 0);
	assert_int_equal(address.length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_includes_its_last_nanosecond),
		cmocka_unit_test(every_value_is_in_one_bucket),
		cmocka_unit_test(a_device_that_goes_leaves_its_counts),
		cmocka_unit_test(what_is_beyond_the_limit_is_other),
		cmocka_unit_test(what_a_device_gave_up_is_over_at_once),
		cmocka_unit_test(counts_go_on_after_a_restart),
		cmocka_unit_test(a_damaged_state_is_left_behind),
		cmocka_unit_test(names_of_strangers_stay_in_their_quotes),
		cmocka_unit_test(text_is_what_prometheus_reads),
		cmocka_unit_test(addresses_are_numbers_of_this_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
