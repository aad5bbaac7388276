/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of a verb as data, for what is made of it: manual pages (docs/man/pages.py) and completion
 * (docs/man/completions.py). What `PROGRAM VERB --help-table` and `PROGRAM --help-table` print.
 */
#ifndef FAULTLINE_DESCRIBE_H
#define FAULTLINE_DESCRIBE_H

#include <stdio.h>

#include "lib/cli/cli.h"

/* The hidden option, which must be all that the command line has. */
#define DESCRIBE_OPTION "--help-table"

/*
 * One JSON object: "name", "arguments", "before" and "after" (the text around the options), and "options", in the
 * order of the tables: "name", "key", "value", "optional", "help", "choices", "group"; one without a name is the
 * heading of its group. -ENOMEM, -EIO with a sentence.
 */
int cli_describe(const struct cli *cli, const char *name, FILE *file);

#endif
