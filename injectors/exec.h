/* SPDX-License-Identifier: GPL-2.0 */
/* The verb `exec`: a command inside a running machine's network. */
#ifndef FAULTLINE_EXEC_H
#define FAULTLINE_EXEC_H

int verb_exec(int argc, char **argv);

#endif
