/* SPDX-License-Identifier: GPL-2.0 */
/* The socket of an emulated machine in the run directory, from its observer's side. */
#ifndef FAULTLINE_MACHINE_SOCKET_H
#define FAULTLINE_MACHINE_SOCKET_H

/* A connection, or a negative errno: -ECONNREFUSED if nobody listens any more, and the socket is removed;
 * -EAGAIN if more wait for the machine than it has room for. */
int machine_socket_connect(int directory, const char *file);
/* The hello into HELLO_MAX bytes, with the ring's descriptor, or -1. Bytes, 0 if it is not there yet, or a
 * negative errno with its sentence. */
long machine_socket_receive(int fd, char *text, int *ring);

#endif
