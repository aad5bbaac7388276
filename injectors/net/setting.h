/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a network namespace, as sysctl(8) names them: net.* only, and none that the host shares. */
#ifndef FAULTLINE_NET_SETTING_H
#define FAULTLINE_NET_SETTING_H

/*
 * Calls `each` with every NAME and VALUE of "NAME=VALUE, NAME=VALUE", in order, until one fails. -EINVAL with a
 * sentence for what is not written so, and for names outside of net.*; "" is fine.
 */
int setting_each(const char *list, int (*each)(void *argument, const char *name, const char *value),
		 void *argument);

/*
 * Writes one in the calling thread's namespace. `outside` is a descriptor of the namespace that must not
 * change by it: a setting that both have in common is refused with -EINVAL, as is
 * one that is not there or a value that the kernel does not take.
 */
int setting_write(const char *name, const char *value, int outside);

#endif
