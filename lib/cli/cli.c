// SPDX-License-Identifier: GPL-2.0
#include "lib/cli/cli.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/command.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"
#include "lib/cli/describe.h"
#include "lib/output/destination.h"

#define FIRST_KEY      0x10000 /* of options without a short one, by their place */
#define CHILDREN_MOST  4
#define CHILDREN_GROUP 70 /* behind the groups of a verb, before the safety of an injector */
#define SIZE_MOST      (1ull << 60)

/* The input of the one parser. */
struct command_line {
	const struct cli *cli;
	char *input;
};

static int cli_add(const struct cli_option *option, const char *text, char *fields)
{
	const char **list = (const char **)(fields + option->offset);
	size_t *count = (size_t *)(fields + option->count);

	if (*count == option->most)
		return failed(-EINVAL, "accepted: at most %llu times", option->most);
	list[(*count)++] = text;
	return 0;
}

static int cli_choose(const struct cli_option *option, const char *text, __u64 *value)
{
	char accepted[256] = "";
	size_t used = 0;

	for (size_t i = 0; option->names[i]; i++) {
		*value = option->least + i;
		if (!strcmp(text, option->names[i]))
			return 0;
		used += (size_t)snprintf(accepted + used, sizeof(accepted) - used, "%s%s",
					 i ? ", " : "", option->names[i]);
	}
	return failed(-EINVAL, "invalid value '%s'; accepted: %s", text, accepted);
}

static int cli_number(const struct cli_option *option, const char *text, char *field)
{
	__u64 least = option->least, most = option->most, value = 0;
	int err;

	switch (option->type) {
	case CLI_COUNT:
		err = units_parse_count(text, least, most ? most : UINT64_MAX, &value);
		break;
	case CLI_SIZE:
		err = units_parse_size_within(text, least, most ? most : SIZE_MOST, &value);
		break;
	case CLI_TIME:
		err = units_parse_duration_within(text, least, most ? most : UNITS_DURATION_MOST,
						  &value);
		break;
	default:
		err = cli_choose(option, text, &value);
		break;
	}
	if (!err) /* little endian: the low bytes come first */
		memcpy(field, &value, option->size);
	return err;
}

static int cli_store(const struct cli_option *option, const char *text, char *fields)
{
	char *field = fields + option->offset;
	int err;

	switch (option->type) {
	case CLI_FLAG:
		*(bool *)field = true;
		return 0;
	case CLI_TEXT:
	case CLI_LIST:
		err = option->parse ? option->parse(text, NULL) : 0;
		if (!err && option->type == CLI_LIST)
			err = cli_add(option, text, fields);
		else if (!err)
			*(const char **)field = text;
		break;
	case CLI_OWN:
		err = option->parse(text, field);
		break;
	default:
		err = cli_number(option, text, field);
		break;
	}
	return err ? failed_in(err, "--%s", option->name) : 0;
}

int cli_set(const struct cli_option *options, const char *name, const char *text, void *fields)
{
	for (; options->help; options++)
		if (options->name && !strcmp(options->name, name))
			return cli_store(options, text, fields);
	return -ENOENT;
}

static error_t cli_option(const struct command_line *line, int key, char *text,
			  struct argp_state *state)
{
	const struct cli *cli = line->cli;
	int place = FIRST_KEY;

	for (const struct cli_table *table = cli->tables; table->options; table++)
		for (const struct cli_option *o = table->options; o->help; o++, place++) {
			if (!o->name || key != (o->key ? o->key : place))
				continue;
			if (cli_store(o, text, line->input + table->offset))
				usage_error(state, "%s", failure_text());
			if (cli->given && table == cli->tables)
				*(__u64 *)(line->input + cli->given) |= 1ull
									<< (o - table->options);
			return 0;
		}
	return ARGP_ERR_UNKNOWN;
}

static error_t cli_argument(const struct command_line *line, const char *text,
			    struct argp_state *state)
{
	const struct cli *cli = line->cli;
	const char **argument = (const char **)(line->input + cli->argument);
	const char *hint = destination_hint(NULL, text);

	if (cli->take && !(cli->command && state->quoted)) {
		if (cli->take(line->input, state->arg_num, text))
			usage_error(state, "%s%s", failure_text(), hint);
	} else if (cli->command && (state->quoted || !*hint)) {
		*(char ***)(line->input + cli->command) = state->argv + state->next - 1;
		state->next = state->argc;
	} else if (cli->argument && !*argument) {
		*argument = text;
	} else {
		usage_error(state, "unexpected argument '%s'%s%s", text,
			    cli->command ? "; accepted: -- COMMAND" : "", hint);
	}
	return 0;
}

static error_t cli_end(const struct command_line *line, struct argp_state *state)
{
	const struct cli *cli = line->cli;
	const char *missing = NULL;

	if (cli->command)
		missing = command_missing(*(char ***)(line->input + cli->command), state->quoted);
	if (missing)
		usage_error(state, "%s", missing);
	if (cli->check && cli->check(line->input))
		usage_error(state, "%s", failure_text());
	return 0;
}

static error_t cli_key(int key, char *text, struct argp_state *state)
{
	const struct command_line *line = state->input;
	const struct cli_child *child = line->cli->children;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; child && child[i].argp; i++)
			state->child_inputs[i] = line->input + child[i].offset;
		return 0;
	case ARGP_KEY_ARG:
		return cli_argument(line, text, state);
	case ARGP_KEY_END:
		return cli_end(line, state);
	default:
		return cli_option(line, key, text, state);
	}
}

static void cli_fill(const struct cli *cli, struct argp_option *to)
{
	int place = FIRST_KEY;

	for (const struct cli_table *table = cli->tables; table->options; table++)
		for (const struct cli_option *o = table->options; o->help; o++, place++)
			*to++ = (struct argp_option){
				.name = o->name,
				.key = !o->name ? 0
				       : o->key ? o->key
						: place,
				.arg = o->value,
				.flags = (o->optional ? OPTION_ARG_OPTIONAL : 0) |
					 (o->hidden ? OPTION_HIDDEN : 0),
				.doc = o->help,
				.group = o->group,
			};
}

int cli_parse(const struct cli *cli, int argc, char **argv, void *input)
{
	struct command_line line = {cli, input};
	struct argp_child children[CHILDREN_MOST + 1] = {0};
	struct argp argp = {.parser = cli_key,
			    .args_doc = cli->arguments,
			    .doc = cli->about,
			    .children = children,
			    .help_filter = cli->help_filter};
	struct argp_option *options;
	size_t count = 0;
	int err;

	if (argc == 2 && !strcmp(argv[1], DESCRIBE_OPTION)) {
		err = cli_describe(cli, argv[0], stdout);
		exit(err ? failure_report(err) : EXIT_OK);
	}
	for (const struct cli_table *table = cli->tables; table->options; table++)
		for (const struct cli_option *o = table->options; o->help; o++)
			count++;
	for (size_t i = 0; cli->children && cli->children[i].argp && i < CHILDREN_MOST; i++)
		children[i] = (struct argp_child){
			.argp = cli->children[i].argp,
			.group = cli->children[i].merged ? 0 : CHILDREN_GROUP + (int)i};
	options = calloc(count + 1, sizeof(*options));
	if (!options)
		return failed(-ENOMEM, "no memory for the command line");
	cli_fill(cli, options);
	argp.options = options;
	err = usage_parse(&argp, argc, argv, cli->command ? ARGP_IN_ORDER : 0, &line);
	free(options);
	return err;
}
