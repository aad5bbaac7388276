// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "lib/output/html.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/synthetic.h"
#include "tools/page/assets.h"
#include "tools/page/page.h"
#include "tools/page/series.h"

#define SPIKE 777777777ull

static struct page_series series;

static void one_spike_among_a_million_is_there(void **state)
{
	struct random random = {11};
	size_t found = 0;

	page_series_init(&series, 1000, 1000 + 999999ull * 1009, 1000);
	assert_true(series.count <= PAGE_BINS && series.count > PAGE_BINS / 2);
	for (__u64 i = 0; i < 1000003; i++)
		page_series_add(&series, 1000 + i * 1009,
				i == 700001 ? SPIKE : 7 + random_below(&random, 90));
	for (size_t i = 0; i < series.count; i++)
		found += series.bins[i].most == SPIKE;
	assert_int_equal(found, 1);
	assert_int_equal(series.bins[(700001ull * 1009) / series.bin_ns].most, SPIKE);
}

/* Least, greatest and number of each bin, counted the slow way. */
static void bins_are_what_was_added(void **state)
{
	enum { VALUES = 10007 };
	static __u64 times[VALUES], values[VALUES];
	struct random random = {5};

	page_series_init(&series, 12345678, 98765432109, 1000);
	for (size_t i = 0; i < VALUES; i++) {
		times[i] = 12345678 + random_below(&random, 98753086431);
		values[i] = random_below(&random, 1000003);
		page_series_add(&series, times[i], values[i]);
	}
	for (size_t bin = 0; bin < series.count; bin += 13) {
		__u64 from = series.begin_ns + bin * series.bin_ns, count = 0, least = UINT64_MAX,
		      most = 0;

		for (size_t i = 0; i < VALUES; i++) {
			if (times[i] < from || times[i] >= from + series.bin_ns)
				continue;
			count++;
			least = values[i] < least ? values[i] : least;
			most = values[i] > most ? values[i] : most;
		}
		assert_int_equal(series.bins[bin].count, count);
		if (!count)
			continue;
		assert_int_equal(series.bins[bin].least, least);
		assert_int_equal(series.bins[bin].most, most);
	}
}

static void what_is_outside_is_at_the_ends(void **state)
{
	page_series_init(&series, 5000, 15000, 1000);
	assert_int_equal(series.begin_ns, 5000);
	assert_int_equal(series.count, 11);
	assert_false(page_series_any(&series));
	page_series_add(&series, 0, 1);
	page_series_add(&series, UINT64_MAX, 3);
	assert_true(page_series_any(&series));
	assert_int_equal(series.bins[0].count, 1);
	assert_int_equal(series.bins[10].most, 3);
	/* Nothing is known of when it was. */
	page_series_init(&series, 0, 0, 1000);
	page_series_add(&series, 0, 9);
	assert_int_equal(series.count, 1);
	assert_int_equal(series.bins[0].least, 9);
}

/* A step is not cut, however few there are; nor is there ever more than there is room for. */
static void bins_are_whole_steps(void **state)
{
	static const __u64 spans[] = {1,	 999, 4095999, 4096000, 4096001, 86400000000007,
				      1ull << 62};

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		page_series_init(&series, 7, 7 + spans[i], 1000);
		assert_int_equal(series.bin_ns % 1000, 0);
		assert_true(series.count >= 1 && series.count <= PAGE_BINS);
		assert_true(series.begin_ns + series.count * series.bin_ns > 7 + spans[i]);
		assert_true(series.begin_ns + (series.count - 1) * series.bin_ns <= 7 + spans[i]);
	}
}

static void columns_lose_nothing(void **state)
{
	static const size_t columns[] = {1, 7, 100, 1000, 4095, 4096, 5000};

	page_series_init(&series, 0, 4095999, 1000);
	for (__u64 i = 0; i < 4096; i++)
		page_series_add(&series, i * 1000, i == 2741 ? SPIKE : i % 2 ? 3 : 5);
	for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
		__u64 most = 0, least = UINT64_MAX, count = 0;

		for (size_t i = 0; i < columns[c]; i++) {
			struct page_bin bin = page_series_column(&series, i, columns[c]);

			most = bin.count && bin.most > most ? bin.most : most;
			least = bin.count && bin.least < least ? bin.least : least;
			count += bin.count;
		}
		assert_int_equal(most, SPIKE);
		assert_int_equal(least, 3);
		if (columns[c] <= 4096)
			assert_int_equal(count, 4096);
	}
}

/* What `write` puts there. */
static char *page_of(const struct export_part *part, const struct page_options *options,
		     int expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = page_write(part, options, out);

	assert_int_equal(fclose(out), 0);
	if (err != expected)
		fail_msg("%d: %s", err, failure_text());
	return text;
}

static char *write_page(const char *path, const struct page_options *options)
{
	struct trace_summary summary;
	struct export_part part = {
		.path = path, .summary = &summary, .host = &summary.host, .name = "<b>&\"'"};
	char *text;

	assert_int_equal(trace_summarize(path, &summary), 0);
	text = page_of(&part, options, 0);
	trace_summary_free(&summary);
	return text;
}

static const char *record_synthetic(const struct synthetic_config *made)
{
	static char path[4096];
	const struct trace_writer_config config = {.path = path, .overwrite = true};
	struct synthetic synthetic;
	struct trace_writer *writer;

	snprintf(path, sizeof(path), "%s/run.flt", scratch);
	synthetic_make(&synthetic, made);
	writer = recording_open(&config);
	assert_int_equal(synthetic_feed(&synthetic, trace_writer_stream(writer), 0), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	synthetic_free(&synthetic);
	return path;
}

static size_t occurrences(const char *text, const char *word)
{
	size_t count = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		count++;
	}
	return count;
}

/* Every bin of the first plot's data, summed. */
static __u64 counted_faults(const char *page)
{
	const char *at = strstr(strstr(page, "\"id\":\"plot-faults\""), "\"bins\":[");
	__u64 bin, least, most, count, sum = 0;
	int length;

	at += strlen("\"bins\":[");
	while (sscanf(at, "[%llu,%llu,%llu,%llu]%n", &bin, &least, &most, &count, &length) == 4) {
		sum += count;
		at += length + 1;
	}
	return sum;
}

static void a_page_has_all_faults(void **state)
{
	const struct synthetic_config made = {
		.groups = 2003, .overflowed = 30, .unfinished = 30, .missing = 50, .frames = true};
	const struct page_options options = {0};
	char *page = write_page(record_synthetic(&made), &options);

	assert_int_equal(counted_faults(page), 2003);
	assert_int_equal(occurrences(page, "<li><p><b>"), 30);
	assert_int_equal(occurrences(page, "data-name=\"summary\""), 1);
	assert_non_null(strstr(page, "<h2>What was lost</h2>"));
	assert_non_null(strstr(page, "<h2>What was not seen</h2>"));
	assert_null(strstr(page, "http-equiv=\"refresh\""));
	assert_non_null(strstr(page, "<h1>&lt;b&gt;&amp;&quot;&#39;</h1>"));
	assert_null(strstr(page, "<b>&"));
	free(page);
}

static void a_page_of_a_server_loads_itself_again(void **state)
{
	const struct synthetic_config made = {.groups = 7};
	unsigned int floor = 1;
	const struct page_options options = {.refresh_seconds = 17, .floor = &floor};
	char *page = write_page(record_synthetic(&made), &options);

	assert_non_null(strstr(page, "<meta http-equiv=\"refresh\" content=\"17\">"));
	assert_int_equal(floor, 0);
	free(page);
}

static void nothing_has_a_page(void **state)
{
	char path[4096];
	const struct trace_writer_config config = {.path = path};
	const struct page_options options = {0};
	struct trace_writer *writer;
	struct stream out;
	char *page;

	snprintf(path, sizeof(path), "%s/nothing.flt", scratch);
	out = recording_begin(&writer, &config, 1000, 0);
	out.ops->end(out.self, 2000);
	assert_int_equal(trace_writer_close(writer), 0);
	page = write_page(path, &options);
	assert_non_null(strstr(page, "Neither a fault nor an I/O was recorded."));
	assert_non_null(strstr(page, "No fault was recorded."));
	free(page);
}

/* A slow disk takes no page for whole. */
static void a_page_that_cannot_be_written_is_an_error(void **state)
{
	const struct synthetic_config made = {.groups = 101};
	const char *path = record_synthetic(&made);
	const struct page_options options = {0};
	struct trace_summary summary;
	struct export_part part = {
		.path = path, .summary = &summary, .host = &summary.host, .name = "x"};
	FILE *out = fopen("/dev/full", "w");

	assert_int_equal(trace_summarize(path, &summary), 0);
	assert_int_equal(page_write(&part, &options, out), -ENOSPC);
	assert_non_null(strstr(failure_text(), "cannot be written"));
	fclose(out);
	trace_summary_free(&summary);
}

#define HTML_ROWS(COLUMN)                                          \
	COLUMN(name, none, TEXT, 10, SHOWN, "a<b>&\"\x1b")         \
	COLUMN(time, none, DURATION, 10, SHOWN, *row)              \
	COLUMN(memory, none, BYTES, 10, WIDE, count_or_none(*row)) \
	COLUMN(share, percent, REAL, 10, SHOWN, *row ? *row / 4. : NAN)
TABLE(html_rows, "Rows <of> these", HTML_ROWS, __u64, void)

static void cells_have_what_json_has(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const struct writer_config config = {.format = OUTPUT_HTML, .file = out, .most_rows = 2};
	struct writer *writer;

	assert_int_equal(writer_open(&writer, &config), 0);
	writer_note(writer, "%s", "");
	writer_note(writer, "%s", "1 < 2");
	writer_begin(writer, &html_rows_table);
	writer_end(writer);
	writer_begin(writer, &html_rows_table);
	for (__u64 row = 0; row < 5; row++)
		writer_row(writer, &(__u64){row * 2049});
	writer_end(writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(out);
	assert_int_equal(occurrences(text, "<table"), 1);
	assert_int_equal(occurrences(text, "<p>"), 1);
	assert_non_null(strstr(text, "<p>1 &lt; 2</p>"));
	assert_non_null(strstr(text, "<caption>Rows &lt;of&gt; these</caption>"));
	assert_non_null(strstr(
		text, "<th scope=\"col\" data-f=\"memory_bytes\" class=\"n w\">memory</th>"));
	assert_non_null(strstr(
		text, "<th scope=\"col\" data-f=\"share_percent\" class=\"n\">share (%)</th>"));
	assert_non_null(strstr(
		text,
		"<tr><td>a&lt;b&gt;&amp;&quot;\\x1b</td><td class=\"n\" data-v=\"0\">0</td>"
		"<td class=\"n w\" data-v=\"\">-</td><td class=\"n\" data-v=\"\">-</td></tr>"));
	assert_non_null(strstr(
		text,
		"<td class=\"n\" data-v=\"2049\">2.05us</td><td class=\"n w\" data-v=\"2049\">2.00K</td>"
		"<td class=\"n\" data-v=\"512.25\">512</td>"));
	assert_int_equal(occurrences(text, "<tr><td>"), 2);
	assert_non_null(strstr(text, "The first 2 of 5 rows; <code>--table html_rows</code>"));
	free(text);
}

static void assets_have_hashes(void **state)
{
	size_t size;

	assert_true(page_asset_count == 2 || page_asset_count == 4);
	for (size_t i = 0; i < page_asset_count; i++) {
		assert_int_equal(strncmp(page_assets[i].hash, "sha256-", 7), 0);
		assert_int_equal(strlen(page_assets[i].hash), 7 + 44);
		assert_true(page_assets[i].end > page_assets[i].begin);
	}
	assert_int_equal(page_has_plots(), page_licence(&size) != NULL);
	assert_int_equal(page_has_plots(), size > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_spike_among_a_million_is_there),
		cmocka_unit_test(bins_are_what_was_added),
		cmocka_unit_test(what_is_outside_is_at_the_ends),
		cmocka_unit_test(bins_are_whole_steps),
		cmocka_unit_test(columns_lose_nothing),
		cmocka_unit_test(a_page_has_all_faults),
		cmocka_unit_test(a_page_of_a_server_loads_itself_again),
		cmocka_unit_test(nothing_has_a_page),
		cmocka_unit_test(a_page_that_cannot_be_written_is_an_error),
		cmocka_unit_test(cells_have_what_json_has),
		cmocka_unit_test(assets_have_hashes),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
