/* The explicit method of order 5; the same, and that of order 4, for steps from sample to sample. */

static const double DP_A[7][7] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
static const double DP_C[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
static const double DP_E[7] = {-71.0 / 57600, 0, 71.0 / 16695, -71.0 / 1920, 17253.0 / 339200, -22.0 / 525, 1.0 / 40};
static const double DP_P[7][4] = {
    {1, -8048581381.0 / 2820520608, 8663915743.0 / 2820520608, -12715105075.0 / 11282082432},
    {0},
    {0, 131558114200.0 / 32700410799, -68118460800.0 / 10900136933, 87487479700.0 / 32700410799},
    {0, -1754552775.0 / 470086768, 14199869525.0 / 1410260304, -10690763975.0 / 1880347072},
    {0, 127303824393.0 / 49829197408, -318862633887.0 / 49829197408, 701980252875.0 / 199316789632},
    {0, -282668133.0 / 205662961, 2019193451.0 / 616988883, -1453857185.0 / 822651844},
    {0, 40617522.0 / 29380423, -110615467.0 / 29380423, 69997945.0 / 29380423}};
static const double ZO_A[6][7] = {
    {0}, {1.0 / 2}, {0, 1.0 / 2}, {0, 0, 1}, {5.0 / 32, 7.0 / 32, 13.0 / 32, -1.0 / 32}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}};
static const double ZO_C[6] = {0, 1.0 / 2, 1.0 / 2, 1, 3.0 / 4, 1};
static const double ZO_E[5] = {-2.0 / 3, 2, 2, 2, -16.0 / 3};
static const double SHORT = 0.1; /* the error up to which such a step is good enough */

/* A method by its coefficients: slopes at `stages` places, the state at the end by the row after, or the last, of A. */
typedef struct {
    int stages, end;
    double power; /* of the error: how it grows with the step */
    const double (*A)[7], *C, *E;
} Tableau;
static const Tableau TABLEAUX[3] = {{0}, {5, 5, 0.25, ZO_A, ZO_C, ZO_E}, {7, 6, 0.2, DP_A, DP_C, DP_E}};

/* A step to `fresh` and its error; the last slopes of rk5 are those at the end. */
static double short_step(Run *r, const Tableau *by, double h) {
    long n = r->n;
    double sum = 0;
    memcpy(r->K, r->ydot, n * sizeof(double));
    for (int k = 1; k < by->stages; k++) {
        double *at = k == by->end ? r->fresh : r->stage;
        combine(r, at, h, by->A[k], k);
        slopes(r, r->t + by->C[k] * h, at, r->K + k * n);
    }
    if (by->end == by->stages) combine(r, r->fresh, h, by->A[by->end], by->stages);
    for (long i = 0; i < n; i++) {
        double e = 0, unit = scale(r, fmax(fabs(r->y[i]), fabs(r->fresh[i])));
        for (int k = 0; k < by->stages; k++) e += by->E[k] * r->K[k * n + i];
        sum += e / unit * (e / unit);
    }
    return h * sqrt(sum / n);
}

/* Try rk4, then rk5, unless one has to wait because it was not good enough. */
static double try_short(Run *r, double h) {
    double error = INFINITY;
    for (int k = RK4; k <= RK5; k++) {
        if (r->waiting[k] && r->waiting[k]--) continue;
        error = short_step(r, TABLEAUX + k, h);
        r->wait[k] = error < SHORT ? 0 : fmin(2 * r->wait[k] + 8, 1000), r->waiting[k] = r->wait[k];
        if (error < SHORT) {
            r->short_step = k;
            break;
        }
    }
    return error;
}

/* Of rk5 by Shampine; of rk4 the cubic of values and slopes at both ends. */
static void short_dense(Run *r) {
    long n = r->n;
    double h = r->step, *last = r->K + 5 * n;
    if (r->short_step == RK4) slopes(r, r->t + h, r->fresh, last);
    for (long i = 0; i < n; i++) {
        double dy = r->fresh[i] - r->y[i], a = h * r->K[i], b = h * last[i], *to = r->F + i;
        if (r->short_step == RK4) to[0] = a, to[n] = 3 * dy - 2 * a - b, to[2 * n] = a + b - 2 * dy, to[3 * n] = 0;
        else
            for (int m = 0; m < 4; m++) {
                to[m * n] = 0;
                for (int k = 0; k < 7; k++) to[m * n] += h * DP_P[k][m] * r->K[k * n + i];
            }
    }
}
