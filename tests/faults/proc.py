"""What /proc says of a process."""


def children(pid):
    """Those that its main thread has started. OSError: it is gone."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]
