/* A client that costs next to nothing: sends one request again and again, and counts answers.

       light PROTOCOL PORT REQUEST ANSWERS CONNECTIONS WINDOW WARM_S SECONDS < hello

   PROTOCOL  how answers are told apart: rocketmq, nats, redis
   REQUEST   a file with the bytes of one request
   ANSWERS   how many answers a request has
   WINDOW    how many requests of a connection may be without their answers
   hello     bytes that are sent once over each connection, before the first request

   Prints "begin" when the warm-up is over, and at the end: requests, seconds, p50, p99 and p999 in
   us from a request to its last answer. An answer that tells of an error ends it with status 1.
   The answers of a connection come in the order of its requests. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 4096, SAMPLES_MAX = 20 * 1000 * 1000, BUFFER = 64 << 10 };

struct connection {
    int sock;
    size_t unsent;         /* bytes of requests that are due and not written yet */
    long sent, answered;   /* requests */
    long parts;            /* answers */
    double *sent_s;        /* of the last WINDOW requests */
    size_t held;           /* bytes of an answer that is not whole */
    char answers[BUFFER];
};

static double *samples;
static long answered, first;   /* requests of all connections; before the warm-up was over */
static char *requests;
static size_t size;
static long window, answers_each;
static size_t (*take)(const char *, size_t, int *);

static void fail(const char *what, const char *text, size_t size)
{
    fprintf(stderr, "%s: %.*s\n", what, (int)(size > 400 ? 400 : size), text);
    exit(1);
}

static double now_s(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

/* Each of these takes one answer from the bytes received: returns its size, 0 if it is not whole,
   and sets *counts to whether a request was waiting for it. */

static size_t rocketmq(const char *data, size_t size, int *counts)
{
    if (size < 4) return 0;
    size_t whole = 4 + (size_t)ntohl(*(const uint32_t *)data);
    if (size < whole) return 0;
    *counts = memmem(data, whole, "\"code\":0", 8) != NULL;
    if (!*counts) fail("refused", data + 8, whole - 8);
    return whole;
}

static size_t nats(const char *data, size_t size, int *counts)
{
    const char *end = memmem(data, size, "\r\n", 2);
    if (end == NULL) return 0;
    size_t line = (size_t)(end - data) + 2;
    if (data[0] == '-') fail("refused", data, line);
    if (memcmp(data, "MSG ", 4) != 0) return line;
    const char *length = memrchr(data, ' ', line);
    size_t whole = line + strtoul(length, NULL, 10) + 2;
    if (size < whole) return 0;
    if (memmem(data + line, whole - line, "\"error\"", 7)) fail("refused", data, whole);
    *counts = 1;
    return whole;
}

static size_t redis(const char *data, size_t size, int *counts)
{
    const char *end = memmem(data, size, "\r\n", 2);
    if (end == NULL) return 0;
    size_t line = (size_t)(end - data) + 2;
    if (data[0] != '$') fail("refused", data, line);
    size_t whole = line + strtoul(data + 1, NULL, 10) + 2;
    if (size < whole) return 0;
    *counts = 1;
    return whole;
}

static void put_requests(struct connection *conn, double at_s)
{
    while (conn->sent - conn->answered < window) {
        conn->sent_s[conn->sent++ % window] = at_s;
        conn->unsent += size;
    }
    while (conn->unsent) {
        /* A request that was cut is continued from where it was cut. */
        size_t from = (size - conn->unsent % size) % size, most = size * (size_t)window - from;
        ssize_t put = write(conn->sock, requests + from, conn->unsent < most ? conn->unsent : most);
        if (put <= 0) return;
        conn->unsent -= (size_t)put;
    }
}

static int get_answers(struct connection *conn, double at_s, int is_warm)
{
    ssize_t got = read(conn->sock, conn->answers + conn->held, BUFFER - conn->held);
    if (got == 0) fail("closed", "by the server", 13);
    if (got < 0) return 0;
    conn->held += (size_t)got;
    size_t at = 0, one;
    int counts = 0;
    while ((one = take(conn->answers + at, conn->held - at, &counts)) > 0) {
        at += one;
        if (counts && ++conn->parts % answers_each == 0) {
            long sample = answered++ - first;
            if (is_warm && sample < SAMPLES_MAX)
                samples[sample] = at_s - conn->sent_s[conn->answered % window];
            conn->answered++;
        }
        counts = 0;
    }
    conn->held -= at;
    memmove(conn->answers, conn->answers + at, conn->held);
    return 1;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words)
{
    if (count != 9)
        fail("usage", "light PROTOCOL PORT REQUEST ANSWERS CONNECTIONS WINDOW WARM_S SECONDS", 80);
    take = words[1][0] == 'n' ? nats : words[1][1] == 'e' ? redis : rocketmq;
    answers_each = atol(words[4]);
    long connections = atol(words[5]);
    window = atol(words[6]);
    double warm_s = atof(words[7]), seconds = atof(words[8]);
    if (connections < 1 || connections > CONNECTIONS_MAX || window < 1 || answers_each < 1)
        fail("numbers", words[5], strlen(words[5]));

    int file = open(words[3], O_RDONLY);
    off_t found = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    if (found <= 0) fail("request", words[3], strlen(words[3]));
    size = (size_t)found;
    requests = malloc(size * (size_t)window);
    samples = malloc(sizeof *samples * SAMPLES_MAX);
    struct connection *conns = calloc((size_t)connections, sizeof *conns);
    if (requests == NULL || samples == NULL || conns == NULL) fail("memory", "", 0);
    if (pread(file, requests, size, 0) != found) fail("request", words[3], strlen(words[3]));
    for (long i = 1; i < window; i++) memcpy(requests + (size_t)i * size, requests, size);

    char hello[1024];
    ssize_t greeting = read(0, hello, sizeof hello);
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[2]))};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int polled = epoll_create1(0), yes = 1;
    for (struct connection *conn = conns; conn < conns + connections; conn++) {
        conn->sock = socket(AF_INET, SOCK_STREAM, 0);
        conn->sent_s = calloc((size_t)window, sizeof *conn->sent_s);
        if (conn->sock < 0 || conn->sent_s == NULL) fail("connection", words[5], strlen(words[5]));
        if (connect(conn->sock, (struct sockaddr *)&there, sizeof there))
            fail("connect", words[2], strlen(words[2]));
        setsockopt(conn->sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (greeting > 0 && write(conn->sock, hello, (size_t)greeting) != greeting)
            fail("hello", "", 0);
        fcntl(conn->sock, F_SETFL, O_NONBLOCK);
        /* Edge-triggered: a connection is looked at when there is something new. */
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = conn};
        epoll_ctl(polled, EPOLL_CTL_ADD, conn->sock, &event);
    }

    double begin_s = now_s() + warm_s, end_s = begin_s + seconds, at_s;
    int is_warm = 0;
    while ((at_s = now_s()) < end_s) {
        if (!is_warm && at_s >= begin_s) {
            is_warm = 1;
            first = answered;
            begin_s = at_s;
            puts("begin");
            fflush(stdout);
        }
        struct epoll_event ready[64];
        int some = epoll_wait(polled, ready, 64, 1000);
        at_s = now_s();
        for (int i = 0; i < some; i++) {
            struct connection *conn = ready[i].data.ptr;
            while (get_answers(conn, at_s, is_warm)) continue;
            put_requests(conn, at_s);
        }
    }
    long measured = answered - first;
    if (!is_warm || measured == 0) fail("nothing was answered", "", 0);
    size_t kept = (size_t)(measured < SAMPLES_MAX ? measured : SAMPLES_MAX);
    qsort(samples, kept, sizeof *samples, ascending);
    printf("%ld %.6f %.1f %.1f %.1f\n", measured, at_s - begin_s, samples[kept / 2] * 1e6,
           samples[kept * 99 / 100] * 1e6, samples[kept * 999 / 1000] * 1e6);
    return 0;
}
