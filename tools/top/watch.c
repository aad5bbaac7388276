// SPDX-License-Identifier: GPL-2.0
#include "tools/top/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/signals.h"
#include "tools/top/terminal.h"

/* Open at once: a live view need not hold the storms that a report can. */
#define OPEN_FAULTS 65536

volatile sig_atomic_t watch_signal;

static volatile sig_atomic_t continued;

static void watch_on_signal(int number)
{
	if (number == SIGCONT)
		continued = 1;
	else
		watch_signal = number;
}

static void catch_signals(void)
{
	static const int others[] = {SIGQUIT, SIGCONT};
	/* No SA_RESTART: a signal must end poll(). */
	const struct sigaction action = {.sa_handler = watch_on_signal};

	signals_catch_end(&action);
	signals_catch(&action, others, sizeof(others) / sizeof(others[0]));
}

int watch_open(struct top_watch *watch, const struct top_options *options)
{
	const struct analysis_config config = {.history_windows = TOP_HISTORY,
					       .last_faults = TOP_FAULTS,
					       .open_faults = OPEN_FAULTS,
					       .without_findings = true,
					       .windowed = true,
					       .slos = options->slos};
	int error;

	memset(watch, 0, sizeof(*watch));
	watch->options = options;
	top_view_init(&watch->view);
	top_view_show(&watch->view, options->view);
	watch->view.sort = options->sort;
	watch->view.reverse = options->reverse;
	watch->view.span = options->span;
	watch->view.interval_s = options->interval_s;
	watch->model.replay = options->input != NULL;
	error = analysis_create(&watch->analysis, &config);
	if (!error)
		error = collector_create(&watch->collector, watch->analysis, &options->filter,
					 options->window_ns);
	if (!error && options->batch)
		error = batch_open(&watch->batch, options, stdout);
	if (!error)
		catch_signals();
	return error;
}

struct stream watch_stream(struct top_watch *watch)
{
	return analysis_stream(watch->analysis);
}

__u64 watch_interval_ns(const struct top_watch *watch)
{
	return (__u64)(watch->view.interval_s * 1e9);
}

bool watch_done(const struct top_watch *watch)
{
	return watch_signal || watch->view.quit ||
	       (watch->options->count && watch->intervals >= watch->options->count);
}

static int watch_make_room(struct top_watch *watch)
{
	size_t room = watch->model.device_room + 1;
	__u32 *order;
	__u64 *ids;

	if (room <= watch->model.table.rows.count)
		room = watch->model.table.rows.count + 1;
	if (room <= watch->order_room)
		return 0;
	order = reallocarray(watch->order, room, sizeof(*order));
	if (order)
		watch->order = order;
	ids = reallocarray(watch->ids, room, sizeof(*ids));
	if (ids)
		watch->ids = ids;
	if (!order || !ids)
		return failed(-ENOMEM, "no memory for %zu rows", room);
	watch->order_room = room;
	return 0;
}

static void order_rows(struct top_watch *watch)
{
	const struct top_view *view = &watch->view;
	const struct top_model *model = &watch->model;
	const struct view_order by = {view->sort, view->reverse, view->filter,
				      &watch->options->filter};

	if (view->view == VIEW_FAULTS)
		watch->order_count = top_order(model, (enum top_sort)view->sort, view->reverse,
					       view->filter, watch->order);
	else
		watch->order_count =
			view_order(views[view->view], &model->table, &by, watch->order);
	for (size_t i = 0; i < watch->order_count; i++)
		watch->ids[i] = view->view == VIEW_FAULTS
					? model->devices[watch->order[i]].live.handle
					: model->table.ids[watch->order[i]];
}

static int sort_rows(struct top_watch *watch)
{
	int error = 0;

	/* Another view, or other latencies: its rows as they were at the last look. */
	if (watch->model.view != watch->view.view || watch->model.span != watch->view.span) {
		watch->model.view = watch->view.view;
		watch->model.span = watch->view.span;
		error = collect_table(watch->collector, &watch->model);
	}
	error = error ? error : watch_make_room(watch);
	if (error)
		return error;
	order_rows(watch);
	if (watch->options->rows && watch->order_count > watch->options->rows)
		watch->order_count = watch->options->rows;
	return 0;
}

static struct layout_wish wish_of(const struct top_watch *watch)
{
	struct layout_wish wish = {.faults = (int)watch->detail.fault_count};
	char finding[FINDING_TEXT];

	draw_finding_text(&watch->model.worst, finding);
	wish.finding = draw_sentence(NULL, NULL, watch->canvas.columns, STYLE_PLAIN, finding);
	if (watch->view.view != VIEW_FAULTS) {
		draw_view_wish(&watch->model, &wish);
		return wish;
	}
	for (size_t i = 0; i < watch->order_count; i++) {
		const struct top_device *device = &watch->model.devices[watch->order[i]];
		int name = (int)strlen(device->name), owner = (int)strlen(device->owner);

		wish.name_width = name > wish.name_width ? name : wish.name_width;
		wish.owner_width = owner > wish.owner_width ? owner : wish.owner_width;
	}
	return wish;
}

static struct top_rows watch_rows_of(const struct top_watch *watch)
{
	struct layout_wish wish = wish_of(watch);
	struct layout layout;

	layout_main(&layout, watch->canvas.rows, watch->canvas.columns, &wish);
	return (struct top_rows){watch->ids, watch->order_count, layout.table.rows};
}

static int take_detail(struct top_watch *watch)
{
	const struct top_view *view = &watch->view;

	if (view->screen != SCREEN_DETAIL)
		return 0;
	if (view->view != VIEW_FAULTS) {
		watch->detail.device = 0;
		return view->paused && watch->detail.row == view->selected
			       ? 0
			       : collect_row(watch->collector, &watch->detail, view);
	}
	/* A device opened while the screen is paused is shown as it is now. */
	if (!view->paused || watch->detail.device != view->selected)
		collect_detail(watch->collector, &watch->detail, (__u32)view->selected);
	return 0;
}

static int watch_redraw(struct top_watch *watch)
{
	struct top_view *view = &watch->view;
	struct layout_wish wish;
	struct layout layout;
	struct top_rows rows;
	int height, width, error;

	terminal_size(&height, &width);
	error = canvas_resize(&watch->canvas, height, width);
	if (error)
		return failed(error, "no memory for a screen of %dx%d", width, height);
	error = sort_rows(watch);
	if (error)
		return error;
	error = take_detail(watch);
	if (error)
		return error;
	wish = wish_of(watch);
	if (view->screen == SCREEN_DETAIL)
		layout_detail(&layout, height, width, &wish);
	else
		layout_main(&layout, height, width, &wish);
	rows = watch_rows_of(watch);
	draw_screen(&watch->canvas,
		    &(struct top_picture){.model = &watch->model,
					  .detail = &watch->detail,
					  .view = view,
					  .layout = &layout,
					  .order = watch->order,
					  .count = watch->order_count,
					  .selected = top_view_settle(view, &rows)});
	terminal_show(&watch->canvas);
	return 0;
}

int watch_start(struct top_watch *watch)
{
	int error;

	if (watch->batch)
		return 0;
	error = collect_model(watch->collector, &watch->model);
	if (!error)
		error = terminal_open();
	if (error)
		return error;
	watch->on_terminal = true;
	watch->canvas.unicode = terminal_unicode();
	return watch_redraw(watch);
}

int watch_keys(struct top_watch *watch, int timeout_ms)
{
	int key, rows, columns, error = 0;
	bool changed = false;

	/* After a SIGSTOP nobody has told the terminal; the shell has written over the screen. */
	if (continued) {
		continued = 0;
		terminal_resume();
		changed = true;
	}
	/* Only the first key is waited for; what was typed meanwhile follows at once. */
	for (; (key = terminal_key(timeout_ms)) >= 0; timeout_ms = 0) {
		struct top_rows shown = watch_rows_of(watch);

		top_view_key(&watch->view, key, &shown);
		error = sort_rows(watch);
		if (error)
			return error;
		changed = true;
	}
	if (key != TERMINAL_NO_KEY)
		return failed(key, "the terminal has gone");
	terminal_size(&rows, &columns);
	if (changed || rows != watch->canvas.rows || columns != watch->canvas.columns)
		error = watch_redraw(watch);
	return error;
}

int watch_interval(struct top_watch *watch, __u64 now_ns, bool show)
{
	int error = collect_observe(watch->collector, now_ns, watch_interval_ns(watch),
				    watch->model.ended);

	watch->intervals++;
	if (!error && !watch->view.paused) {
		watch->model.view = watch->view.view;
		watch->model.span = watch->view.span;
		error = collect_model(watch->collector, &watch->model);
	}
	if (!error && watch->batch)
		error = sort_rows(watch);
	if (error)
		return error;
	if (watch->batch)
		return batch_interval(watch->batch, &watch->model, watch->order,
				      watch->order_count);
	return show ? watch_redraw(watch) : 0;
}

int watch_close(struct top_watch *watch)
{
	int error;

	if (watch->on_terminal)
		terminal_close();
	error = batch_close(watch->batch);
	collector_destroy(watch->collector);
	analysis_destroy(watch->analysis);
	top_model_free(&watch->model);
	canvas_free(&watch->canvas);
	top_detail_free(&watch->detail);
	free(watch->order);
	free(watch->ids);
	return error;
}
