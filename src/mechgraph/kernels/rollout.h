/* Fixed-step integration of many trajectories, LANES at once, entirely in machine code.

   The printed code before this defines NQ, NU, NW, NP, WORK and, with x = (q, u, t, inputs, parameters),
   accelerate_run(x, w, udot), rate_run(x, w, qdot), keep_run(x, w, (q, u)); and ask_run(x, w, sampled), if the last
   SAMPLED of u are what a controller says at its samples. */

#define N (NQ + NU)
#define X (N + 1 + NW + NP)

static void slopes(const V *x, V *w, V *ydot) {
    rate_run(x, w, ydot);
    accelerate_run(x, w, ydot + NQ);
}

/* Explicit Runge-Kutta of order 4; the inputs are held over the step. */
static void step_rk4(V *x, V *w, V *stages, double h) {
    V *y = stages, *k = y + N, *sum = k + N, t = x[N];
    memcpy(y, x, N * sizeof(V));
    static const double node[] = {0.5, 0.5, 1.0}, weight[] = {2.0, 2.0, 1.0};
    slopes(x, w, sum);
    memcpy(k, sum, N * sizeof(V));
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < N; i++) x[i] = y[i] + h * node[s] * k[i];
        x[N] = t + h * node[s];
        slopes(x, w, k);
        for (int i = 0; i < N; i++) sum[i] += weight[s] * k[i];
    }
    for (int i = 0; i < N; i++) x[i] = y[i] + h / 6.0 * sum[i];
    x[N] = t + h;
}

/* Symplectic Euler: speeds with the accelerations at the old state, then coordinates with the new speeds. */
static void step_symplectic(V *x, V *w, V *stages, double h) {
    V *udot = stages, *qdot = udot + NU;
    accelerate_run(x, w, udot);
    for (int i = 0; i < NU; i++) x[NQ + i] += h * udot[i];
    rate_run(x, w, qdot);
    for (int i = 0; i < NQ; i++) x[i] += h * qdot[i];
    x[N] += h;
}

/* The implicit midpoint rule, y' = y + h f((y + y')/2), by iteration until nothing but rounding changes; no number where
   it does not converge. Symplectic in canonical coordinates, and symmetric in time. */
static void step_midpoint(V *x, V *w, V *stages, double h) {
    V *y = stages, *k = y + N, change;
    memcpy(y, x, N * sizeof(V));
    x[N] += h / 2;
    for (int s = 0; s < 60; s++) {
        slopes(x, w, k);
        change = S(0.0);
        for (int i = 0; i < N; i++) {
            V middle = y[i] + h / 2 * k[i];
            change = v_fmax(change, v_fabs(middle - x[i]) - 4e-16 * v_fabs(middle));
            x[i] = middle;
        }
        if (all_within(change, 1e-16)) break;
    }
    V lost = all_within(change, 1e-9) ? S(0.0) : S(0.0) / S(0.0);
    for (int i = 0; i < N; i++) x[i] = y[i] + h * k[i] + lost;
}

/* Newton steps back to the constraints, until the last one was so small that the next would be rounding. */
static void settle(V *x, V *w, V *kept) {
    for (int k = 0; k < 6; k++) {
        V change = S(0.0);
        keep_run(x, w, kept);
        for (int i = 0; i < N; i++) change = v_fmax(change, v_fabs(kept[i] - x[i]) - 1e-7 * v_fabs(x[i]));
        memcpy(x, kept, N * sizeof(V));
        if (all_within(change, 1e-7)) return;
    }
}

/* Trajectories first ... last - 1. start: N for each; inputs: NW for each step (input_stride 0) or for each step of each
   trajectory; parameters: NP for each (parameter_stride 0: one for all); out: records x N for each, the first record
   being the start and one for each `every` steps after it. method 0: rk4, 1: symplectic, 2: midpoint. Samples are taken at
   every `held` steps. What is not zero at `stop` ends it. Returns 0, or 1 if a trajectory is no longer finite at its end, or
   2 if there is no memory. */
EXPORT int kernel_rollout(long first, long last, const double *start, const double *inputs, long input_stride,
                          const double *parameters, long parameter_stride, double t0, double h, long steps, long every,
                          int method, long held, double *out, const volatile int *stop) {
    (void)held;
    long records = steps / every + 1;
    V *memory = aligned_alloc(64, (sizeof(V) * (X + N + WORK + 3 * N + 1) + 63) & ~63UL), check = S(0.0);
    if (!memory) return 2;
    V *x = memory, *kept = x + X, *w = kept + N, *stages = w + WORK;
    for (long g = first; g < last; g += LANES) {
#define EACH_LANE for (int lane = 0; lane < LANES; lane++) for (long r = g + lane < last ? g + lane : last - 1, once = 1; once; once = 0)
        EACH_LANE for (long i = 0; i < N; i++) LANE(x[i], lane) = start[r * N + i];
        EACH_LANE for (long i = 0; i < NP; i++) LANE(x[N + 1 + NW + i], lane) = parameters[r * parameter_stride + i];
        x[N] = S(t0);
        for (long s = 0; s <= steps && !*stop; s++) {
#if SAMPLED
            if (s == 0) EACH_LANE for (long i = 0; i < NW; i++) LANE(x[N + 1 + i], lane) = inputs[r * input_stride + i];
            if (s % held == 0) {
                ask_run(x, w, kept);
                memcpy(x + N - SAMPLED, kept, SAMPLED * sizeof(V));
            }
#endif
            if (s % every == 0)
                EACH_LANE for (long i = 0; i < N; i++) out[(r * records + s / every) * N + i] = LANE(x[i], lane);
            if (s == steps) break;
            EACH_LANE for (long i = 0; i < NW; i++) LANE(x[N + 1 + i], lane) = inputs[r * input_stride + s * NW + i];
            if (method == 0) step_rk4(x, w, stages, h);
            else if (method == 1) step_symplectic(x, w, stages, h);
            else step_midpoint(x, w, stages, h);
            x[N] = S(t0 + (s + 1) * h);
            if (KEEPING) settle(x, w, kept);
        }
        for (long i = 0; i < N; i++) check += x[i] * 0.0;
    }
    free(memory);
    return !all_within(check, 1.0);
}
