/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAULTLINE_BASE_DEAD_SOCKET_H
#define FAULTLINE_BASE_DEAD_SOCKET_H

#include <stdbool.h>

/*
 * Removes a UNIX socket, of whatever type, that refuses connections: what a process that was killed has left. True if it did;
 * anything else at the path stays. errno stays as it was.
 */
bool dead_socket_remove(const char *path);

#endif
