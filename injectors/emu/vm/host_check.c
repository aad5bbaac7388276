// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "injectors/emu/vm/arguments.h"
#include "lib/base/fail.h"

#define SHMEM_ENABLED "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define SIZES_ENABLED "/sys/kernel/mm/transparent_hugepage/hugepages-*/shmem_enabled"

/* "always within_size advise [never] deny force": what is in brackets holds. advise: QEMU's asking is left out by the library. */
static int enabled_check(const char *path)
{
	static const char *const refused[] = {"[always]", "[within_size]", "[force]"};
	FILE *file = fopen(path, "re");
	char text[128] = "";

	if (!file)
		return 0; /* a kernel without them */
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strstr(text, refused[i]))
			return failed(-ENOTSUP,
				      "%s is %s: a page that is taken out of a huge one leaves "
				      "zeroes and no fault; accepted: advise, never, deny",
				      path, refused[i]);
	return 0;
}

int vm_host_check(void)
{
	glob_t sizes = {0};
	int error = enabled_check(SHMEM_ENABLED);

	if (!error && !glob(SIZES_ENABLED, 0, NULL, &sizes))
		for (size_t i = 0; !error && i < sizes.gl_pathc; i++)
			error = enabled_check(sizes.gl_pathv[i]);
	globfree(&sizes);
	return error;
}
