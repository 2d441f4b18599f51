/* The implicit method of order 5. */

static const double RA_C[3] = {0.15505102572168219, 0.6449489742783178, 1};
static const double RA_E[3] = {-10.048809399827416, 1.3821427331607489, -0.3333333333333333};
static const double RA_T[3][3] = {{0.09443876248897524, -0.14125529502095421, 0.03002919410514742},
                                  {0.25021312296533332, 0.20412935229379994, -0.38294211275726192},
                                  {1, 1, 0}};
static const double RA_TI[3][3] = {{4.17871859155190428, 0.32768282076106237, 0.52337644549944951},
                                   {-4.17871859155190428, -0.32768282076106237, 0.47662355450055044},
                                   {0.50287263494578682, -2.57192694985560522, 0.59603920482822492}};
static const double RA_P[3][3] = {{10.048809399827416, -25.62959144707665, 15.580782047249222},
                                  {-1.3821427331607489, 10.296258113743316, -8.914115380582556},
                                  {0.3333333333333333, -2.6666666666666665, 3.3333333333333335}};
static const double REAL = 3.637834252744496, COMPLEX_RE = 2.681082873627752, COMPLEX_IM = -3.050430199247411;
enum { NEWTON = 6 };

/* Products and quotients. Those of complex numbers are spelled out: else a compiler calls a library for numbers that are
   not finite, which is slower and not there for every compiler. */
static double real_times(double a, double b) { return a * b; }
static double real_over(double a, double b) { return a / b; }
static double complex complex_times(double complex a, double complex b) {
    return creal(a) * creal(b) - cimag(a) * cimag(b) + (creal(a) * cimag(b) + cimag(a) * creal(b)) * I;
}
static double complex complex_over(double complex a, double complex b) {
    return complex_times(a, conj(b)) / (creal(b) * creal(b) + cimag(b) * cimag(b));
}

/* Rows are eliminated with the largest pivot; 1 if there is none. `a` is n x n, row by row. */
#define ELIMINATION(NAME, TYPE, SIZE)                                                          \
    static int NAME##_factor(long n, TYPE *a, long *pivots) {                                  \
        for (long k = 0; k < n; k++) {                                                         \
            long p = k;                                                                        \
            for (long i = k + 1; i < n; i++)                                                   \
                if (SIZE(a[i * n + k]) > SIZE(a[p * n + k])) p = i;                            \
            pivots[k] = p;                                                                     \
            if (!(SIZE(a[p * n + k]) > 0)) return 1;                                           \
            if (p != k)                                                                        \
                for (long j = 0; j < n; j++) {                                                 \
                    TYPE swap = a[k * n + j];                                                  \
                    a[k * n + j] = a[p * n + j], a[p * n + j] = swap;                          \
                }                                                                              \
            for (long i = k + 1; i < n; i++) {                                                 \
                TYPE factor = a[i * n + k] = NAME##_over(a[i * n + k], a[k * n + k]);              \
                if (factor != 0)                                                               \
                    for (long j = k + 1; j < n; j++) a[i * n + j] -= NAME##_times(factor, a[k * n + j]); \
            }                                                                                  \
        }                                                                                      \
        return 0;                                                                              \
    }                                                                                          \
    static void NAME##_solve(long n, const TYPE *a, const long *pivots, TYPE *b) {             \
        for (long k = 0; k < n; k++) {                                                         \
            TYPE swap = b[k];                                                                  \
            b[k] = b[pivots[k]], b[pivots[k]] = swap;                                          \
        }                                                                                      \
        for (long i = 1; i < n; i++)                                                           \
            for (long j = 0; j < i; j++) b[i] -= NAME##_times(a[i * n + j], b[j]);             \
        for (long i = n - 1; i >= 0; i--) {                                                    \
            for (long j = i + 1; j < n; j++) b[i] -= NAME##_times(a[i * n + j], b[j]);         \
            b[i] = NAME##_over(b[i], a[i * n + i]);                                            \
        }                                                                                      \
    }
ELIMINATION(real, double, fabs)
ELIMINATION(complex, double complex, cabs)

/* J by differences, and the size of its largest eigenvalue by powers. */
static void jacobian(Run *r) {
    long n = r->n;
    memset(r->J, 0, n * n * sizeof(double));
    memcpy(r->stage, r->y, n * sizeof(double));
    for (long j = 0; j < r->moving; j++) {
        double there = r->y[j], small = sqrt(2.2e-16 * fmax(1e-5, fabs(there)));
        r->stage[j] = there + small;
        small = r->stage[j] - there;
        slopes(r, r->t, r->stage, r->K);
        r->stage[j] = there;
        for (long i = 0; i < n; i++) r->J[i * n + j] = (r->K[i] - r->ydot[i]) / small;
    }
    double *v = r->K, *image = r->K + n, size = 0;
    for (long i = 0; i < n; i++) v[i] = i < r->moving ? 1 + 0.1 * (i % 7) : 0;
    r->spectral = 0;
    for (int k = 0; k < 12; k++) {
        size = 0;
        for (long i = 0; i < r->moving; i++) {
            image[i] = 0;
            for (long j = 0; j < r->moving; j++) image[i] += r->J[i * n + j] * v[j];
            size += image[i] * image[i];
        }
        size = sqrt(size);
        if (!(size > 0)) break;
        if (k >= 4) r->spectral += log(size) / 8; /* the mean over some: pairs of eigenvalues make it swing */
        for (long i = 0; i < r->moving; i++) v[i] = image[i] / size;
    }
    r->spectral = size > 0 ? exp(r->spectral) : 0;
    r->current = 1, r->factored = 0;
}

static int radau_factor(Run *r, double h) {
    long n = r->n;
    for (long i = 0; i < n * n; i++) r->LU[i] = -r->J[i], r->CLU[i] = -r->J[i];
    for (long i = 0; i < n; i++) {
        r->LU[i * n + i] += REAL / h;
        r->CLU[i * n + i] += (COMPLEX_RE + COMPLEX_IM * I) / h;
    }
    r->factored = 1, r->factored_step = h;
    r->paid -= 0.5 * n * n * n / r->load;
    return real_factor(n, r->LU, r->pivots) || complex_factor(n, r->CLU, r->cpivots);
}

/* Newton's iterations for the three stages y + Z: how many, 0 if they do not converge. */
static int collocate(Run *r, double h) {
    long n = r->n;
    double tolerance = fmax(2e-15 / r->rtol, fmin(0.03, sqrt(r->rtol))), before = 0;
    double *Z = r->Z, *W = r->W, *S = r->K + 3 * n, *change = r->K + 6 * n;
    for (int k = 0; k < NEWTON; k++) {
        for (int s = 0; s < 3; s++) {
            for (long i = 0; i < n; i++) r->stage[i] = r->y[i] + Z[s * n + i];
            slopes(r, r->t + RA_C[s] * h, r->stage, S + s * n);
        }
        double size = 0;
        for (long i = 0; i < n; i++) {
            double a = 0, b = 0, c = 0;
            for (int s = 0; s < 3; s++)
                a += RA_TI[0][s] * S[s * n + i], b += RA_TI[1][s] * S[s * n + i], c += RA_TI[2][s] * S[s * n + i];
            change[i] = a - REAL / h * W[i];
            r->right[i] = b + c * I - complex_times((COMPLEX_RE + COMPLEX_IM * I) / h, W[n + i] + W[2 * n + i] * I);
        }
        real_solve(n, r->LU, r->pivots, change);
        complex_solve(n, r->CLU, r->cpivots, r->right);
        for (long i = 0; i < n; i++) {
            double unit = scale(r, r->y[i]), m = cabs(r->right[i]);
            size += (change[i] * change[i] + m * m) / (unit * unit);
        }
        size = sqrt(size / (3 * n));
        if (!isfinite(size)) return 0;
        r->rate = k ? size / before : 0;
        if (k && (r->rate >= 1 || pow(r->rate, NEWTON - k) / (1 - r->rate) * size > tolerance)) return 0;
        for (long i = 0; i < n; i++) {
            W[i] += change[i], W[n + i] += creal(r->right[i]), W[2 * n + i] += cimag(r->right[i]);
            for (int s = 0; s < 3; s++)
                Z[s * n + i] = RA_T[s][0] * W[i] + RA_T[s][1] * W[n + i] + RA_T[s][2] * W[2 * n + i];
        }
        if (size == 0 || (k && r->rate / (1 - r->rate) * size < tolerance)) return k + 1;
        before = size;
    }
    return 0;
}

/* The stages to begin with: those of the last step, carried on. */
static void radau_guess(Run *r, double h) {
    long n = r->n;
    for (long i = 0; i < n; i++) {
        for (int s = 0; s < 3; s++) {
            double x = r->guessed > 0 ? 1 + RA_C[s] * h / r->guessed : 1, sum = 0;
            for (int m = 2; m >= 0; m--) sum = (sum + r->P[m * n + i]) * x;
            r->Z[s * n + i] = r->guessed > 0 ? sum - r->P[i] - r->P[n + i] - r->P[2 * n + i] : 0;
        }
        for (int s = 0; s < 3; s++)
            r->W[s * n + i] = RA_TI[s][0] * r->Z[i] + RA_TI[s][1] * r->Z[n + i] + RA_TI[s][2] * r->Z[2 * n + i];
    }
}

/* A step of length h to `fresh` by stages that somebody else finds, and its error; infinite if there are none. */
static double given_step(Run *r, double h) {
    radau_guess(r, h);
    double error = r->stages(h);
    for (long i = 0; i < r->n; i++) r->fresh[i] = r->y[i] + r->Z[2 * r->n + i];
    return isfinite(error) ? error : 1e30;
}

/* A step of length h to `fresh`, and its error in units of the tolerance; infinite if Newton's method fails. */
static double radau_step(Run *r, double h) {
    long n = r->n;
    for (;;) { /* with the Jacobian there is, then with one of this place */
        int old = r->current == 2;
        if (!r->current) jacobian(r);
        if ((!r->factored || r->factored_step != h) && radau_factor(r, h)) return INFINITY;
        radau_guess(r, h);
        if ((r->iterations = collocate(r, h))) break;
        if (!old) return INFINITY;
        r->current = 0;
    }
    double *error = r->K, *E = r->K + n, fetched;
    for (long i = 0; i < n; i++) {
        E[i] = 0;
        for (int s = 0; s < 3; s++) E[i] += RA_E[s] * r->Z[s * n + i] / h;
        r->fresh[i] = r->y[i] + r->Z[2 * n + i];
        error[i] = r->ydot[i] + E[i];
        r->projected[i] = fmax(fabs(r->y[i]), fabs(r->fresh[i]));
    }
    real_solve(n, r->LU, r->pivots, error);
    fetched = norm(r, error, r->projected);
    if (fetched >= 1 && (r->rejections || r->steps == 0)) { /* the estimate of stiff components, once more filtered */
        for (long i = 0; i < n; i++) r->stage[i] = r->y[i] + error[i];
        slopes(r, r->t, r->stage, error);
        for (long i = 0; i < n; i++) error[i] += E[i];
        real_solve(n, r->LU, r->pivots, error);
        fetched = norm(r, error, r->projected);
    }
    return fetched;
}

static void radau_dense(Run *r) {
    long n = r->n;
    for (long i = 0; i < n; i++)
        for (int m = 0; m < 3; m++) {
            r->F[m * n + i] = 0;
            for (int s = 0; s < 3; s++) r->F[m * n + i] += r->Z[s * n + i] * RA_P[s][m];
        }
}
