// The command that waiters run: appends its CLOCK_MONOTONIC nanoseconds to FILE, in one write, and ends.
//
//   stamp FILE [FIFO]     with FIFO: first waits until the last writer of FIFO is gone
//
// Two neighbouring stamps are one hand-over apart: the end of one process, everything its lock does, and the start of
// the next process up to its first statement.
#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) return 64;
    if (argc > 2) {
        char byte;
        int fifo = open(argv[2], O_RDONLY);
        if (fifo < 0) return 66;
        while (read(fifo, &byte, 1) > 0) continue;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t stamp = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    int fd = open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC);
    return write(fd, &stamp, sizeof stamp) == sizeof stamp ? 0 : 74;
}
