/* Preloaded into a process, this sees every operation by which the process changes files below one folder: it writes them to
   a log with their bytes, or kills the process at one of them, or makes it fail. Build: cc -shared -fPIC -o X.so X.c -ldl.
   Memory shared with other processes (-shm files) is no file in this sense: nobody expects it to survive. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { RECORD, KILL, TEAR, FAIL_ONCE, FAIL_ON };
#define FILES 4096

static char watched[PATH_MAX];
static int log_to = -1, action = RECORD, error_number;
static long at, count;
static char mine[FILES];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* From now on operations below `folder` count from 1, and the one numbered `number` is acted on. */
void operations_watch(const char *folder, int log, int what, long number, int error)
{
    strncpy(watched, folder, sizeof watched - 1);
    log_to = log, action = what, at = number, error_number = error, count = 0;
}

long operations_counted(void) { return count; }

static int below(const char *path)
{
    size_t length = strlen(watched), own = strlen(path);
    return length && !strncmp(path, watched, length) && (path[length] == '/' || !path[length])
        && !(own > 4 && !strcmp(path + own - 4, "-shm"));
}

static void put(const void *data, size_t size)
{
    REAL(write);
    const char *from = data;
    while (size) {
        ssize_t done = real(log_to, from, size);
        if (done <= 0) _exit(97);
        from += done, size -= done;
    }
}

static void record(char kind, int file, int64_t number, const void *data, uint64_t size)
{
    if (log_to < 0) return;
    int64_t head[3] = {file, number, (int64_t)size};
    put(&kind, 1), put(head, sizeof head), put(data, size);
}

/* Whether the operation that comes now has to fail; it does not return where the process is to die. */
static int refused(int fills)
{
    count++;
    if (action == KILL && count == at) kill(getpid(), SIGKILL), pause();
    if ((action == FAIL_ONCE && count == at) || (action == FAIL_ON && count >= at && fills)) {
        errno = error_number;
        return 1;
    }
    return 0;
}

#define ALONE(type, body) pthread_mutex_lock(&turn); type result = body; int said = errno; \
    pthread_mutex_unlock(&turn); errno = said; return result

static int opened(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode)
{
    if (!below(path)) return real(path, flags, mode);
    struct stat there;
    int makes = (flags & O_CREAT) && stat(path, &there), cuts = (flags & O_TRUNC) && !makes;
    if ((makes || cuts) && refused(1)) return -1;
    int file = real(path, flags, mode);
    if (file >= 0 && file < FILES) {
        mine[file] = 1;
        record('o', file, flags & O_TRUNC ? 1 : 0, path, strlen(path));
    }
    return file;
}

#define OPEN(name) int name(const char *path, int flags, ...) { \
    REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
    ALONE(int, opened(real, path, flags, mode)); }
OPEN(open)
OPEN(open64)

#define OPENAT(name, plain) int name(int folder, const char *path, int flags, ...) { \
    REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
    if (path[0] == '/') return plain(path, flags, mode); \
    return real(folder, path, flags, mode); }
OPENAT(openat, open)
OPENAT(openat64, open64)

static int is_mine(int file) { return file >= 0 && file < FILES && mine[file]; }

static ssize_t written(int file, const void *data, size_t size, off_t offset, ssize_t (*real)(int, const void *, size_t, off_t))
{
    if (action == TEAR && count + 1 >= at) real(file, data, size / 2, offset), kill(getpid(), SIGKILL), pause();
    if (refused(1)) return -1;
    ssize_t done = real(file, data, size, offset);
    if (done > 0) record('w', file, offset, data, done);
    return done;
}

#define PWRITE(name, offset_type) ssize_t name(int file, const void *data, size_t size, offset_type offset) { \
    REAL(name); if (!is_mine(file)) return real(file, data, size, offset); \
    ALONE(ssize_t, written(file, data, size, offset, (ssize_t (*)(int, const void *, size_t, off_t))real)); }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

static ssize_t appended(int file, const void *data, size_t size, off_t unused)
{
    REAL(write);
    (void)unused;
    return real(file, data, size);
}

ssize_t write(int file, const void *data, size_t size)
{
    if (!is_mine(file)) return appended(file, data, size, 0);
    ALONE(ssize_t, written(file, data, size, lseek(file, 0, SEEK_CUR), appended));
}

#define CHANGE(condition, fills, call, note) if (!(condition)) return call; \
    pthread_mutex_lock(&turn); int result = refused(fills) ? -1 : call, said = errno; \
    if (!result) note; \
    pthread_mutex_unlock(&turn); errno = said; return result

int ftruncate(int file, off_t size) { REAL(ftruncate); CHANGE(is_mine(file), 0, real(file, size), record('t', file, size, "", 0)); }
int ftruncate64(int file, off64_t size) { REAL(ftruncate64); CHANGE(is_mine(file), 0, real(file, size), record('t', file, size, "", 0)); }
int fsync(int file) { REAL(fsync); CHANGE(is_mine(file), 0, real(file), record('s', file, 0, "", 0)); }
int fdatasync(int file) { REAL(fdatasync); CHANGE(is_mine(file), 0, real(file), record('s', file, 0, "", 0)); }
int unlink(const char *path) { REAL(unlink); CHANGE(below(path), 0, real(path), record('u', 0, 0, path, strlen(path))); }
int rmdir(const char *path) { REAL(rmdir); CHANGE(below(path), 0, real(path), record('d', 0, 0, path, strlen(path))); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); CHANGE(below(path), 1, real(path, mode), record('m', 0, 0, path, strlen(path))); }
int rename(const char *from, const char *to)
{
    REAL(rename);
    CHANGE(below(to), 0, real(from, to), (record('f', 0, 0, from, strlen(from)), record('r', 0, 0, to, strlen(to))));
}

int unlinkat(int folder, const char *path, int flags)
{
    REAL(unlinkat);
    if (path[0] == '/') return flags & AT_REMOVEDIR ? rmdir(path) : unlink(path);
    return real(folder, path, flags);
}

int close(int file)
{
    REAL(close);
    if (is_mine(file)) {
        pthread_mutex_lock(&turn);
        mine[file] = 0, record('c', file, 0, "", 0);
        pthread_mutex_unlock(&turn);
    }
    return real(file);
}
