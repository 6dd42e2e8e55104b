# SPDX-License-Identifier: Apache-2.0
# The second half of completion.sh: reads lines "command NAME TEXT" and "option COMMAND LINE" with
# tabs between, where LINE is one of --help, and writes the completion.
BEGIN { FS = "\t" }

$1 == "command" { commands[++n_commands] = $2; about[$2] = $3 }

# "  -o, --output=FILE   the trace".
$1 == "option" && $3 ~ /^(  |      )-/ {
    line = $3
    sub(/^ +/, "", line)
    short = ""
    first = n_options + 1
    while (match(line, /^--?[A-Za-z][A-Za-z0-9-]*(\[?=[^ ,]+)?(, |  +|$)?/)) {
        word = substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 1)
        ended = word !~ /, $/
        sub(/[, ]+$/, "", word)
        if (word ~ /^-[A-Za-z]$/)
            short = substr(word, 2)
        else
            add_option($2, word)
        if (ended)
            break
    }
    sub(/^ +/, "", line)
    for (i = first; i <= n_options; i++) {
        letter[i] = i == n_options ? short : ""
        text[i] = line
    }
}

# What continues the description.
$1 == "option" && n_options && $3 ~ /^                    +[^ ]/ {
    line = $3
    sub(/^ +/, "", line)
    text[n_options] = text[n_options] (text[n_options] == "" ? "" : " ") line
}

function add_option(command, word,    at)
{
    if (seen[command, word]++)
        return
    n_options++
    of[n_options] = command
    at = index(word, "=")
    argument[n_options] = at ? substr(word, at + 1) : ""
    optional[n_options] = word ~ /\[=/
    sub(/\[?=.*/, "", word)
    option[n_options] = substr(word, 3)
}

# A path: what else the shell completes by itself would be misleading.
function is_file(i) { return argument[i] ~ /^(B|FILE|TRACE|OUTPUT|FOLDER|PATH|OTHER)$/ }
function quoted(string) { gsub(/'/, "'\\''", string); return string }

function bash_words(command,    i, list)
{
    list = ""
    for (i = 1; i <= n_options; i++) {
        if (of[i] != command)
            continue
        list = list " --" option[i] (argument[i] != "" && !optional[i] ? "=" : "")
        if (letter[i] != "")
            list = list " -" letter[i]
    }
    return substr(list, 2)
}

function write_bash(    f, i, list)
{
    f = program
    gsub(/-/, "_", f)
    print "# Completion of " program " for bash."
    print "_" f "()\n{"
    print "    local word=${COMP_WORDS[COMP_CWORD]} words=" (n_commands ? "" : "'" bash_words("") "'")
    if (n_commands) {
        for (i = 1; i <= n_commands; i++)
            list = list " " commands[i]
        print "    if ((COMP_CWORD == 1)); then"
        print "        words='" bash_words("") list "'"
        print "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))"
        print "        return\n    fi"
        print "    case ${COMP_WORDS[1]} in"
        for (i = 1; i <= n_commands; i++)
            print "    " commands[i] ") words='" bash_words(commands[i]) "' ;;"
        print "    esac"
    }
    if (program == "hal-capture") { # a program, and then its own arguments
        print "    local i"
        print "    for ((i = 1; i < COMP_CWORD; i++)); do"
        print "        [[ ${COMP_WORDS[i]} == -- || ( ${COMP_WORDS[i]} != [-=]* && ${COMP_WORDS[i - 1]} != = && ! ${COMP_WORDS[i - 1]} =~ ^-[a-z]$ ) ]] && return"
        print "    done"
        print "    if [[ $word != -* ]]; then"
        print "        COMPREPLY=($(compgen -c -W doctor -- \"$word\"))"
        print "        return\n    fi"
    }
    print "    COMPREPLY=()"
    print "    [[ $word == -* ]] || return"
    print "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))"
    print "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null"
    print "    return 0\n}"
    print "complete -o default -F _" f " " program
}

function zsh_options(command, indent,    i, value, description)
{
    for (i = 1; i <= n_options; i++) {
        if (of[i] != command)
            continue
        description = quoted(text[i])
        gsub(/\[/, "(", description)
        gsub(/\]/, ")", description)
        value = argument[i] == "" ? "" : (optional[i] ? "::" : ":") tolower(argument[i]) ":"
        gsub(/\[.*\]/, "", value)
        if (value != "" && is_file(i))
            value = value "_files"
        print indent "'--" option[i] (argument[i] == "" ? "" : (optional[i] ? "=-" : "=")) \
            "[" description "]" value "' \\"
        if (letter[i] != "")
            print indent "'-" letter[i] "[" description "]" value "' \\"
    }
}

function write_zsh(    i)
{
    print "#compdef " program
    if (!n_commands) {
        print "_arguments -s \\"
        zsh_options("", "    ")
        if (program == "hal-capture")
            print "    '(-)1:program:_command_names -e' '*::arguments:_normal'"
        else
            print "    '*:trace:_files'"
        return
    }
    print "local -a subcommands\nsubcommands=("
    for (i = 1; i <= n_commands; i++)
        print "    '" commands[i] ":" quoted(about[commands[i]]) "'"
    print ")\nif ((CURRENT == 2)); then"
    print "    _arguments -s \\"
    zsh_options("", "        ")
    print "        '1: :{_describe command subcommands}'"
    print "    return\nfi"
    print "local subcommand=$words[2]\nshift words\n((CURRENT--))\ncase $subcommand in"
    for (i = 1; i <= n_commands; i++) {
        print commands[i] ")\n    _arguments -s \\"
        zsh_options(commands[i], "        ")
        print "        '*:trace:_files' ;;"
    }
    print "esac"
}

function write_fish(    i, when)
{
    print "# Completion of " program " for fish."
    for (i = 1; i <= n_commands; i++)
        print "complete -c " program " -n __fish_use_subcommand -f -a " commands[i] " -d '" \
            quoted(about[commands[i]]) "'"
    for (i = 1; i <= n_options; i++) {
        when = of[i] != "" ? " -n '__fish_seen_subcommand_from " of[i] "'" \
             : n_commands ? " -n __fish_use_subcommand" : ""
        print "complete -c " program when " -l " option[i] (letter[i] == "" ? "" : " -s " letter[i]) \
            (argument[i] == "" || optional[i] ? "" : is_file(i) ? " -r" : " -x") " -d '" quoted(text[i]) "'"
    }
}

END {
    if (!n_options)
        exit 1
    if (shell == "bash")
        write_bash()
    else if (shell == "zsh")
        write_zsh()
    else
        write_fish()
}
