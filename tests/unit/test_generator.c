// SPDX-License-Identifier: GPL-2.0
/* Generated frames are sound, always the same and never alike; what happens to them on the way is found. */
#include "tests/unit/test.h"

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/nic/frame.h"
#include "injectors/emu/nic/generator.h"
#include "lib/base/random.h"

#define LONGEST 9000
#define FLOWS	5
#define NUMBERS 6000

static struct traffic_config traffic(__u32 flows, __u64 size)
{
	return (struct traffic_config){.name = "x",
				       .flows = flows,
				       .sizes = {size},
				       .size_weights = {1},
				       .size_count = 1,
				       .seed = 7};
}

static struct generator *create(const struct traffic_config *config)
{
	struct generator *generator;

	assert_int_equal(generator_create(&generator, config), 0);
	return generator;
}

static struct verifier *create_verifier(const struct traffic_config *config)
{
	struct verifier *verifier;

	assert_int_equal(verifier_create(&verifier, config), 0);
	return verifier;
}

/* Memory that ends with the frame. */
static __u8 *next(struct generator *generator, __u32 length)
{
	__u8 *frame = malloc(length);

	assert_non_null(frame);
	assert_int_equal(generator_next(generator, frame, length), length);
	return frame;
}

/* RFC 1071, byte by byte; 0xffff is a sum that includes its own checksum. */
static __u32 sum_of(const __u8 *bytes, size_t length, __u32 sum)
{
	for (size_t i = 0; i < length; i++)
		sum += i % 2 ? bytes[i] : (__u32)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void frames_of_all_sizes_are_sound(void **state)
{
	for (__u32 length = 64; length <= LONGEST; length += length < 200 ? 1 : 97) {
		struct traffic_config config = traffic(3, length);
		struct generator *generator = create(&config);

		for (int i = 0; i < 6; i++) {
			__u8 *frame = next(generator, length);
			struct frame_info info;

			assert_int_equal(frame_parse(frame, length, false, &info), 0);
			assert_int_equal(info.ip, 4);
			assert_int_equal(info.protocol, IPPROTO_UDP);
			assert_int_equal(info.payload, length - 42);
			assert_false(info.truncated);
			assert_int_equal(sum_of(frame + 14, 20, 0), 0xffff);
			/* Content begins with the word that it follows from. */
			assert_memory_equal(frame + 62, frame + 54, length < 70 ? length - 62 : 8);
			assert_int_equal(
				sum_of(frame + 26, length - 26, IPPROTO_UDP + (length - 34)),
				0xffff);
			free(frame);
		}
		generator_destroy(generator);
	}
}

static void flows_come_in_turn_and_differ(void **state)
{
	struct traffic_config config = traffic(4096, 64);
	struct generator *generator = create(&config);
	struct frame_info first[4096];
	__u64 number;

	for (__u32 i = 0; i < 3 * 4096; i++) {
		__u8 *frame = next(generator, 64);
		struct frame_info info;

		frame_parse(frame, 64, false, &info);
		assert_true(generated_number(frame, 64, &number));
		assert_int_equal(number, i / 4096);
		if (i < 4096) {
			first[i] = info;
			for (__u32 k = 0; k < i; k++)
				assert_false(frame_addresses(&info) == frame_addresses(&first[k]) &&
					     frame_ports(&info) == frame_ports(&first[k]));
		} else {
			assert_true(frame_addresses(&info) == frame_addresses(&first[i % 4096]));
			assert_true(frame_ports(&info) == frame_ports(&first[i % 4096]));
		}
		free(frame);
	}
	generator_destroy(generator);
}

static void only_generated_frames_have_a_number(void **state)
{
	struct traffic_config config = traffic(1, 64);
	struct generator *generator = create(&config);
	__u64 number = 77;
	__u8 *frame = next(generator, 64), longer[65] = {0};

	memcpy(longer, frame, 64);
	assert_false(generated_number(longer, 65, &number));
	longer[17] = 61 - 14;
	assert_false(generated_number(longer, 61, &number));
	frame[37]++;
	assert_false(generated_number(frame, 64, &number));
	assert_int_equal(number, 77);
	frame[37]--;
	assert_true(generated_number(frame, 64, &number));
	assert_int_equal(number, 0);
	free(frame);
	generator_destroy(generator);
}

static void a_seed_makes_the_same_frames(void **state)
{
	struct traffic_config config = traffic(2, 300);
	struct generator *one = create(&config), *same = create(&config), *other;

	config.seed = 8;
	other = create(&config);
	for (int i = 0; i < 10; i++) {
		__u8 *a = next(one, 300), *b = next(same, 300), *c = next(other, 300);

		assert_memory_equal(a, b, 300);
		assert_memory_not_equal(a + 62, c + 62, 300 - 62);
		free(a);
		free(b);
		free(c);
	}
	generator_destroy(one);
	generator_destroy(same);
	generator_destroy(other);
}

static int compare_words(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(__u64));
}

/* The word that the content follows from, of each flow, number and length. */
static void no_two_frames_are_alike(void **state)
{
	static __u64 words[3000];
	size_t count = 0;

	for (__u32 length = 64; length < 67; length++) {
		struct traffic_config config = traffic(10, length);
		struct generator *generator = create(&config);

		for (int i = 0; i < 1000; i++) {
			__u8 *frame = next(generator, length);

			memcpy(&words[count++], frame + 54, sizeof(words[0]));
			free(frame);
		}
		generator_destroy(generator);
	}
	qsort(words, count, sizeof(words[0]), compare_words);
	for (size_t i = 1; i < count; i++)
		assert_true(words[i] != words[i - 1]);
}

/* Of 65535 datagrams one has a sum of 0, which would say that nobody summed. */
static void no_frame_is_without_a_checksum(void **state)
{
	struct traffic_config config = traffic(1, 64);
	struct generator *generator = create(&config);
	unsigned int all_ones = 0;

	for (int i = 0; i < 500000; i++) {
		__u8 frame[64];

		generator_next(generator, frame, sizeof(frame));
		assert_true(frame[40] | frame[41]);
		all_ones += frame[40] == 0xff && frame[41] == 0xff;
	}
	assert_true(all_ones > 0);
	generator_destroy(generator);
}

static void sizes_come_by_their_weights(void **state)
{
	struct traffic_config config = traffic(1, 64);
	__u8 frame[LONGEST];
	unsigned int count[3] = {0}, differ = 0;
	struct generator *generator, *other;

	config.sizes[1] = 1514;
	config.sizes[2] = 9000;
	config.size_weights[0] = 70;
	config.size_weights[1] = 30;
	config.size_weights[2] = 0;
	config.size_count = 3;
	generator = create(&config);
	for (int i = 0; i < 10000; i++) {
		__u32 length = generator_next(generator, frame, sizeof(frame));

		count[length == 64 ? 0 : length == 1514 ? 1 : 2]++;
	}
	assert_in_range(count[0], 6800, 7200);
	assert_int_equal(count[0] + count[1], 10000);
	generator_destroy(generator);
	/* Which comes when is the seed's. */
	generator = create(&config);
	config.seed = 8;
	other = create(&config);
	for (int i = 0; i < 100; i++)
		differ += generator_next(generator, frame, sizeof(frame)) !=
			  generator_next(other, frame, sizeof(frame));
	assert_true(differ > 0);
	generator_destroy(other);
	generator_destroy(generator);
}

static void what_has_no_room_is_cut(void **state)
{
	struct traffic_config config = traffic(2, 100);
	struct generator *generator = create(&config);
	struct verifier *verifier = create_verifier(&config);
	__u8 frame[100];
	__u64 number;

	/* Longer than the room that it had, and of its flow all the same. */
	assert_int_equal(generator_next(generator, frame, 99), 100);
	assert_true(generated_number(frame, 100, &number));
	assert_int_equal(number, 0);
	assert_int_equal(generator_next(generator, frame, 100), 100);
	assert_int_equal(verifier_check(verifier, frame, 100), FRAME_GOOD);
	assert_int_equal(generator_next(generator, frame, 100), 100);
	assert_int_equal(verifier_check(verifier, frame, 100), FRAME_AFTER_GAP);
	assert_int_equal(verifier_missing(verifier), 1);
	verifier_destroy(verifier);
	generator_destroy(generator);
}

static void frames_are_due_by_their_rate(void **state)
{
	struct traffic_config config = traffic(1, 64);
	struct generator *generator;
	__u8 frame[64];

	config.rate = 1000;
	config.count = 3;
	generator = create(&config);
	assert_true(generator_due(generator, SECOND, SECOND) == 0);
	generator_next(generator, frame, sizeof(frame));
	assert_true(generator_due(generator, SECOND, SECOND) == SECOND + MS);
	assert_true(generator_due(generator, SECOND, SECOND + MS) == 0);
	generator_next(generator, frame, sizeof(frame));
	generator_next(generator, frame, sizeof(frame));
	assert_true(generator_due(generator, SECOND, 5 * SECOND) == ~0ull);
	generator_destroy(generator);
	config.count = 0;
	config.duration_ns = 2 * MS;
	generator = create(&config);
	generator_next(generator, frame, sizeof(frame));
	assert_true(generator_due(generator, SECOND, SECOND) == SECOND + MS);
	assert_true(generator_due(generator, SECOND, SECOND + 2 * MS) == ~0ull);
	generator_next(generator, frame, sizeof(frame));
	assert_true(generator_due(generator, SECOND, SECOND) == ~0ull);
	generator_destroy(generator);
	config.rate = 0;
	generator = create(&config);
	for (int i = 0; i < 10; i++)
		generator_next(generator, frame, sizeof(frame));
	assert_true(generator_due(generator, SECOND, SECOND) == 0);
	assert_true(generator_due(generator, SECOND, SECOND + 2 * MS) == ~0ull);
	generator_destroy(generator);
}

/* Every bit that changes and every byte that is missing is found, and counts as no frame. */
static void damage_is_found(void **state)
{
	static const __u32 lengths[] = {64, 70, 77, 78, 79, 85, 94, 1514};

	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct traffic_config config = traffic(FLOWS, lengths[i]);
		struct generator *generator = create(&config);
		struct verifier *verifier = create_verifier(&config);
		__u8 *frame = next(generator, lengths[i]);

		for (__u32 bit = 0; bit < lengths[i] * 8; bit++) {
			frame[bit / 8] ^= (__u8)(1 << bit % 8);
			assert_int_equal(verifier_check(verifier, frame, lengths[i]),
					 FRAME_DAMAGED);
			frame[bit / 8] ^= (__u8)(1 << bit % 8);
		}
		for (__u32 length = 0; length < lengths[i]; length++)
			assert_int_equal(verifier_check(verifier, frame, length), FRAME_DAMAGED);
		assert_int_equal(verifier_check(verifier, frame, lengths[i]), FRAME_GOOD);
		assert_int_equal(verifier_missing(verifier), 0);
		free(frame);
		verifier_destroy(verifier);
		generator_destroy(generator);
	}
}

static void frames_of_others_are_not_ours(void **state)
{
	struct traffic_config config = traffic(2, 64), fewer = traffic(1, 64), other = config;
	struct generator *generator = create(&config);
	struct verifier *verifier = create_verifier(&fewer), *seeded;
	__u8 *first = next(generator, 64), *second = next(generator, 64);
	static __u8 longest[70000];

	other.seed = 8;
	seeded = create_verifier(&other);
	assert_int_equal(verifier_check(verifier, second, 64), FRAME_DAMAGED);
	assert_int_equal(verifier_check(verifier, first, 64), FRAME_GOOD);
	assert_int_equal(verifier_check(seeded, first, 64), FRAME_DAMAGED);
	/* No IPv4 packet is that long. */
	config.sizes[0] = sizeof(longest);
	generator_destroy(generator);
	generator = create(&config);
	assert_int_equal(generator_next(generator, longest, sizeof(longest)), sizeof(longest));
	assert_int_equal(verifier_check(verifier, longest, sizeof(longest)), FRAME_DAMAGED);
	free(first);
	free(second);
	verifier_destroy(seeded);
	verifier_destroy(verifier);
	generator_destroy(generator);
}

/* Frames are dropped, repeated and exchanged; the model is who has come and who was expected. */
static void the_way_of_each_frame_is_found(void **state)
{
	static __u8 frames[NUMBERS * FLOWS][64];
	static bool come[FLOWS][NUMBERS];
	struct traffic_config config = traffic(FLOWS, 64);
	struct generator *generator = create(&config);
	struct verifier *verifier = create_verifier(&config);
	struct random random = {5};
	__u64 expected[FLOWS] = {0}, missing = 0;
	unsigned int verdicts[FRAME_DAMAGED + 1] = {0};

	for (size_t i = 0; i < COUNT(frames); i++)
		generator_next(generator, frames[i], 64);
	for (size_t at = 0; at < COUNT(frames); at++) {
		size_t back = random_below(&random, 20) ? 0 : random_below(&random, 24000);
		size_t i = back < at ? at - back : at;
		__u64 flow = i % FLOWS, number = i / FLOWS;
		enum frame_verdict should = FRAME_GOOD;

		if (random_below(&random, 10) == 0)
			continue;
		if (number > expected[flow]) {
			should = FRAME_AFTER_GAP;
			missing += number - expected[flow];
		} else if (number < expected[flow]) {
			bool known = expected[flow] - number <= VERIFIER_WINDOW;

			should = known && !come[flow][number] ? FRAME_LATE : FRAME_TWICE;
			missing -= should == FRAME_LATE;
		}
		if (number >= expected[flow])
			expected[flow] = number + 1;
		come[flow][number] = true;
		assert_int_equal(verifier_check(verifier, frames[i], 64), should);
		assert_true(verifier_missing(verifier) == missing);
		verdicts[should]++;
	}
	for (int verdict = FRAME_GOOD; verdict < FRAME_DAMAGED; verdict++)
		assert_true(verdicts[verdict] > 50);
	verifier_destroy(verifier);
	generator_destroy(generator);
}

/* A gap longer than the window leaves nothing of what came a window before. */
static void a_long_gap_forgets_who_came(void **state)
{
	struct traffic_config config = traffic(1, 64);
	struct generator *generator = create(&config);
	struct verifier *verifier = create_verifier(&config);
	__u8 *frames = malloc(3 * VERIFIER_WINDOW * 64);

	assert_non_null(frames);
	for (size_t i = 0; i < 3 * VERIFIER_WINDOW; i++)
		generator_next(generator, frames + i * 64, 64);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(verifier_check(verifier, frames + i * 64, 64), FRAME_GOOD);
	for (size_t i = 2 * VERIFIER_WINDOW + 520; i >= VERIFIER_WINDOW + 521; i--) {
		enum frame_verdict should =
			i == 2 * VERIFIER_WINDOW + 520 ? FRAME_AFTER_GAP : FRAME_LATE;

		assert_int_equal(verifier_check(verifier, frames + i * 64, 64), should);
	}
	assert_int_equal(verifier_missing(verifier), VERIFIER_WINDOW + 511);
	assert_int_equal(verifier_check(verifier, frames + (VERIFIER_WINDOW + 520) * 64, 64),
			 FRAME_TWICE);
	free(frames);
	verifier_destroy(verifier);
	generator_destroy(generator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_all_sizes_are_sound),
		cmocka_unit_test(flows_come_in_turn_and_differ),
		cmocka_unit_test(only_generated_frames_have_a_number),
		cmocka_unit_test(a_seed_makes_the_same_frames),
		cmocka_unit_test(no_two_frames_are_alike),
		cmocka_unit_test(no_frame_is_without_a_checksum),
		cmocka_unit_test(sizes_come_by_their_weights),
		cmocka_unit_test(what_has_no_room_is_cut),
		cmocka_unit_test(frames_are_due_by_their_rate),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(frames_of_others_are_not_ours),
		cmocka_unit_test(the_way_of_each_frame_is_found),
		cmocka_unit_test(a_long_gap_forgets_who_came),
	};

	return cmocka_run_group_tests_name("generator", tests, NULL, NULL);
}
