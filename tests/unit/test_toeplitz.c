// SPDX-License-Identifier: GPL-2.0
/* Microsoft's published vectors, the hash bit by bit as the specification has it, and how flows are spread. */
#include "tests/unit/test.h"

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <string.h>

#include "injectors/emu/nic/toeplitz.h"
#include "lib/base/random.h"

#define IP(a, b, c, d) ((__u32)(a) << 24 | (b) << 16 | (c) << 8 | (d))

/* "Verifying the RSS Hash Calculation" of the Windows drivers' documentation. */
static const struct {
	__u32 destination;
	__u16 destination_port;
	__u32 source;
	__u16 source_port;
	__u32 addresses, ports;
} vectors[] = {
	{IP(161, 142, 100, 80), 1766, IP(66, 9, 149, 187), 2794, 0x323e8fc2, 0x51ccc178},
	{IP(65, 69, 140, 83), 4739, IP(199, 92, 111, 2), 14230, 0xd718262a, 0xc626b0ea},
	{IP(12, 22, 207, 184), 38024, IP(24, 19, 198, 95), 12898, 0xd2d0a5de, 0x5c2b394a},
	{IP(209, 142, 163, 6), 2217, IP(38, 27, 205, 30), 48228, 0x82989176, 0xafc7327f},
	{IP(202, 188, 127, 2), 1303, IP(153, 39, 163, 191), 44251, 0x5d1809c5, 0x10e828a2},
};

static void the_published_vectors_come_out(void **state)
{
	struct toeplitz toeplitz;

	toeplitz_init(&toeplitz, NULL);
	for (size_t i = 0; i < COUNT(vectors); i++) {
		assert_int_equal(
			toeplitz_addresses(&toeplitz, vectors[i].source, vectors[i].destination),
			vectors[i].addresses);
		assert_int_equal(toeplitz_ports(&toeplitz, vectors[i].source,
						vectors[i].destination, vectors[i].source_port,
						vectors[i].destination_port),
				 vectors[i].ports);
	}
}

/* For each set bit of the input, the leftmost 32 bits of the key, which goes one to the left with each. */
static __u32 bit_by_bit(const __u8 key[TOEPLITZ_KEY], const __u8 *input, unsigned int bytes)
{
	__u8 shifted[TOEPLITZ_KEY];
	__u32 hash = 0;

	memcpy(shifted, key, sizeof(shifted));
	for (unsigned int bit = 0; bit < bytes * 8; bit++) {
		if (input[bit / 8] & 0x80 >> bit % 8)
			hash ^= IP(shifted[0], shifted[1], shifted[2], shifted[3]);
		for (unsigned int i = 0; i < TOEPLITZ_KEY; i++)
			shifted[i] = (__u8)(shifted[i] << 1 |
					    (i + 1 < TOEPLITZ_KEY ? shifted[i + 1] >> 7 : 0));
	}
	return hash;
}

static void any_key_is_as_bit_by_bit(void **state)
{
	struct random random = {3};

	for (int i = 0; i < 50; i++) {
		struct toeplitz toeplitz;
		__u8 key[TOEPLITZ_KEY];

		for (int k = 0; k < TOEPLITZ_KEY; k++)
			key[k] = (__u8)random_next(&random);
		toeplitz_init(&toeplitz, key);
		for (int n = 0; n < 200; n++) {
			__u8 input[TOEPLITZ_INPUT];

			for (int k = 0; k < TOEPLITZ_INPUT; k++)
				input[k] = (__u8)random_next(&random);
			assert_int_equal(toeplitz_ports(&toeplitz,
							IP(input[0], input[1], input[2], input[3]),
							IP(input[4], input[5], input[6], input[7]),
							(__u16)(input[8] << 8 | input[9]),
							(__u16)(input[10] << 8 | input[11])),
					 bit_by_bit(key, input, TOEPLITZ_INPUT));
		}
	}
}

static void a_frame_is_hashed_by_what_all_of_its_flow_have(void **state)
{
	struct frame_info info = {.ip = 4,
				  .protocol = IPPROTO_TCP,
				  .source = vectors[0].source,
				  .destination = vectors[0].destination,
				  .source_port = vectors[0].source_port,
				  .destination_port = vectors[0].destination_port};
	struct steering steering;

	steering_init(&steering, 1);
	assert_int_equal(steering_hash(&steering, &info), vectors[0].ports);
	/* The first fragment has ports, the next ones do not. */
	info.fragment = true;
	assert_int_equal(steering_hash(&steering, &info), vectors[0].addresses);
	info.fragment = false;
	info.source_port = info.destination_port = 0;
	assert_int_equal(steering_hash(&steering, &info), vectors[0].addresses);
	info.ip = 6;
	info.source_port = 5;
	assert_int_equal(steering_hash(&steering, &info), 0);
}

static void each_queue_gets_its_share(void **state)
{
	static const unsigned int queues[] = {1, 2, 3, 16, 128};

	for (size_t i = 0; i < COUNT(queues); i++) {
		unsigned int hits[128] = {0}, frames = 128 * 200;
		struct steering steering;

		steering_init(&steering, queues[i]);
		for (unsigned int flow = 0; flow < frames; flow++) {
			struct frame_info info = {.ip = 4,
						  .protocol = IPPROTO_TCP,
						  .source = IP(10, 77, 0, 2),
						  .destination = IP(10, 77, 0, 1),
						  .source_port = (__u16)(20000 + flow),
						  .destination_port = 5201};
			unsigned int queue = steering_queue(&steering, &info);

			assert_true(queue < queues[i]);
			hits[queue]++;
		}
		for (unsigned int queue = 0; queue < queues[i]; queue++) {
			assert_true(hits[queue] > frames / queues[i] / 2);
			assert_true(hits[queue] < frames / queues[i] * 2);
		}
	}
}

static void an_entry_may_be_given_to_another_queue(void **state)
{
	struct frame_info info = {
		.ip = 4, .source = vectors[1].source, .destination = vectors[1].destination};
	struct steering steering;

	steering_init(&steering, 4);
	assert_int_equal(steering_queue(&steering, &info), vectors[1].addresses % 128 % 4);
	steering.queue[vectors[1].addresses % 128] = 3;
	assert_int_equal(steering_queue(&steering, &info), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_vectors_come_out),
		cmocka_unit_test(any_key_is_as_bit_by_bit),
		cmocka_unit_test(a_frame_is_hashed_by_what_all_of_its_flow_have),
		cmocka_unit_test(each_queue_gets_its_share),
		cmocka_unit_test(an_entry_may_be_given_to_another_queue),
	};

	return cmocka_run_group_tests_name("toeplitz", tests, NULL, NULL);
}
