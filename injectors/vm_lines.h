/* SPDX-License-Identifier: GPL-2.0 */
/* The verb `vm`: how somebody else starts the virtual machines of a job. */
#ifndef FAULTLINE_VM_LINES_H
#define FAULTLINE_VM_LINES_H

int verb_vm(int argc, char **argv);

#endif
