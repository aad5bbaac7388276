/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAULTLINE_LIBRARY_DEVICES_H
#define FAULTLINE_LIBRARY_DEVICES_H

/* FAULTLINE_VERBS: numbers of descriptors with commas between. Returns how many; negative errno with a sentence. */
int sockets_of(const char *text, int *sockets, int most);

#endif
