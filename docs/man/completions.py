#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Completion for bash and zsh of both programs, from their tables of options.

    completions.py FOLDER [PROGRAMS]

FOLDER gets bash/PROGRAM and zsh/_PROGRAM. Verbs, options and what a value may be; files where one is meant; names of
jobs where a program lists its own; behind -- a command.
"""
import os
import sys

import tables

BASH = r"""# SPDX-License-Identifier: GPL-2.0
# Completion for bash, of @program@. Made by docs/man/completions.py.
@function@()
{
	local word=${COMP_WORDS[COMP_CWORD]} option='' verb=${COMP_WORDS[1]-} words='' kind='' at
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "@verbs@ --help --version" -- "$word")
		return
	fi
	for ((at = 2; at < COMP_CWORD; at++)); do
		[ "${COMP_WORDS[at]}" != -- ] || kind=command
	done
	if [ "$word" = = ]; then
		word='' option==${COMP_WORDS[COMP_CWORD - 1]}
	elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then
		option==${COMP_WORDS[COMP_CWORD - 2]}
	else
		option=${COMP_WORDS[COMP_CWORD - 1]}
	fi
	[ "$kind" = command ] || case "$verb $option" in
@values@
	*) kind=words ;;
	esac
	case $kind in
	command)
		[ "${COMP_WORDS[COMP_CWORD - 1]}" != -- ] || mapfile -t COMPREPLY < <(compgen -c -- "$word")
		return ;;
	file | directory)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen "-${kind:0:1}" -- "$word")
		return ;;
	none) compopt +o default; return ;;
	choices) ;;
	*)
		if [[ $word == -* ]]; then
			case $verb in
@options@
			esac
		else
			case $verb in
@jobs@
			*) return ;;
			esac
		fi ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
} 2>/dev/null

complete -o default -F @function@ @program@
"""

ZSH = r"""#compdef @program@
# SPDX-License-Identifier: GPL-2.0
# Completion for zsh. Made by docs/man/completions.py.
@function@() {
	local -a verbs=(
@verbs@
	)
	if (( CURRENT == 2 )); then
		_describe -t verbs verb verbs
		compadd -- --help --version
		return
	fi
	local verb=$words[2]
	local -a jobs
	local -i at=$words[(i)--]
	if (( at < CURRENT )); then
		words=("${(@)words[at + 1,-1]}")
		(( CURRENT -= at ))
		_normal
		return
	fi
	words=("${(@)words[2,-1]}")
	(( CURRENT-- ))
	case $verb in
@cases@
	*) _files ;;
	esac
}

if [ "$funcstack[1]" = _@program@ ]; then
	@function@ "$@"
else
	compdef @function@ @program@
fi
"""


def listed(program, verb):
    """Does it take a job whose name the program lists?"""
    return "JOB" in verb.arguments.split() and any(each.name == "list" for each in program.verbs)


def bash_values(program):
    for verb in program.verbs:
        for option in verb.options:
            if not option.value:
                continue
            names = [f'"{verb.name} =--{option.name}"']
            if not option.optional:
                names += [f'"{verb.name} --{option.name}"'] + ([f'"{verb.name} -{option.short}"'] if option.short else [])
            kind = option.takes()
            words = f" words='{' '.join(option.choices)}'" if kind == "choices" else ""
            yield f"\t{' | '.join(names)}) kind={kind or 'none'}{words} ;;"


def bash(program):
    options = [f"\t\t\t{verb.name}) words='{' '.join(f'--{option.name}' for option in verb.options + tables.HELP)}' ;;"
               for verb in program.verbs]
    jobs = [f"\t\t\t{verb.name}) words=$(\"$1\" list | cut -d ' ' -f 1) ;;" for verb in program.verbs if listed(program, verb)]
    return {"verbs": " ".join(verb.name for verb in program.verbs), "values": "\n".join(bash_values(program)),
            "options": "\n".join(options), "jobs": "\n".join(jobs) or "\t\t\t'') ;;"}


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def meant(option):
    """The action of _arguments for its value."""
    kind = option.takes()
    if kind == "choices":
        return f"({' '.join(option.choices)})"
    return {"file": "_files", "directory": "_files -/"}.get(kind, " ")


def zsh_option(option):
    text = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = f":{option.value.replace(':', ' ')}:{meant(option)}" if option.value else ""
    if option.optional:
        value = f":{value}"
    long = f"--{option.name}" + ("=-" if option.optional else "=" if option.value else "")
    # Repeatable, all of them: which may be given once is the program's to say.
    yield quoted(f"*{long}[{text}]{value}")
    if option.short:
        yield quoted(f"*-{option.short}{'+' if option.value else ''}[{text}]{value}")


def zsh_case(program, verb):
    specifications = [each for option in verb.options + tables.HELP for each in zsh_option(option)]
    if listed(program, verb):
        specifications.append("'*:job:{ jobs=(${${(f)\"$($service list)\"}%% *}); compadd -a jobs; _files -g \"*.ini\" }'")
    else:
        specifications.append("'*:file:_files'")
    lines = " \\\n".join(f"\t\t\t{each}" for each in specifications)
    return f"\t{verb.name})\n\t\t_arguments -s -S \\\n{lines}\n\t\t;;"


def zsh(program):
    verbs = [f"\t\t{quoted(verb.name + ':' + verb.does.replace(':', chr(92) + ':'))}" for verb in program.verbs]
    return {"verbs": "\n".join(verbs), "cases": "\n".join(zsh_case(program, verb) for verb in program.verbs)}


def filled(text, words):
    for name, value in words.items():
        text = text.replace(f"@{name}@", value)
    return text


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    folder = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    for program in tables.programs(sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "..", "..")):
        own = {"program": program.name, "function": "_" + program.name.replace("-", "_") + "_complete"}
        write(os.path.join(folder, "bash", program.name), filled(BASH, own | bash(program)))
        write(os.path.join(folder, "zsh", f"_{program.name}"), filled(ZSH, own | zsh(program)))


if __name__ == "__main__":
    main()
