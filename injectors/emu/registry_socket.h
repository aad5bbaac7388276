/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sockets in the run directory. The caller holds the directory's flock, so that nobody reaps what
 * somebody else is about to make.
 */
#ifndef FAULTLINE_REGISTRY_SOCKET_H
#define FAULTLINE_REGISTRY_SOCKET_H

/*
 * Binds and listens under `name`. The name appears only once the socket listens: a name that
 * refuses connections is a dead one. Returns the socket.
 */
int registry_socket_listen(int directory, const char *name);

/* Removes every socket that nobody listens on. Returns their number. */
int registry_socket_reap(int directory);

#endif
