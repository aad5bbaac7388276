// SPDX-License-Identifier: GPL-2.0
/* Messages of the IOTLB that make no sense, answers that nobody asked for, and more translations than there is room for. */
#include "tests/unit/iommu_rig.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/random.h"
#include "tests/unit/scratch.h"

/* Each of them is the end of its connection, and of nothing else. */
static void messages_that_make_no_sense_are_refused(void **state)
{
	const struct vhost_user_iotlb cases[] = {
		{FRONTEND_IOVA, 0, FRONTEND_USER, 3, VHOST_USER_IOTLB_UPDATE},
		{FRONTEND_IOVA, PAGE_BYTES - 1, FRONTEND_USER, 3, VHOST_USER_IOTLB_UPDATE},
		{FRONTEND_IOVA + 1, PAGE_BYTES, FRONTEND_USER, 3, VHOST_USER_IOTLB_UPDATE},
		{0 - PAGE_BYTES, 2 * PAGE_BYTES, FRONTEND_USER, 3, VHOST_USER_IOTLB_UPDATE},
		{0, 0 - PAGE_BYTES, FRONTEND_USER, 3, VHOST_USER_IOTLB_UPDATE},
		{FRONTEND_IOVA, PAGE_BYTES, FRONTEND_USER - PAGE_BYTES, 3, VHOST_USER_IOTLB_UPDATE},
		{FRONTEND_IOVA, 2 * PAGE_BYTES, FRONTEND_USER + RIG_MEMORY - PAGE_BYTES, 3,
		 VHOST_USER_IOTLB_UPDATE},
		{FRONTEND_IOVA, PAGE_BYTES, FRONTEND_USER, 0, VHOST_USER_IOTLB_UPDATE},
		{FRONTEND_IOVA, PAGE_BYTES, FRONTEND_USER, 4, VHOST_USER_IOTLB_UPDATE},
		{FRONTEND_IOVA, 0, 0, 0, VHOST_USER_IOTLB_INVALIDATE},
		{FRONTEND_IOVA, 0 - PAGE_BYTES, 0, 0, VHOST_USER_IOTLB_INVALIDATE},
		{FRONTEND_IOVA, PAGE_BYTES, FRONTEND_USER, 3, VHOST_USER_IOTLB_MISS},
		{FRONTEND_IOVA, PAGE_BYTES, FRONTEND_USER, 3, VHOST_USER_IOTLB_ACCESS_FAIL},
		{FRONTEND_IOVA, PAGE_BYTES, FRONTEND_USER, 3, 0},
	};
	const struct vhost_user_iotlb all = {.type = VHOST_USER_IOTLB_INVALIDATE};
	struct frontend_iommu iommu;
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_plan.tenant.vm.iommu = true;
	vhost_rig_open(&rig);
	for (size_t i = 0; i < COUNT(cases); i++) {
		vhost_rig_connect(&rig);
		frontend_iommu_open(&iommu, &rig.front);
		frontend_negotiate(&rig.front, ~0ull);
		assert_int_equal(
			frontend_ask(&rig.front, VHOST_USER_IOTLB_MSG, &all, sizeof(all), NULL, 0),
			0);
		assert_int_equal(frontend_ask(&rig.front, VHOST_USER_IOTLB_MSG, &cases[i],
					      sizeof(cases[i]), NULL, 0),
				 1);
		assert_int_equal(
			frontend_ask(&rig.front, VHOST_USER_IOTLB_MSG, &all, sizeof(all), NULL, 0),
			-1);
		frontend_hang_up(&rig.front);
	}
	assert_int_equal(vhost_rig_stats(&rig).refused, COUNT(cases));
	vhost_rig_close(&rig);
}

/*
 * UPDATEs and INVALIDATEs at random, sane and not, some of which end the connection; the next one works.
 */
static void nonsense_ends_its_connection(void **state)
{
	static const __u64 lengths[] = {0,	    1,		PAGE_BYTES, 7 * PAGE_BYTES,
					1ull << 21, 1ull << 63, ~0ull};
	struct random random = {.state = 11};
	struct frontend_iommu iommu;
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_plan.tenant.vm.iommu = true;
	vhost_rig_open(&rig);
	for (int connection = 0; connection < 60; connection++) {
		int result = 0;

		vhost_rig_connect(&rig);
		frontend_iommu_open(&iommu, &rig.front);
		frontend_negotiate(&rig.front, ~0ull);
		for (int i = 0; i < 40 && result >= 0; i++) {
			bool sane = random_below(&random, 8);
			struct vhost_user_iotlb message = {
				.iova = FRONTEND_IOVA + random_below(&random, 4096) * PAGE_BYTES,
				.bytes = sane ? PAGE_BYTES * (1 + random_below(&random, 16))
					      : lengths[random_below(&random, COUNT(lengths))],
				.user = FRONTEND_USER + (1u << 20) +
					random_below(&random, sane ? 3000 : 1 << 20) * PAGE_BYTES,
				.permissions = (__u8)(sane ? 3 : random_below(&random, 256)),
				.type = sane ? (__u8)(2 + random_below(&random, 2))
					     : (__u8)random_below(&random, 256),
			};

			if (message.iova + message.bytes - 1 < message.iova && sane)
				message.bytes = PAGE_BYTES;
			result = frontend_ask(&rig.front, VHOST_USER_IOTLB_MSG, &message,
					      sizeof(message), NULL, 0);
		}
		frontend_hang_up(&rig.front);
	}
	assert_true(vhost_rig_stats(&rig).refused > 10);
	assert_true(vhost_rig_stats(&rig).taken_back > 100);
	vhost_rig_close(&rig);
}

/* More of them than there is room for: those that were not used for longest are asked for again. */
static void a_table_that_is_full_makes_room(void **state)
{
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x1000);
	struct iommu_rig r;

	vhost_rig_plan();
	iommu_rig_open(&r, 1, 16);
	for (__u64 place = 0; place < 2 * VHOST_IOTLB_ENTRIES; place += 1) {
		__u64 iova = FRONTEND_IOVA - (1 + place) * PAGE_BYTES;

		assert_int_equal(frontend_iotlb(&r.iommu, VHOST_USER_IOTLB_UPDATE, iova, PAGE_BYTES,
						FRONTEND_USER, 3),
				 0);
	}
	assert_int_equal(iommu_rig_stats(&r).entries, VHOST_IOTLB_ENTRIES);
	assert_true(iommu_rig_stats(&r).evicted >= VHOST_IOTLB_ENTRIES);
	assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
	iommu_rig_close(&r);
}

static void an_answer_to_nothing_is_refused(void **state)
{
	const struct vhost_user_header header = {VHOST_USER_BACKEND_IOTLB_MSG,
						 VHOST_USER_VERSION | VHOST_USER_FLAG_REPLY, 8};
	unsigned char answer[sizeof(header) + 8] = {0};
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x1000);
	struct pollfd polled;
	struct iommu_rig r;

	memcpy(answer, &header, sizeof(header));
	vhost_rig_plan();
	iommu_rig_open(&r, 1, 16);
	assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
	while (iommu_rig_stats(&r).misses != atomic_load(&r.iommu.misses))
		;
	assert_int_equal(send(r.iommu.channel, answer, sizeof(answer), MSG_NOSIGNAL),
			 sizeof(answer));
	polled = (struct pollfd){.fd = r.rig.front.socket, .events = POLLIN};
	assert_int_equal(poll(&polled, 1, 60000), 1);
	while (vhost_rig_stats(&r.rig).connected)
		;
	assert_int_equal(vhost_rig_stats(&r.rig).refused, 1);
	iommu_rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_that_make_no_sense_are_refused),
		cmocka_unit_test(nonsense_ends_its_connection),
		cmocka_unit_test(a_table_that_is_full_makes_room),
		cmocka_unit_test(an_answer_to_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
