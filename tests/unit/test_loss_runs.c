// SPDX-License-Identifier: GPL-2.0
/* Which frames share a run, when it is told, and against a simple model that every frame is told once. */
#include "tests/unit/test.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "injectors/emu/nic/loss_runs.h"
#include "injectors/emu/probes.h"
#include "lib/base/random.h"

#define TOLD 256

struct told {
	struct frame_run runs[TOLD];
	size_t count;
};

static void keep(void *argument, const struct frame_run *run)
{
	struct told *told = argument;

	assert_true(told->count < TOLD);
	told->runs[told->count++] = *run;
}

static struct loss_runs *create(unsigned int room, struct told *told)
{
	struct loss_runs *runs;

	assert_int_equal(loss_runs_create(&runs, room, keep, told), 0);
	return runs;
}

static struct frame_run lost(unsigned int flow, __u32 first, __u32 end, __u64 since)
{
	struct frame_info info = {.length = 54 + end - first,
				  .ip = 4,
				  .protocol = IPPROTO_TCP,
				  .source = 0x0a4d0002,
				  .destination = 0x0a4d0001,
				  .source_port = (__u16)flow,
				  .destination_port = 5201,
				  .sequenced = true,
				  .first = first,
				  .end = end};

	return frame_run_of(&info, RUN_LOST, LOSS_NO_BUFFER, since);
}

static struct frame_run faulted(unsigned int flow, __u32 first, __u32 end, __u32 group)
{
	struct frame_run run = lost(flow, first, end, 1);

	run.code = LOSS_FAULT;
	run.blames = true;
	run.pasid = 9;
	run.group = group;
	return run;
}

static bool same(const struct frame_run *a, const struct frame_run *b)
{
	return a->addresses == b->addresses && a->ports == b->ports && a->bytes == b->bytes &&
	       a->since == b->since && a->first == b->first && a->end == b->end &&
	       a->frames == b->frames && a->pasid == b->pasid && a->group == b->group &&
	       a->blames == b->blames && a->kind == b->kind && a->code == b->code;
}

static void add(struct loss_runs *runs, struct frame_run frame)
{
	loss_runs_add(runs, &frame);
}

static void frames_that_follow_are_one_run(void **state)
{
	struct told told = {0};
	struct loss_runs *runs = create(8, &told);

	add(runs, lost(1, 0xffffff00, 0x00, 5));
	add(runs, lost(2, 500, 600, 6));
	add(runs, lost(1, 0x00, 0x64, 7));
	add(runs, lost(1, 0x64, 0x65, 9));
	assert_int_equal(told.count, 0);
	assert_int_equal(loss_runs_open(runs), 2);
	loss_runs_flush(runs);
	assert_int_equal(told.count, 2);
	assert_int_equal(loss_runs_open(runs), 0);
	assert_int_equal(told.runs[0].first, 0xffffff00);
	assert_int_equal(told.runs[0].end, 0x65);
	assert_int_equal(told.runs[0].frames, 3);
	assert_int_equal(told.runs[0].bytes, 3 * 54 + 256 + 100 + 1);
	assert_int_equal(told.runs[0].since, 5);
	assert_int_equal(told.runs[0].kind, RUN_LOST);
	assert_int_equal(told.runs[0].code, LOSS_NO_BUFFER);
	assert_int_equal(told.runs[1].first, 500);
	assert_int_equal(told.runs[1].frames, 1);
	assert_true(told.runs[1].ports == (2ull << 32 | 5201 << 16 | IPPROTO_TCP));
	loss_runs_flush(runs);
	assert_int_equal(told.count, 2);
	loss_runs_destroy(runs);
}

/* Whatever makes it another run, the one before is told at once. */
static void a_run_is_of_one_kind(void **state)
{
	struct frame_run next[] = {
		lost(1, 201, 300, 2), /* a hole */
		lost(1, 199, 300, 2), /* again */
		faulted(1, 200, 300, 7), lost(1, 200, 300, 2), lost(1, 200, 300, 2),
		lost(1, 200, 300, 2),	 lost(1, 200, 300, 2), lost(1, 200, 300, 2),
	};
	bool ends[] = {true, true, true, true, true, true, true, false};

	next[3].code = LOSS_CACHE_FULL;
	next[4].blames = true;
	next[5].group = 3;
	next[6].pasid = 3;
	next[7].kind = RUN_HELD;
	for (size_t i = 0; i < COUNT(next); i++) {
		struct told told = {0};
		struct loss_runs *runs = create(8, &told);

		add(runs, lost(1, 100, 200, 1));
		add(runs, next[i]);
		assert_int_equal(told.count, ends[i]);
		assert_int_equal(loss_runs_open(runs), 2 - ends[i]);
		loss_runs_flush(runs);
		assert_int_equal(told.count, 2);
		assert_int_equal(told.runs[0].end, 200);
		assert_true(same(&told.runs[1], &next[i]));
		loss_runs_destroy(runs);
	}
}

/* The hash that runs are found by does not tell these apart. */
static void flows_of_one_hash_stay_apart(void **state)
{
	const struct frame_run frames[] = {
		{.frames = 1},
		{.frames = 1, .addresses = 0xf1de83e19937733dull},
		{.frames = 1, .ports = 0xde83e19937733dull},
		{.frames = 1, .kind = RUN_HELD},
	};
	struct told told = {0};
	struct loss_runs *runs = create(8, &told);

	for (size_t i = 0; i < 3 * COUNT(frames); i++)
		add(runs, frames[i % COUNT(frames)]);
	assert_int_equal(told.count, 0);
	assert_int_equal(loss_runs_open(runs), COUNT(frames));
	loss_runs_flush(runs);
	for (size_t i = 0; i < COUNT(frames); i++)
		assert_int_equal(told.runs[i].frames, 3);
	loss_runs_destroy(runs);
}

static void datagrams_go_on_without_numbers(void **state)
{
	struct frame_info info = {.length = 100, .ip = 4, .protocol = IPPROTO_UDP, .source = 1};
	struct told told = {0};
	struct loss_runs *runs = create(8, &told);

	for (__u64 i = 0; i < 10; i++)
		add(runs, frame_run_of(&info, RUN_HELD, HOLD_CACHE, 50 + i));
	info.source = 2;
	add(runs, frame_run_of(&info, RUN_HELD, HOLD_CACHE, 70));
	loss_runs_flush(runs);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.runs[0].frames, 10);
	assert_int_equal(told.runs[0].bytes, 1000);
	assert_int_equal(told.runs[0].since, 50);
	assert_int_equal(told.runs[0].first | told.runs[0].end, 0);
	loss_runs_destroy(runs);
}

static void the_oldest_makes_room(void **state)
{
	struct told told = {0};
	struct loss_runs *runs = create(3, &told);

	for (unsigned int flow = 1; flow <= 3; flow++)
		add(runs, lost(flow, 100, 200, flow));
	/* To go on does not make it younger. */
	add(runs, lost(1, 200, 300, 4));
	assert_int_equal(told.count, 0);
	add(runs, lost(4, 100, 200, 5));
	assert_int_equal(told.count, 1);
	assert_int_equal(told.runs[0].frames, 2);
	add(runs, lost(3, 700, 800, 6));
	assert_int_equal(told.count, 2);
	add(runs, lost(5, 100, 200, 7));
	assert_int_equal(told.count, 3);
	assert_int_equal(told.runs[2].ports >> 32, 2);
	loss_runs_flush(runs);
	assert_int_equal(told.count, 6);
	assert_int_equal(told.runs[3].ports >> 32, 4);
	assert_int_equal(told.runs[4].ports >> 32, 3);
	assert_int_equal(told.runs[5].ports >> 32, 5);
	loss_runs_destroy(runs);
}

static void a_fault_that_is_over_tells_its_own(void **state)
{
	struct told told = {0};
	struct loss_runs *runs = create(8, &told);
	struct frame_run other = faulted(5, 0, 10, 7);

	add(runs, lost(1, 0, 10, 1));
	add(runs, faulted(2, 0, 10, 7));
	add(runs, faulted(3, 0, 10, 8));
	add(runs, faulted(4, 0, 10, 7));
	other.pasid = 10;
	add(runs, other);
	/* Blames nobody, whatever the words are. */
	other = faulted(6, 0, 10, 7);
	other.blames = false;
	add(runs, other);
	loss_runs_fault_over(runs, 9, 7);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.runs[0].ports >> 32, 2);
	assert_int_equal(told.runs[1].ports >> 32, 4);
	assert_int_equal(loss_runs_open(runs), 4);
	loss_runs_fault_over(runs, 9, 7);
	assert_int_equal(told.count, 2);
	loss_runs_destroy(runs);
}

static void old_runs_can_be_told(void **state)
{
	struct told told = {0};
	struct loss_runs *runs = create(8, &told);

	add(runs, lost(1, 0, 10, 100));
	add(runs, lost(2, 0, 10, 50)); /* held since then, and got its buffer later */
	add(runs, lost(3, 0, 10, 200));
	loss_runs_flush_older(runs, 100);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.runs[0].ports >> 32, 2);
	loss_runs_flush_older(runs, 201);
	assert_int_equal(told.count, 3);
	loss_runs_destroy(runs);
}

static void a_run_is_never_longer_than_its_words(void **state)
{
	struct told told = {0};
	struct loss_runs *runs = create(8, &told);
	struct frame_run frame = lost(1, 0, 0, 1);

	frame.bytes = RUN_BYTES_MAX - 1;
	add(runs, frame);
	frame.bytes = 1;
	add(runs, frame);
	assert_int_equal(told.count, 0);
	add(runs, frame);
	assert_int_equal(told.count, 1);
	assert_true(told.runs[0].bytes == RUN_BYTES_MAX);
	loss_runs_destroy(runs);
}

static void a_probe_has_its_words(void **state)
{
	struct frame_run run = faulted(3, 1000, 2000, 0x1ff);
	struct frames_probe probe;

	run.frames = 5;
	frame_run_probe(&run, 2, 6, &probe);
	assert_int_equal(probe.device, 2);
	assert_int_equal(probe.queue, 6);
	assert_true(probe.addresses == run.addresses);
	assert_true(probe.ports == run.ports);
	assert_true(probe.sequence == (1000ull << 32 | 2000));
	assert_true(probe.frames == (5ull << 32 | 1054));
	assert_int_equal(probe.since, 1);
	assert_true(probe.code == (LOSS_FAULT | 0x200 << 8 | 9ull << 32));
	run.group = 0;
	frame_run_probe(&run, 2, 6, &probe);
	assert_true(probe.code == (LOSS_FAULT | 1 << 8 | 9ull << 32));
	run.blames = false;
	frame_run_probe(&run, 2, 6, &probe);
	assert_true(probe.code == LOSS_FAULT);
}

static void odd_numbers_of_runs_are_refused(void **state)
{
	struct loss_runs *runs;

	assert_int_equal(loss_runs_create(&runs, 0, keep, NULL), -EINVAL);
	assert_int_equal(loss_runs_create(&runs, LOSS_RUNS_MAX + 1, keep, NULL), -EINVAL);
	assert_int_equal(loss_runs_create(&runs, LOSS_RUNS_MAX, keep, NULL), 0);
	loss_runs_destroy(runs);
	loss_runs_destroy(NULL);
}

/* The model: open runs in the order of their opening, all of it done the slow way. */
struct model {
	struct frame_run open[LOSS_RUNS_MAX];
	size_t count, room;
	struct told told;
};

static void model_end(struct model *model, size_t i)
{
	model->told.runs[model->told.count++] = model->open[i];
	memmove(model->open + i, model->open + i + 1,
		(--model->count - i) * sizeof(model->open[0]));
}

static void model_add(struct model *model, const struct frame_run *frame)
{
	for (size_t i = 0; i < model->count; i++) {
		struct frame_run *run = &model->open[i], joined = *run;

		if (run->addresses != frame->addresses || run->ports != frame->ports ||
		    run->kind != frame->kind)
			continue;
		joined.first = frame->first;
		joined.end = frame->end;
		joined.bytes = frame->bytes;
		joined.frames = 1;
		joined.since = frame->since;
		if (run->end == frame->first && same(&joined, frame)) {
			run->end = frame->end;
			run->frames++;
			run->bytes += frame->bytes;
			return;
		}
		model_end(model, i);
		break;
	}
	if (model->count == model->room)
		model_end(model, 0);
	model->open[model->count++] = *frame;
}

static struct frame_run random_frame(struct random *random, __u32 next[], __u64 now)
{
	unsigned int flow = (unsigned int)random_below(random, 20);
	__u32 first = next[flow] - (random_below(random, 10) ? 0 : 50);
	struct frame_run frame = lost(flow, first, first + 100, now);

	next[flow] = first + 100;
	if (!random_below(random, 10))
		frame.kind = RUN_HELD;
	if (random_below(random, 2)) {
		frame.blames = true;
		frame.code = LOSS_FAULT;
		frame.group = flow % 4 + !random_below(random, 20);
	}
	return frame;
}

static void runs_are_those_of_the_model(void **state)
{
	static struct model model;
	__u32 next[20] = {0};
	struct random random = {6};
	size_t runs_told = 0, frames_told = 0, frames = 0;

	for (unsigned int run = 0; run < 40; run++) {
		struct told told = {0};
		struct loss_runs *runs = create(1 + run, &told);

		memset(&model, 0, sizeof(model));
		model.room = 1 + run;
		for (__u64 now = 0; now <= 3000; now++) {
			struct frame_run frame = random_frame(&random, next, now);
			__u32 group = (__u32)random_below(&random, 5);

			told.count = model.told.count = 0;
			if (now == 3000) {
				loss_runs_flush(runs);
				while (model.count)
					model_end(&model, 0);
			} else if (random_below(&random, 50)) {
				loss_runs_add(runs, &frame);
				model_add(&model, &frame);
				frames++;
			} else {
				loss_runs_fault_over(runs, 0, group);
				for (size_t i = 0; i < model.count;) {
					if (model.open[i].blames && model.open[i].group == group)
						model_end(&model, i);
					else
						i++;
				}
			}
			assert_int_equal(told.count, model.told.count);
			assert_int_equal(loss_runs_open(runs), model.count);
			runs_told += told.count;
			for (size_t i = 0; i < told.count; i++) {
				assert_true(same(&told.runs[i], &model.told.runs[i]));
				frames_told += told.runs[i].frames;
			}
		}
		loss_runs_destroy(runs);
	}
	assert_int_equal(frames_told, frames);
	assert_true(runs_told < frames && runs_told > frames / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_that_follow_are_one_run),
		cmocka_unit_test(a_run_is_of_one_kind),
		cmocka_unit_test(flows_of_one_hash_stay_apart),
		cmocka_unit_test(datagrams_go_on_without_numbers),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(a_fault_that_is_over_tells_its_own),
		cmocka_unit_test(old_runs_can_be_told),
		cmocka_unit_test(a_run_is_never_longer_than_its_words),
		cmocka_unit_test(a_probe_has_its_words),
		cmocka_unit_test(odd_numbers_of_runs_are_refused),
		cmocka_unit_test(runs_are_those_of_the_model),
	};

	return cmocka_run_group_tests_name("loss runs", tests, NULL, NULL);
}
