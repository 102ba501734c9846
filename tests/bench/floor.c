// The floor: the least a client of Redis can do to run a command under a lock. One server, numeric address, no waiting,
// no renewal, no fence, no signals. What rlock costs above this is what its promises cost.
//
//   floor SOCKET|PORT KEY COMMAND [ARG...]     SOCKET a path with a slash, PORT one of 127.0.0.1
//
// Exits as COMMAND does; 75 busy, 69 no server, 127 not started.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPARE_AND_DELETE                                                                                             \
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0"

extern char **environ;

static int connect_to(const char *server) {
    if (strchr(server, '/')) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        if (strlen(server) >= sizeof name.sun_path) exit(69);
        strcpy(name.sun_path, server);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&name, sizeof name) < 0) exit(69);
        return fd;
    }
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(server))};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&name, sizeof name) < 0) exit(69);
    return fd;
}

// Sends one request; returns whether the one-line reply is `yes`. Replies here are so short that they come in one read.
static int ask(int fd, const char *request, int length, const char *yes) {
    char reply[256];
    if (length < 0 || write(fd, request, (size_t)length) != length) exit(69);
    ssize_t got = read(fd, reply, sizeof reply);
    if (got <= 0) exit(69);
    return strncmp(reply, yes, strlen(yes)) == 0;
}

int main(int argc, char **argv) {
    if (argc < 4) return 64;
    const char *key = argv[2];
    size_t key_length = strlen(key);
    if (key_length > 1000) return 64;

    unsigned char random[16];
    char token[33], request[2000];
    if (getrandom(random, sizeof random, 0) != sizeof random) return 70;
    for (int i = 0; i < 16; i++) sprintf(token + 2 * i, "%02x", random[i]);

    int fd = connect_to(argv[1]);
    int length = snprintf(request, sizeof request,
        "*6\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$32\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n", key_length, key,
        token);
    if (!ask(fd, request, length, "+OK")) return 75;

    pid_t child;
    int status = 127 << 8;
    if (posix_spawnp(&child, argv[3], NULL, NULL, argv + 3, environ) == 0) waitpid(child, &status, 0);

    length = snprintf(request, sizeof request,
        "*5\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$%zu\r\n%s\r\n$32\r\n%s\r\n", strlen(COMPARE_AND_DELETE),
        COMPARE_AND_DELETE, key_length, key, token);
    ask(fd, request, length, ":1");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
