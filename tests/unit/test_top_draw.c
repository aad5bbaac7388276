// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/unknown.h"
#include "tests/unit/amount.h"
#include "tests/unit/screen_words.h"
#include "tools/top/draw.h"

/* Of the sizes of a screen in rows; of columns each. */
#define EVERY (int)amount(1, 3)

#define DEVICES 23
#define TEXT	(400 * 130)

struct fixture {
	struct top_model model;
	struct top_detail detail;
	struct top_view view;
	struct canvas canvas;
	struct layout layout;
	__u32 order[DEVICES];
	char text[TEXT]; /* the whole screen, rows ended by newlines */
};

static void fill_device(struct top_device *device, __u32 i)
{
	struct live_device *live = &device->live;
	struct live_latency *latency = &live->latency[LATENCY_SINCE_START];

	live->handle = i + 1;
	live->rate = 1000.5 / (i + 1);
	live->faults = 31337 - i;
	live->complete = latency->count = 31000;
	live->open = i % 3;
	latency->p50_ns = 41000 + i;
	latency->p99_ns = 97000000;
	latency->max_ns = 1300000000;
	live->blocked_percent = i == 5 ? NAN : 61.0;
	latency->slowest_stage = STAGE_RESOLVE;
	live->footprint_bytes = 7 << 20;
	live->slo = (enum live_slo_state)(i % 4);
	live->bursts = 3;
	live->peak = 17;
	for (unsigned int s = 0; s < STAGES; s++)
		latency->stages[s] = (struct live_stage){.count = 31000,
							 .p50_ns = 1000ull * (s + 1),
							 .p99_ns = 9000ull * (s + 1),
							 .max_ns = 99000ull * (s + 1),
							 .merged = s == STAGE_DISPATCH,
							 .share = s == STAGE_RESOLVE ? 0.94 : 0.01};
	snprintf(device->name, sizeof(device->name), "tenant%u/disk0", i);
	snprintf(device->info.vm, sizeof(device->info.vm), "tenant%u", i);
	snprintf(device->owner, sizeof(device->owner), "tenant%u", i);
	device->history_count = TOP_HISTORY;
	for (int k = 0; k < TOP_HISTORY; k++)
		device->history[k] = (float)(k % 13);
}

static void fill_faults(struct top_detail *detail)
{
	detail->device = 1;
	detail->fault_count = 37;
	for (__u32 i = 0; i < 37; i++) {
		struct fault *fault = &detail->faults[i];

		for (int k = 0; k < FAULT_STAGES; k++)
			fault->at[k] = 1000000000 + i * 1000000 + (__u64)k * 7000;
		fault->address = 0x7f0000000000 + i * 4096ull;
		fault->flags = EVENT_WRITE | EVENT_MAJOR;
		fault->state = FAULT_COMPLETE;
		fault->seen = 0xff;
		fault->device = 1;
	}
}

static struct clock_anchor anchor = {1, 1795225143000000000};
static const struct wall_clock clock = {&anchor, 1, 1};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->model.devices = calloc(DEVICES, sizeof(*f->model.devices));
	f->model.device_count = DEVICES;
	for (__u32 i = 0; i < DEVICES; i++)
		fill_device(&f->model.devices[i], i);
	fill_faults(&f->detail);
	snprintf(f->model.host, sizeof(f->model.host), "moon");
	f->model.summary.clock = &clock;
	f->model.summary.first_ns = 1;
	f->model.now_ns = 61000000001;
	f->model.self_cpu_percent = 1.7;
	f->model.self_memory_bytes = 23 << 20;
	f->model.summary.loss.received = 1000003;
	f->model.summary.probes_on = 14;
	f->model.summary.probes_off = 9;
	top_view_init(&f->view);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	top_model_free(&f->model);
	canvas_free(&f->canvas);
	free(f);
	return 0;
}

static const char *draw(struct fixture *f, int rows, int columns)
{
	const struct layout_wish wish = {13, 7, 37};
	struct top_picture picture = {&f->model, &f->detail, &f->view, &f->layout, f->order, 0, -1};

	assert_int_equal(canvas_resize(&f->canvas, rows, columns), 0);
	picture.count =
		top_order(&f->model, f->view.sort, f->view.reverse, f->view.filter, f->order);
	if (f->view.screen == SCREEN_DETAIL)
		layout_detail(&f->layout, rows, columns, &wish);
	else
		layout_main(&f->layout, rows, columns, &wish);
	draw_screen(&f->canvas, &picture);
	return screen_text(&f->canvas, rows, f->text, TEXT);
}

static void a_silent_probe_is_on_the_screen(void **state)
{
	struct fixture *f = *state;

	assert_null(strstr(draw(f, 24, 80), "silent"));
	f->model.summary.probes_silent = 1;
	assert_non_null(strstr(draw(f, 24, 80), "1 probe silent: see report"));
	f->model.summary.probes_silent = 2;
	assert_non_null(strstr(draw(f, 24, 80), "2 probes silent: see report"));
}

static void classic_terminal_shows_the_device_and_its_numbers(void **state)
{
	struct fixture *f = *state;
	const char *text = draw(f, 24, 80);
	static const char *const needed[] = {"moon",
					     "2026-11-21 01:40:04 UTC",
					     "tenant0/disk0",
					     "31337",
					     "41us",
					     "97ms",
					     "1.3s",
					     "resolve",
					     "61",
					     "7M",
					     "BAD",
					     "warn",
					     "lost 0",
					     "self 1.7%",
					     "23M",
					     "14 on",
					     "9 off"};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!strstr(text, needed[i]))
			fail_msg("\"%s\" is not on the screen:\n%s", needed[i], text);
}

/* Loss, own CPU and memory must be visible on each screen of each size that is not too small. */
static void loss_and_own_cost_are_always_on_screen(void **state)
{
	struct fixture *f = *state;

	f->model.summary.loss.lost = 4711;
	for (int screen = SCREEN_MAIN; screen <= SCREEN_HELP; screen++)
		for (int rows = 1; rows <= 61; rows += 3)
			for (int columns = 1; columns <= 300; columns += 7) {
				const char *text;

				f->view.screen = (enum top_screen)screen;
				text = draw(f, rows, columns);
				if (f->layout.too_small)
					continue;
				assert_non_null(strstr(text, "LOST 4711"));
				assert_non_null(strstr(text, "self 1.7%"));
				assert_non_null(strstr(text, "23M"));
			}
}

/* In words that are whole. */
static void small_terminal_says_so(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(strtok((char *)draw(f, 6, 80), "\n"),
			    "terminal too small: it takes 32 x 7");
	for (int rows = 1; rows <= 40; rows++)
		for (int columns = 1; columns <= 120; columns++) {
			static const char *const said[] = {"terminal too small: it takes 32 x 7",
							   "terminal too small", "too small",
							   "small", "~"};
			const char *text = draw(f, rows, columns);
			int i = 0;

			assert_int_equal(f->layout.too_small, rows < 7 || columns < 32);
			if (!f->layout.too_small)
				continue;
			while (columns < (int)strlen(said[i]))
				i++;
			assert_string_equal(strtok((char *)text, "\n"), said[i]);
		}
}

/* Every size from the least on. */
static void no_word_is_cut_without_a_mark(void **state)
{
	static char whole[TEXT];
	struct fixture *f = *state;

	f->model.worst = (struct worst){WORST_BAD, 0,
					"of devices, one has its queue blocked for the most "
					"part of the last interval by a page that is late"};
	strcpy(f->model.devices[3].name, "a-name-that-is-longer-than-most");
	f->view.typing = false;
	for (int screen = SCREEN_MAIN; screen <= SCREEN_HELP; screen++) {
		f->view.screen = (enum top_screen)screen;
		strcpy(whole, draw(f, 120, 390));
		strcat(whole, " rows columns> more on a taller screen faults ");
		for (int rows = LAYOUT_MIN_ROWS; rows <= 40; rows += EVERY)
			for (int columns = LAYOUT_MIN_COLUMNS; columns <= 120; columns++) {
				const char *cut =
					screen_cut_word(whole, (char *)draw(f, rows, columns));

				if (cut)
					fail_msg("%d x %d, screen %d: '%s' is cut", columns, rows,
						 screen, cut);
			}
	}
}

/* A line that leaves something out says so, and the worst finding is there on every screen. */
static void what_is_left_out_is_marked(void **state)
{
	struct fixture *f = *state;
	const char *text;

	f->model.worst = (struct worst){WORST_BAD, 0, "a queue is blocked"};
	for (int rows = LAYOUT_MIN_ROWS; rows <= 40; rows += EVERY)
		for (int columns = LAYOUT_MIN_COLUMNS; columns <= 120; columns++) {
			text = draw(f, rows, columns);
			assert_non_null(strstr(text, "BAD: a queue is blocked"));
			if (!strstr(text, "moon") || !strstr(text, "every"))
				assert_int_equal(text[columns - 1], CANVAS_MORE);
		}
	text = draw(f, 11, 41);
	assert_non_null(strstr(text, "rows 1-6 of 23"));
	assert_non_null(strstr(text, ">\n"));
}

static void detail_shows_every_stage_and_the_last_faults(void **state)
{
	struct fixture *f = *state;
	const char *text;

	f->view.screen = SCREEN_DETAIL;
	text = draw(f, 24, 80);
	for (unsigned int s = 0; s < STAGES; s++)
		assert_non_null(strstr(text, stage_name(s)));
	assert_non_null(strstr(text, "94%"));
	assert_non_null(strstr(text, "7f0000000000"));
	assert_non_null(strstr(text, "dispatch +")); /* merged: marked, never guessed */
	f->view.fault_first = 3;
	text = draw(f, 24, 80);
	assert_null(strstr(text, "7f0000000000"));
	assert_non_null(strstr(text, "7f0000003000"));
}

static void detail_of_a_device_that_is_gone_does_not_crash(void **state)
{
	struct fixture *f = *state;

	f->view.screen = SCREEN_DETAIL;
	f->detail.device = 4711;
	assert_non_null(strstr(draw(f, 24, 80), "not shown any more"));
}

static void nothing_seen_is_an_answer(void **state)
{
	struct fixture *f = *state;
	const char *text;

	f->model.device_count = 0;
	f->model.watched[PATH_VFIO] = WATCHED_NOT;
	f->model.watched[PATH_MEMORY] = WATCHED_PARTLY;
	f->model.watched[PATH_BLOCK] = WATCHED_WHOLE;
	text = draw(f, 24, 80);
	assert_non_null(strstr(text, "No I/O page fault"));
	assert_non_null(strstr(text, "not shown  VFIO"));
	assert_non_null(strstr(text, "partly     memory"));
	assert_non_null(strstr(text, "shown      block requests"));
	assert_null(strstr(text, "iommufd"));
	assert_non_null(strstr(text, "`faultline doctor` says why"));
	text = draw(f, LAYOUT_MIN_ROWS, 80);
	assert_non_null(strstr(text, "1 kernel paths are watched, 1 in part, 1 not."));
	f->model.device_count = DEVICES;
	strcpy(f->view.filter, "nobody");
	assert_non_null(strstr(draw(f, 24, 80), "No device matches \"nobody\""));
}

static void state_of_the_view_is_told(void **state)
{
	struct fixture *f = *state;

	f->view.paused = true;
	assert_non_null(strstr(draw(f, 24, 80), "PAUSED"));
	f->view.typing = true;
	strcpy(f->view.filter, "disk");
	assert_non_null(strstr(draw(f, 24, 80), "filter: disk_"));
	f->model.replay = f->model.ended = true;
	assert_non_null(strstr(draw(f, 24, 80), "END OF RECORDING"));
	/* Page requests that were never served: only if there are any. */
	assert_null(strstr(f->text, "discarded"));
	f->model.summary.overflowed = 41;
	f->model.summary.discarded = 17;
	f->model.summary.abandoned = 5;
	draw(f, 24, 100);
	assert_non_null(strstr(f->text, "overflowed 41  discarded 17  abandoned 5"));
	/* Or if nobody knows. */
	f->model.unknown = UNKNOWN_OVERFLOWED | UNKNOWN_ABANDONED;
	f->model.summary.overflowed = 0;
	assert_non_null(strstr(draw(f, 24, 100), "overflowed -  discarded 17  abandoned -"));
	f->view.screen = SCREEN_DETAIL;
	f->detail.device = f->model.devices[0].live.handle;
	f->model.devices[0].live.discarded = 7;
	f->model.devices[0].live.abandoned = 3;
	assert_non_null(strstr(draw(f, 24, 120), "discarded 7  abandoned 3"));
	f->model.devices[0].live.unknown = UNKNOWN_DISCARDED;
	assert_non_null(strstr(draw(f, 24, 120), "discarded -  abandoned 3"));
	f->view.screen = SCREEN_MAIN;
	f->model.unknown = UNKNOWN_FAULTS;
	f->model.rate = NAN;
	assert_non_null(strstr(draw(f, 24, 80), "faults -/s  not watched"));
	assert_non_null(strstr(f->text, "[1 faults -]"));
	f->model.unknown = 0;
	f->model.summary.floor = true;
	assert_non_null(strstr(draw(f, 24, 80), "(floor)"));
}

/* Every size, every screen: under the sanitizers this finds writes outside the canvas. */
static void no_size_crashes(void **state)
{
	struct fixture *f = *state;

	for (int unicode = 0; unicode < 2; unicode++)
		for (int screen = SCREEN_MAIN; screen <= SCREEN_HELP; screen++)
			for (int rows = 1; rows <= 120; rows += 7)
				for (int columns = 1; columns <= 300; columns += 11) {
					f->canvas.unicode = unicode;
					f->view.screen = (enum top_screen)screen;
					draw(f, rows, columns);
					assert_int_equal(f->canvas.overdrawn, 0);
				}
}

static void hostile_names_cannot_steer_the_terminal(void **state)
{
	struct fixture *f = *state;

	strcpy(f->model.devices[0].name, "\033[2Jevil");
	strcpy(f->model.host, "\033]0;x\a");
	draw(f, 24, 80);
	for (int i = 0; i < f->canvas.rows * f->canvas.columns; i++)
		assert_true(f->canvas.cells[i].glyph >= ' ' && f->canvas.cells[i].glyph != 127);
}

#define with_model(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_model(a_silent_probe_is_on_the_screen),
		with_model(classic_terminal_shows_the_device_and_its_numbers),
		with_model(loss_and_own_cost_are_always_on_screen),
		with_model(small_terminal_says_so),
		with_model(no_word_is_cut_without_a_mark),
		with_model(what_is_left_out_is_marked),
		with_model(detail_shows_every_stage_and_the_last_faults),
		with_model(detail_of_a_device_that_is_gone_does_not_crash),
		with_model(nothing_seen_is_an_answer),
		with_model(state_of_the_view_is_told),
		with_model(no_size_crashes),
		with_model(hostile_names_cannot_steer_the_terminal),
	};

	return cmocka_run_group_tests_name("top draw", tests, NULL, NULL);
}
