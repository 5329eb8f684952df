// The bare loop that ticks are measured against: absolute deadlines of the monotonic clock, nothing in between.

#include <stdint.h>
#include <time.h>

void nanosleep_loop(int64_t period, int ticks, int64_t* late) {
  struct timespec deadline, now;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  for (int tick = 0; tick < ticks; ++tick) {
    deadline.tv_nsec += period;
    while (deadline.tv_nsec >= 1000000000) {
      deadline.tv_nsec -= 1000000000;
      ++deadline.tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    late[tick] = (now.tv_sec - deadline.tv_sec) * 1000000000 + now.tv_nsec - deadline.tv_nsec;
  }
}
