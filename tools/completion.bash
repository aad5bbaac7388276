# SPDX-License-Identifier: GPL-2.0
# Completion for bash, of faultline and faultline-inject: verbs and options are asked of the program itself.
_faultline()
{
	local words
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$("$1" --help | sed -nE 's/^  ([a-z]+) {2,}.*/\1/p')
	elif [[ $2 == -* ]]; then
		words=$("$1" "${COMP_WORDS[1]}" --help | sed '/^EXAMPLES/q' | grep -oE '(^ +|, )--[a-z-]+' | tr -d ', ')
	fi
	mapfile -t COMPREPLY < <(compgen -W "${words-}" -- "$2")
} 2>/dev/null

complete -o default -F _faultline faultline faultline-inject
