// SPDX-License-Identifier: GPL-2.0
/* What sysfs says of IOMMUs decides which probes can fire. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/capture/places.h"

static char directory[] = "/var/tmp/faultline-places.XXXXXX";

static void add(const char *iommu, const char *driver, const char *file, const char *text)
{
	char path[512];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", directory, iommu);
	assert_int_equal(mkdir(path, 0700), 0);
	if (!driver)
		return;
	snprintf(path, sizeof(path), "%s/%s/%s", directory, iommu, driver);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/%s/%s", directory, iommu, driver, file);
	to = fopen(path, "w");
	assert_non_null(to);
	fprintf(to, "%s\n", text);
	fclose(to);
}

static void clear(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/*", directory);
	assert_int_equal(system(command), 0);
}

/* All places but those that the machine of the test has of itself. */
static unsigned int there(void)
{
	struct places places;
	unsigned int set = 0;

	places_look(&places, directory);
	assert_true(places.there[PLACE_ANYWHERE]);
	for (int place = PLACE_VTD; place < PLACE_COUNT; place++)
		set |= places.there[place] ? 1u << place : 0;
	return set | (places.there[PLACE_IOMMU] ? 1u << PLACE_IOMMU : 0);
}

#define BIT(place) (1u << PLACE_##place)

static void without_an_iommu_nothing_is_there(void **state)
{
	struct places places;

	assert_int_equal(there(), 0);
	places_look(&places, "/var/tmp/faultline-no-such-directory");
	assert_false(places.there[PLACE_IOMMU]);
}

static void vtd_tells_what_it_can(void **state)
{
	/* QEMU's: neither page requests (bit 29) nor PASIDs (bit 40). */
	add("dmar0", "intel-iommu", "ecap", "f00f5a");
	assert_int_equal(there(), BIT(IOMMU) | BIT(VTD));
	add("dmar1", "intel-iommu", "ecap", "20000000");
	assert_int_equal(there(), BIT(IOMMU) | BIT(VTD) | BIT(PAGE_REQUESTS) | BIT(VTD_REQUESTS) |
					  BIT(RESOLVERS));
	clear();
	add("dmar1", "intel-iommu", "ecap", "10000000000");
	assert_int_equal(there(), BIT(IOMMU) | BIT(VTD) | BIT(PASIDS));
	clear();
}

static void amd_tells_what_it_can(void **state)
{
	add("ivhd0", "amd-iommu", "features", "ec");
	assert_int_equal(there(), BIT(IOMMU) | BIT(AMD_VI));
	clear();
	/* Since 6.7 there are two words of them. */
	add("ivhd0", "amd-iommu", "features", "12:0");
	assert_int_equal(there(), BIT(IOMMU) | BIT(AMD_VI) | BIT(PASIDS) | BIT(PAGE_REQUESTS) |
					  BIT(AMD_VI_REQUESTS) | BIT(RESOLVERS));
	clear();
}

/* Of what is not known nothing is ruled out. */
static void another_iommu_may_do_everything(void **state)
{
	const unsigned int all = BIT(IOMMU) | BIT(PASIDS) | BIT(PAGE_REQUESTS) | BIT(RESOLVERS);

	add("smmu3.0x000000002b400000", NULL, NULL, NULL);
	assert_int_equal(there(), all);
	clear();
	add("dmar0", NULL, NULL, NULL);
	assert_int_equal(there(), all | BIT(VTD) | BIT(VTD_REQUESTS));
	clear();
}

static void every_place_says_what_is_lacking(void **state)
{
	for (int place = PLACE_ANYWHERE + 1; place < PLACE_COUNT; place++)
		assert_true(place_lacking(place) && place_lacking(place)[0]);
}

static int make_directory(void **state)
{
	return mkdtemp(directory) ? 0 : -1;
}

static int drop_directory(void **state)
{
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_an_iommu_nothing_is_there),
		cmocka_unit_test(vtd_tells_what_it_can),
		cmocka_unit_test(amd_tells_what_it_can),
		cmocka_unit_test(another_iommu_may_do_everything),
		cmocka_unit_test(every_place_says_what_is_lacking),
	};

	return cmocka_run_group_tests_name("places", tests, make_directory, drop_directory);
}
