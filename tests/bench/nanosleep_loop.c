// The bare loop that ticks are measured against: absolute deadlines of the monotonic clock, nothing in between.

#include <stdint.h>
#include <time.h>

// Ends after so many ticks, or when somebody sets `stop`; returns the number of ticks it made.
int nanosleep_loop(int64_t period, int ticks, int64_t* late, const volatile int* stop) {
  struct timespec deadline, now;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  int tick = 0;
  for (; tick < ticks && !*stop; ++tick) {
    deadline.tv_nsec += period;
    while (deadline.tv_nsec >= 1000000000) {
      deadline.tv_nsec -= 1000000000;
      ++deadline.tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    late[tick] = (now.tv_sec - deadline.tv_sec) * 1000000000 + now.tv_nsec - deadline.tv_nsec;
  }
  return tick;
}
