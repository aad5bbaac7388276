/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of a verb as tables of options: they parse and store the values, word the errors and are
 * what -h shows and what manual pages and completion are made of (lib/cli/describe.h).
 * Options that several verbs have are a table of their own.
 */
#ifndef FAULTLINE_CLI_H
#define FAULTLINE_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/usage.h"

enum cli_type {
	CLI_FLAG,   /* bool: true if it is given */
	CLI_TEXT,   /* const char *, borrowed */
	CLI_LIST,   /* array of `most` such, repeatable; `count` of them, a size_t, are given */
	CLI_COUNT,  /* an unsigned number of any size, from `least` to `most` */
	CLI_SIZE,   /* likewise, in bytes: "64M" */
	CLI_TIME,   /* likewise, in ns: "10ms" */
	CLI_CHOICE, /* an enum: `least` is the first of `names` */
	CLI_OWN,    /* what `parse` takes */
};

struct cli_option {
	const char *name;  /* NULL: `help` is the heading of what follows */
	int key;	   /* 'd' of -d; 0: it has a long name only */
	const char *value; /* as the help calls it; NULL: none follows */
	const char *help;
	enum cli_type type;
	size_t offset, size;		/* CLI_FIELD() of the table's struct */
	unsigned long long least, most; /* most 0: no limit */
	const char *const *names;	/* NULL at the end */
	/* CLI_OWN: stores the value. Texts: checks it. -EINVAL with a sentence, which need not name the option. */
	int (*parse)(const char *text, void *field);
	size_t count;
	int group; /* of argp: this and what follows are listed behind those of lower numbers */
	bool optional, hidden;
	unsigned int scope; /* what the option has an effect on, by the verb's own meaning */
};

#define CLI_FIELD(type, member) offsetof(type, member), sizeof(((type *)0)->member)

/* Options, {0} at the end, and where their struct is in the verb's. */
struct cli_table {
	const struct cli_option *options;
	size_t offset;
};

/* Options that argp itself parses. */
struct cli_child {
	const struct argp *argp;
	size_t offset;
	bool merged; /* the help has its groups among those of the verb, not behind them */
};

struct cli {
	const struct cli_table *tables;	  /* {0} at the end */
	const struct cli_child *children; /* likewise; NULL: none */
	const char *arguments;		  /* what is no option, for the help: "JOB" */
	const char *about; /* \v parts what stands before the options and after them */
	/* Where what is no option goes; an offset above 0. All others are refused. */
	size_t argument; /* const char *: the one that there may be */
	size_t command;	 /* char **: a command with its arguments, NULL at the end */
	/* Each, with a command those ahead of its --; -EINVAL with a sentence. */
	int (*take)(void *input, unsigned int number, const char *text);
	size_t given; /* __u64: a bit for each row of the first table that was given */
	/* After all options: -EINVAL with a sentence for what does not go together. */
	int (*check)(void *input);
	char *(*help_filter)(int key, const char *text, void *input); /* as argp has it */
};

/* Into `input`, the verb's struct with its defaults. Ends the program with EXIT_USAGE where something is wrong. */
int cli_parse(const struct cli *cli, int argc, char **argv, void *input);

/* One option by its name, into `fields`, the struct of its table; for tests of option tables. */
int cli_set(const struct cli_option *options, const char *name, const char *text, void *fields);

#endif
