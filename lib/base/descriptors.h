/* SPDX-License-Identifier: GPL-2.0 */
/* The standard descriptors of this process. */
#ifndef FAULTLINE_DESCRIPTORS_H
#define FAULTLINE_DESCRIPTORS_H

/*
 * First of all: a standard descriptor that is closed gets one that can be neither read nor written, as
 * before, so that no file of ours becomes it and is written what is meant for a terminal.
 */
void descriptors_keep_standard(void);

#endif
