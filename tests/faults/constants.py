"""What rlock and the scripts agree on, as src/stores/redis/scripts/constants.hpp has it."""

import os
import re

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/stores/redis/scripts/constants.hpp")


def constant(name: str) -> int:
    """In the unit that it has there."""
    with open(HEADER, encoding="utf-8") as file:
        return int(re.search(rf"^inline constexpr \S+ {name}(?: = |{{)([0-9']+)", file.read(), re.M)[1].replace("'", ""))
