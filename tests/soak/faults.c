// Faults at the n-th call on files below one directory. Loaded with LD_PRELOAD, armed through faults_arm().
//
// Counted calls: open, write, fsync, rename, mkdir, unlink, rmdir and ftruncate, in their variants.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

// The numbers are those of faults.Mode.
enum { NO_FAULT, IO_ERROR, DISK_FULL, KILL, KILL_AFTER_HALF };

static char below[PATH_MAX];
static size_t below_length;
static atomic_long calls;
static long fault_at;
static int mode;

// Counts calls below `directory` from here on; call number `nth` (from 1) meets the fault, and 0 only counts.
void faults_arm(const char *directory, long nth, int how)
{
    snprintf(below, sizeof below, "%s", directory);
    below_length = strlen(below);
    atomic_store(&calls, 0);
    fault_at = nth;
    mode = how;
}

void faults_disarm(void)
{
    below_length = 0;
}

long faults_calls(void)
{
    return atomic_load(&calls);
}

static int is_below(const char *path)
{
    return strncmp(path, below, below_length) == 0 && (path[below_length] == '/' || path[below_length] == 0);
}

static int descriptor_is_below(int descriptor)
{
    char link[64], path[PATH_MAX];
    if (!below_length)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_below(path);
}

static int path_is_below(int directory, const char *path)
{
    if (!below_length || !path)
        return 0;
    if (path[0] == '/')
        return is_below(path);
    return directory != AT_FDCWD && descriptor_is_below(directory);
}

static void end_process(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

// The fault of this call, if it meets one. `needs_space`: a full disk refuses it from then on.
static int fault(int counts, int needs_space)
{
    if (!counts)
        return NO_FAULT;
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (!fault_at || call < fault_at)
        return NO_FAULT;
    if (call > fault_at)
        return mode == DISK_FULL && needs_space ? DISK_FULL : NO_FAULT;
    if (mode == KILL)
        end_process();
    return mode;
}

static int fail(int with)
{
    errno = with == DISK_FULL ? ENOSPC : EIO;
    return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// A call that moves no data: refused, or made whole before the process ends.
#define PLAIN(counts, needs_space, call)                          \
    do {                                                          \
        int with = fault((counts), (needs_space));                \
        if (with == IO_ERROR || with == DISK_FULL)                \
            return fail(with);                                    \
        __typeof__(call) result = (call);                         \
        if (with == KILL_AFTER_HALF)                              \
            end_process();                                        \
        return result;                                            \
    } while (0)

// A write: refused, or half of it made before the process ends.
#define WRITE(descriptor, call, half)                             \
    do {                                                          \
        int with = fault(descriptor_is_below(descriptor), 1);     \
        if (with == IO_ERROR)                                     \
            return fail(with);                                    \
        if (with == DISK_FULL || with == KILL_AFTER_HALF) {       \
            ssize_t written = (half);                             \
            (void)written;                                        \
            if (with == KILL_AFTER_HALF)                          \
                end_process();                                    \
            return fail(with);                                    \
        }                                                         \
        return (call);                                            \
    } while (0)

static mode_t mode_of(int flags, va_list rest)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name)                                                                                       \
    int name(const char *path, int flags, ...)                                                           \
    {                                                                                                    \
        va_list rest;                                                                                    \
        va_start(rest, flags);                                                                           \
        mode_t bits = mode_of(flags, rest);                                                              \
        va_end(rest);                                                                                    \
        PLAIN(path_is_below(AT_FDCWD, path), flags & O_CREAT, REAL(name)(path, flags, bits));            \
    }

#define OPENAT(name)                                                                                     \
    int name(int directory, const char *path, int flags, ...)                                            \
    {                                                                                                    \
        va_list rest;                                                                                    \
        va_start(rest, flags);                                                                           \
        mode_t bits = mode_of(flags, rest);                                                              \
        va_end(rest);                                                                                    \
        PLAIN(path_is_below(directory, path), flags & O_CREAT, REAL(name)(directory, path, flags, bits));\
    }

#define PWRITE(name, offset_type)                                                                        \
    ssize_t name(int descriptor, const void *data, size_t size, offset_type at)                          \
    {                                                                                                    \
        WRITE(descriptor, REAL(name)(descriptor, data, size, at), REAL(name)(descriptor, data, size / 2, at)); \
    }

#define TRUNCATE(name, offset_type)                                                                      \
    int name(int descriptor, offset_type size)                                                           \
    {                                                                                                    \
        PLAIN(descriptor_is_below(descriptor), 0, REAL(name)(descriptor, size));                         \
    }

#define SYNC(name)                                                                                       \
    int name(int descriptor)                                                                             \
    {                                                                                                    \
        PLAIN(descriptor_is_below(descriptor), 0, REAL(name)(descriptor));                               \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)
SYNC(fsync)
SYNC(fdatasync)

int creat(const char *path, mode_t bits)
{
    PLAIN(path_is_below(AT_FDCWD, path), 1, REAL(creat)(path, bits));
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    WRITE(descriptor, REAL(write)(descriptor, data, size), REAL(write)(descriptor, data, size / 2));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    WRITE(descriptor, REAL(writev)(descriptor, parts, count), REAL(writev)(descriptor, parts, count / 2));
}

int rename(const char *from, const char *to)
{
    PLAIN(path_is_below(AT_FDCWD, from) || path_is_below(AT_FDCWD, to), 0, REAL(rename)(from, to));
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    PLAIN(path_is_below(from_directory, from) || path_is_below(to_directory, to), 0,
          REAL(renameat)(from_directory, from, to_directory, to));
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned int flags)
{
    PLAIN(path_is_below(from_directory, from) || path_is_below(to_directory, to), 0,
          REAL(renameat2)(from_directory, from, to_directory, to, flags));
}

int mkdir(const char *path, mode_t bits)
{
    PLAIN(path_is_below(AT_FDCWD, path), 1, REAL(mkdir)(path, bits));
}

int mkdirat(int directory, const char *path, mode_t bits)
{
    PLAIN(path_is_below(directory, path), 1, REAL(mkdirat)(directory, path, bits));
}

int rmdir(const char *path)
{
    PLAIN(path_is_below(AT_FDCWD, path), 0, REAL(rmdir)(path));
}

int unlink(const char *path)
{
    PLAIN(path_is_below(AT_FDCWD, path), 0, REAL(unlink)(path));
}

int unlinkat(int directory, const char *path, int flags)
{
    PLAIN(path_is_below(directory, path), 0, REAL(unlinkat)(directory, path, flags));
}
