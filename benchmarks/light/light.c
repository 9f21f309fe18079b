/* A client that costs next to nothing: sends one request again and again, and counts answers.

       light PROTOCOL PORT REQUEST ANSWERS WINDOW WARM_S SECONDS < hello

   PROTOCOL  how answers are told apart: rocketmq, nats, redis
   REQUEST   a file with the bytes of one request
   ANSWERS   how many answers a request has
   WINDOW    how many requests may be without their answers
   hello     bytes that are sent once, before the first request

   Prints "begin" when the warm-up is over, and at the end: requests, seconds, p50 and p99 in us
   from a request to its last answer. An answer that tells of an error ends it with status 1.
   All answers come over one connection and in the order of their requests. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_MAX = 4096, SAMPLES_MAX = 20 * 1000 * 1000, BUFFER = 1 << 20 };

static char answers[BUFFER];
static double *samples;

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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words)
{
    if (count != 8) fail("usage", "light PROTOCOL PORT REQUEST ANSWERS WINDOW WARM_S SECONDS", 80);
    size_t (*take)(const char *, size_t, int *) =
        words[1][0] == 'n' ? nats : words[1][1] == 'e' ? redis : rocketmq;
    int answers_each = atoi(words[4]), window = atoi(words[5]);
    double warm_s = atof(words[6]), seconds = atof(words[7]);
    if (window < 1 || window > WINDOW_MAX) fail("window", words[5], strlen(words[5]));

    int file = open(words[3], O_RDONLY);
    off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    if (size <= 0) fail("request", words[3], strlen(words[3]));
    char *requests = malloc((size_t)size * (size_t)window);
    samples = malloc(sizeof *samples * SAMPLES_MAX);
    if (requests == NULL || samples == NULL) fail("memory", "", 0);
    if (pread(file, requests, (size_t)size, 0) != size) fail("request", words[3], strlen(words[3]));
    for (int i = 1; i < window; i++) memcpy(requests + i * size, requests, (size_t)size);

    int sock = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[2]))};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(sock, (struct sockaddr *)&there, sizeof there)) fail("connect", words[2], 5);
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    char hello[1024];
    ssize_t greeting = read(0, hello, sizeof hello);
    if (greeting > 0 && write(sock, hello, (size_t)greeting) != greeting) fail("hello", "", 0);
    fcntl(sock, F_SETFL, O_NONBLOCK);

    static double sent_s[WINDOW_MAX];
    size_t held = 0, unsent = 0;
    long sent = 0, answered = 0, parts = 0, first = 0;
    double begin_s = now_s() + warm_s, end_s = begin_s + seconds, at_s = now_s();
    int is_warm = 0;
    while (at_s < end_s) {
        if (!is_warm && at_s >= begin_s) {
            is_warm = 1;
            first = answered;
            begin_s = at_s;
            puts("begin");
            fflush(stdout);
        }
        while (sent - answered < window) {
            sent_s[sent++ % WINDOW_MAX] = at_s;
            unsent += (size_t)size;
        }
        if (unsent) {
            /* A request that was cut is continued from where it was cut. */
            size_t from = ((size_t)size - unsent % (size_t)size) % (size_t)size;
            size_t most = (size_t)size * (size_t)window - from;
            ssize_t put = write(sock, requests + from, unsent < most ? unsent : most);
            if (put > 0) unsent -= (size_t)put;
        }
        struct pollfd ready = {.fd = sock, .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
        poll(&ready, 1, 1000);
        at_s = now_s();
        if (!(ready.revents & POLLIN)) continue;
        ssize_t got = read(sock, answers + held, BUFFER - held);
        if (got == 0) fail("closed", "by the server", 13);
        if (got < 0) continue;
        held += (size_t)got;
        size_t at = 0, one;
        int counts = 0;
        while ((one = take(answers + at, held - at, &counts)) > 0) {
            at += one;
            parts += counts;
            if (counts && parts % answers_each == 0) {
                long sample = answered - first;
                if (is_warm && sample < SAMPLES_MAX)
                    samples[sample] = at_s - sent_s[answered % WINDOW_MAX];
                answered++;
            }
            counts = 0;
        }
        held -= at;
        memmove(answers, answers + at, held);
    }
    long measured = answered - first;
    if (measured == 0) fail("nothing was answered", "", 0);
    size_t kept = (size_t)(measured < SAMPLES_MAX ? measured : SAMPLES_MAX);
    qsort(samples, kept, sizeof *samples, ascending);
    printf("%ld %.6f %.1f %.1f\n", measured, at_s - begin_s, samples[kept / 2] * 1e6,
           samples[kept * 99 / 100] * 1e6);
    return 0;
}
