/*
 * Loaded into a program with LD_PRELOAD, it shifts what the program's wall clock reads by the milliseconds that stand in the file
 * STEPPING_CLOCK: a 64-bit integer in the machine's byte order, which may change at any time. Clocks that measure time are left
 * alone, so that timers and waits last as long as they should.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t nanos_per_second = 1000000000;
static const volatile int64_t *offset_ms;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("STEPPING_CLOCK");
  int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_ms, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    perror("STEPPING_CLOCK");
    abort();
  }
  close(file);
  offset_ms = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (failed || offset_ms == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  int64_t nanos = now->tv_sec * nanos_per_second + now->tv_nsec + *offset_ms * 1000000;
  now->tv_sec = nanos / nanos_per_second;
  now->tv_nsec = nanos % nanos_per_second;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise)) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise)) return -1;
  if (seconds != NULL) *seconds = precise.tv_sec;
  return precise.tv_sec;
}
