/*
 * Kills the process at the n-th call that changes files whose path has a given part: before the call, or after it.
 *
 * Loaded before the C library (LD_PRELOAD), so that it sees the calls of compiled libraries too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *part = 0;
static atomic_long left = 0;
static int is_after = 0;

void arm(const char *path_part, long n, int after) {
  part = strdup(path_part);
  is_after = after;
  atomic_store(&left, n);
}

static int meant(const char *path) { return part && path && strstr(path, part); }

static int is_last(void) { return atomic_fetch_sub(&left, 1) == 1; }

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define CALL(type, name, path, parameters, arguments)              \
  type name parameters {                                           \
    static type(*real) parameters = 0;                             \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    int last = meant(path) && is_last();                           \
    if (last && !is_after) die();                                  \
    type done = real arguments;                                    \
    if (last) die();                                               \
    return done;                                                   \
  }

#define OPEN(name)                                                             \
  int name(const char *path, int flags, ...) {                                 \
    static int (*real)(const char *, int, ...) = 0;                            \
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
    va_list rest;                                                              \
    va_start(rest, flags);                                                     \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;                  \
    va_end(rest);                                                              \
    int last = (flags & O_CREAT) && meant(path) && is_last();                  \
    if (last && !is_after) die();                                              \
    int done = real(path, flags, mode);                                        \
    if (last) die();                                                           \
    return done;                                                               \
  }

static const char *path_of(int file) {
  static _Thread_local char path[4096];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = part ? readlink(link, path, sizeof path - 1) : -1;
  if (length < 0) return 0;
  path[length] = 0;
  return path;
}

OPEN(open)
OPEN(open64)
CALL(ssize_t, write, path_of(file), (int file, const void *data, size_t size), (file, data, size))
CALL(int, rename, to, (const char *from, const char *to), (from, to))
CALL(int, renameat2, to, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
CALL(int, link, to, (const char *from, const char *to), (from, to))
CALL(int, linkat, to, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL(int, unlink, path, (const char *path), (path))
CALL(int, unlinkat, path, (int at, const char *path, int flags), (at, path, flags))
CALL(int, mkdir, path, (const char *path, mode_t mode), (path, mode))
CALL(int, rmdir, path, (const char *path), (path))
