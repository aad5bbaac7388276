// SPDX-License-Identifier: GPL-2.0
/* fork() of a program with regions: libc's, from a stack that is in none. */
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "injectors/guest/library/library.h"

pid_t fork(void)
{
	static pid_t (*_Atomic real)(void);

	if (!real)
		real = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	return guest_fork(real);
}
