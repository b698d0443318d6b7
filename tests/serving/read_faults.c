/* Preloaded: the N-th read of a file below a folder fails with EIO, and so do all later ones. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char below[PATH_MAX];
static long left = -1, counted;

void reads_fail(const char *folder, long from) {
    snprintf(below, sizeof below, "%s/", folder);
    left = from;
    counted = 0;
}

long reads_counted(void) { return counted; }

static int refused(int file) {
    char link[64], path[PATH_MAX];
    if (!below[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    if (strncmp(path, below, strlen(below))) return 0;
    counted++;
    if (left <= 0 || counted < left) return 0;
    errno = EIO;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int file, void *to, size_t size) { return refused(file) ? -1 : NEXT(read)(file, to, size); }
ssize_t pread(int file, void *to, size_t size, off_t at) { return refused(file) ? -1 : NEXT(pread)(file, to, size, at); }
ssize_t pread64(int file, void *to, size_t size, off64_t at) {
    return refused(file) ? -1 : NEXT(pread64)(file, to, size, at);
}
