/* Holds chosen system calls of a process that preloads this library (LD_PRELOAD).

   HELD_CALLS names a file of one page that both sides map: the test writes the name of a call and
   a part of a path, and the library counts the calls that it holds, until the name is cleared. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
    volatile int held_count;
    char call[60];
    char path[192];
};

static struct control *control;

__attribute__((constructor)) static void map_control(void) {
    const char *name = getenv("HELD_CALLS");
    int descriptor = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page != MAP_FAILED) control = page;
    close(descriptor);
}

static int is_named(const char *call) {
    return control && !strcmp((const char *)control->call, call);
}

static void hold(const char *call, const char *path) {
    if (!is_named(call) || !strstr(path, control->path)) return;
    __atomic_add_fetch(&control->held_count, 1, __ATOMIC_SEQ_CST);
    while (is_named(call)) usleep(500);
}

static void hold_descriptor(const char *call, int descriptor) {
    char link[64], path[4096];
    if (!is_named(call)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return;
    path[size] = 0;
    hold(call, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t pos) {
    hold_descriptor("pwrite", descriptor);
    return NEXT(pwrite)(descriptor, data, size, pos);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t pos) {
    hold_descriptor("pwrite", descriptor);
    return NEXT(pwrite64)(descriptor, data, size, pos);
}

ssize_t write(int descriptor, const void *data, size_t size) {
    hold_descriptor("write", descriptor);
    return NEXT(write)(descriptor, data, size);
}

int fdatasync(int descriptor) {
    hold_descriptor("fdatasync", descriptor);
    return NEXT(fdatasync)(descriptor);
}

int fsync(int descriptor) {
    hold_descriptor("fsync", descriptor);
    return NEXT(fsync)(descriptor);
}

int posix_fallocate64(int descriptor, off64_t pos, off64_t size) {
    hold_descriptor("fallocate", descriptor);
    return NEXT(posix_fallocate64)(descriptor, pos, size);
}

int posix_fallocate(int descriptor, off_t pos, off_t size) {
    hold_descriptor("fallocate", descriptor);
    return NEXT(posix_fallocate)(descriptor, pos, size);
}

int ftruncate64(int descriptor, off64_t size) {
    hold_descriptor("ftruncate", descriptor);
    return NEXT(ftruncate64)(descriptor, size);
}

int rename(const char *source, const char *target) {
    hold("rename", target);
    return NEXT(rename)(source, target);
}

int statvfs(const char *path, struct statvfs *found) {
    hold("statvfs", path);
    return NEXT(statvfs)(path, found);
}

int statvfs64(const char *path, struct statvfs64 *found) {
    hold("statvfs", path);
    return NEXT(statvfs64)(path, found);
}

int unlink(const char *path) {
    hold("unlink", path);
    return NEXT(unlink)(path);
}

int mkdir(const char *path, mode_t mode) {
    hold("mkdir", path);
    return NEXT(mkdir)(path, mode);
}

static mode_t mode_of(int flags, va_list *more) {
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(*more, mode_t) : 0;
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, &more);
    va_end(more);
    hold("open", path);
    return NEXT(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, &more);
    va_end(more);
    hold("open", path);
    return NEXT(open)(path, flags, mode);
}
