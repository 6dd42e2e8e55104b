# SPDX-License-Identifier: Apache-2.0
"""C sources as clang-format leaves them: their functions, and what one line may be mutated into."""
import re


def mask(text):
    """The text with comments, strings and characters blanked: same length, same lines."""
    literal = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(literal, lambda found: re.sub(r"[^\n]", "`", found[0]), text, flags=re.DOTALL)


def name_of(signature):
    """The function's name: the first that is called outside of parentheses and is no attribute."""
    depth = 0
    for token in re.finditer(r"\w+(?=\()|[()]", signature):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth -= 1
        elif depth == 0 and not token[0].startswith("__") and not token[0].isupper():
            return token[0]
    return None


def functions(text):
    """(name, first, last) of each function: the lines, from 0, of its body without the braces."""
    lines = mask(text).split("\n")
    found, first, name = [], None, None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
            while begin and lines[begin - 1].strip(" `") and not re.match(r"[}#]", lines[begin - 1]):
                begin -= 1
            first, name = number + 1, name_of(" ".join(lines[begin:number]))
        elif line == "}" and first is not None:
            if name:
                found.append((name, first, number - 1))
            first = None
    return found


def squeezed(line):
    """The line as lists keep and compare it: without indentation."""
    return " ".join(line.split())


# ---- Operators -----------------------------------------------------------------------------------

# (what it is called, pattern in the masked line, replacements of group 1)
TOKENS = [
    ("comparison", r" (<|>|<=|>=) ", {"<": ("<=", ">="), ">": (">=", "<="), "<=": ("<", ">"), ">=": (">", "<")}),
    ("comparison", r" (==|!=) ", {"==": ("!=",), "!=": ("==",)}),
    ("arithmetic", r"(?<=[\w)\]]) (\+|-|\*|/) (?=[\w(])", {"+": "-", "-": "+", "*": "+", "/": "*"}),
    ("arithmetic", r" (\+=|-=) ", {"+=": ("-=",), "-=": ("+=",)}),
    ("arithmetic", r"(?<=\w) (&|\|) (?=[\w(~])", {"&": "|", "|": "&"}),
    ("arithmetic", r" (<<|>>) ", {"<<": (">>",), ">>": ("<<",)}),
    ("logic", r" (&&|\|\|)(?: |$)", {"&&": ("||",), "||": ("&&",)}),
    ("negation", r"(?<=[ (])(!)(?=[\w(*])", {"!": ("",)}),
    ("truth", r"\b(true|false)\b", {"true": ("false",), "false": ("true",)}),
    ("status", r"return (HAL_OK);", {"HAL_OK": ("HAL_UNSUPPORTED",)}),
]
NUMBER = r"(?<![\w.'\[])(\d+)(?=[uUlL]*\b(?!\.))"
CONDITION = r"^\s*(?:\} else )?(?:if|while) \((.*)\)(?: \{| continue;| break;| return.*;)?$"
DECLARATION = r"^\s*(?:static |const |struct |enum |union |unsigned )|^\s*\w+[ *]+\w+(?:\[.*\])?(?: =|;|,)"
STATEMENT = r"^\s*(?!return\b|goto\b|case\b|else\b|if\b|for\b|while\b|do\b)[\w*(].*(?:\)| [-+|&^]?= .*|\+\+|--);$"
SWAPPED = r"(?<=\()([\w.>-]+), ([\w.>-]+)(?=[,)])"
SKIPPED = r"^\s*(?:#|case |default:|assert\(|static_assert|`)|\\$"


def is_balanced(text):
    return text.count("(") == text.count(")")


def mutants_of(line, masked, before):
    """All (operator, new line) of a line of a function's body; `before` is the masked line before it."""
    if re.search(SKIPPED, masked) or not masked.strip(" `{}"):
        return []

    def with_range(begin, end, text):
        return line[:begin] + text + line[end:]

    found = []
    is_declaration = re.search(DECLARATION, masked) and not re.search(r"^\s*(?:return|goto) ", masked)
    if is_declaration and "=" not in masked:
        return []
    for name, pattern, replacements in TOKENS:
        for hit in re.finditer(pattern, masked):
            found += [(name, with_range(*hit.span(1), new)) for new in replacements[hit[1]]]
    for hit in re.finditer(NUMBER, masked):
        found += [("constant", with_range(*hit.span(1), str(int(hit[1]) + 1)))]
    condition = re.search(CONDITION, masked)
    if condition and is_balanced(condition[1]):
        begin, end = condition.span(1)
        found.append(("condition negated", with_range(begin, end, f"!({line[begin:end]})")))
    for hit in re.finditer(SWAPPED, masked):
        if hit[1] != hit[2]:
            found.append(("arguments swapped", with_range(*hit.span(), f"{hit[2]}, {hit[1]}")))
    indentation = line[: len(line) - len(line.lstrip())]
    is_whole = re.search(r"(?:[;{})`:]|\belse)\s*$", before) and is_balanced(masked)
    if is_whole and not is_declaration and re.search(STATEMENT, masked):
        found.append(("statement removed", indentation + "(void)0;"))
    if masked.strip() in ("break;", "continue;"):
        found.append(("jump removed", indentation + "(void)0;"))
    return found
