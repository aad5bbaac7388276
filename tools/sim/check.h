/* SPDX-License-Identifier: GPL-2.0 */
/* Values of a job that are each in their range but do not go together. */
#ifndef FAULTLINE_TOOLS_SIM_CHECK_H
#define FAULTLINE_TOOLS_SIM_CHECK_H

#include "tools/sim/sim.h"

/*
 * What `text` came to, before more than its trace is derived from it. The error is job_wrong() of the
 * place of one of the values; its sentence names them all and what is accepted. `recorded`: the trace
 * is not made up.
 */
int sim_check(const struct sim_config *config, const struct job_text *text, bool recorded);

#endif
