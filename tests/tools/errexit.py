#!/usr/bin/env python3
"""Finds what bats does not notice: errexit overlooks all of a list `a && b` but its last command, and any command behind `!`,
so only as the last statement of a test or a function does either count.

    errexit.py FILE...      prints file:line: text for each; exits 1 where there is one
"""

import re
import sys

# What may stand anywhere: conditions of if and loops, and lists that only decide whether the next step is due.
FINE = re.compile(r"^(if|elif|while|until|for|case)\b|\|\||&& (continue|break|return|skip|exit|shift)\b|^cd |^mkdir .* && cd ")
QUOTED = re.compile(r"'[^']*'|\"(\\.|[^\"\\])*\"|\[\[.*?\]\]|\(\(.*?\)\)|\$\([^()]*\)")


def found(lines):
    """(number, text) of each."""
    inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith("@test"):
            inside = True
        elif line.startswith("}"):
            inside = False
        if line.startswith("\t"):
            continue  # a document of its own
        text = QUOTED.sub("", line).strip()
        following = next((other for other in lines[number:] if other.strip()), "}")
        is_last = following.startswith("}")
        if text.startswith("! ") and "||" not in text and not is_last:
            yield number, line.strip()
        elif (inside and not text.startswith("#") and " && " in text + " " and not FINE.search(text)
                and not text.startswith("(") and text.count("'") % 2 == 0 and not text.endswith("&&")
                and not is_last):
            yield number, line.strip()


def main():
    hits = 0
    for path in sys.argv[1:]:
        with open(path) as file:
            for number, text in found(file.read().split("\n")):
                print(f"{path}:{number}: {text}")
                hits += 1
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
