// The bare loop that the MuJoCo simulator is measured against: robots, control steps, mj_step, nothing else.
// Each thread keeps one mjData and takes robots from a common counter, as fast as MuJoCo alone can go.

#include <mujoco/mujoco.h>
#include <pthread.h>
#include <string.h>

typedef struct {
  const mjModel* model;
  const double* start;    // (nq) where every robot begins, at rest
  const double* target;   // (steps, robots, nu)
  double* final;          // (robots, nq) where each ends
  int robots, steps, decimation, lag;  // lag in physics steps, at most the decimation
  int next;
} Work;

static void run_robot(Work* work, mjData* data, int robot) {
  const mjModel* model = work->model;
  const double* before = work->start + 7;  // motors hold the joints of the start
  mj_resetData(model, data);
  memcpy(data->qpos, work->start, model->nq * sizeof(double));
  for (int step = 0; step < work->steps; step++) {
    const double* now = work->target + ((long)step * work->robots + robot) * model->nu;
    for (int part = 0; part < work->decimation; part++) {
      memcpy(data->ctrl, part < work->lag ? before : now, model->nu * sizeof(double));
      mj_step(model, data);
    }
    before = now;
  }
  memcpy(work->final + (long)robot * model->nq, data->qpos, model->nq * sizeof(double));
}

static void* run_thread(void* argument) {
  Work* work = argument;
  mjData* data = mj_makeData(work->model);
  int robot;
  while ((robot = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED)) < work->robots) run_robot(work, data, robot);
  mj_deleteData(data);
  return NULL;
}

// Simulate all robots on `threads` threads, the caller's included.
void mj_step_loop(const mjModel* model, const double* start, const double* target, double* final, int robots, int steps,
                  int decimation, int lag, int threads) {
  Work work = {model, start, target, final, robots, steps, decimation, lag, 0};
  pthread_t others[threads];
  for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, run_thread, &work);
  run_thread(&work);
  for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
}
