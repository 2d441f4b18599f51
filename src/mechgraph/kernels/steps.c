/* Error-controlled integration of ydot = f(t, y) in steps that know nothing of the output.

   Three methods. `rk8`: the explicit Runge-Kutta method of order 8 by Dormand and Prince with error estimates of orders 5
   and 3 and dense output of order 7 (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, code DOP853).
   `radau`: the implicit method Radau IIA of order 5 for stiff systems (Hairer, Wanner, Solving Ordinary Differential
   Equations II, section IV.8), with Jacobians by differences. `rk45`: the explicit method of order 5 by Dormand and Prince
   (the code DOPRI5, its dense output of order 4 by Shampine as in SciPy's RK45). Where samples come so often that `rk8`
   would be too good for the steps between them, it makes these steps at half the price, or the one of order 4 by Kutta
   with Zonneveld's error estimate of order 3 (Hairer, Norsett, Wanner, table II.4.2) at less than that.

   After every step the state is brought back to its constraints by `keep` (one step of Newton's method, enough for the
   little that a step drifts). *Surfaces* are functions whose changes of sign no step may go over without a word: each
   step is searched for them along its dense output, in parts as fine as the surfaces ask for. *Samplers* are functions
   that are asked at given moments, at which a step ends, and whose values are held in between. */
#include <complex.h>
#include <math.h>
#include <string.h>
#include <time.h>

#ifndef EXPORT /* an FMU keeps it to itself */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#endif

/* x = (y, t, constants), w is workspace; what is not zero stops the run. */
typedef int (*Function)(const double *x, double *w, double *out);

/* What is asked at the moments start + tick / rate: its values are those constants from then on. */
typedef struct {
    Function call;
    double start, rate;
    long tick, count;
    const long *place;
} Sampler;

enum { END, TOO_SMALL, GO_ON, CROSSING, STOPPED, STIFF, NOT_STIFF };
enum { RK8, RADAU, RK45 };
enum { NOT_SHORT, RK4, RK5 };
enum { CRAWLING = 20000 }; /* steps in a row that hardly go on, after which there is no going on */
enum { DEPTH = 40, SEARCH = 1000 }; /* of the search for crossings: halvings, looks at a step */
enum { PASSING = 24 }; /* halvings after which two pieces are next to each other, or what they are of repeats itself */
enum { DOUBT = 50 };  /* steps for which it is taken as known what is noise */
enum { FAILED = 2 }; /* attempts at a step that were not good enough, as they are where nothing jumps */

typedef struct {
    /* what is integrated; `signal` writes constants that belong to x before slopes (1) and surfaces (2) are taken */
    Function flow, keep, surface, signal;
    long n, moving, surfaces, margins, pieces, signalled; /* `moving`: so many of y the slopes depend on; `margins`: see `look`;
                                                            `pieces`: so many surfaces, the last, are numbers of pieces */
    double rtol, atol, longest;
    long method, watching, load; /* `watching`: tell of stiffness; `load`: operations of an evaluation */
    /* the state, its slopes, the step to try next (0: to be found) and the one that was tried */
    double t, h, step, next, whole, until; /* `until`: where the step ends, `whole`: its length */
    double *y, *ydot, *fresh, *kept;
    /* places for numbers */
    double *x, *result, *work, *K, *F, *stage, *J, *LU, *Z, *W, *P, *G, *probe;
    double complex *CLU, *right;
    long *pivots, *cpivots;
    /* surfaces: which side they are on, how large they get, and where they were found to cross in the last step */
    long *side, *after, *which, crossings, capacity; /* `after`: the sides at the end of the step */
    double *size, *unsure, *low, *from, *to; /* `unsure`: see `doubt`; `low`: what is smaller is on no side */
    long doubted, crowded, noisy; /* `crowded`: searches that ended ever sooner; `noisy`: until which step none has to end */
    double searched, searchable, latest; /* the part of the last step that was searched; the length that can be (0: any), and
                                            that could be when a search did not end */
    /* output */
    long count, done;
    const double *times;
    double *out;
    /* some states along the way, evenly spread over the steps: (t, y) in rows */
    long rows, traced, stride, since;
    double *trace;
    /* counts and memory */
    long steps, evaluations, stopped, rejections, dense, stiff, calm, iterations, factored, current;
    double before, step_before, guessed, factored_step, rate, spectral, rough, rough_at;
    double price, paid, since_time; /* of the explicit method, for a unit of time; of the implicit one, since then */
    long patience, since_steps, crawling, is_explicit; /* `crawling`: steps that hardly go on */
    long roughly; /* steps for which what was seen of rounding is remembered: */
    double level, wanted; /* how large it is, and the step that would else be right */
    /* samplers; and what they have held, in rows: the moment, and the last `held` constants */
    Sampler *sampler;
    double *log;
    long samplers, held, width, logged, log_rows; /* `width`: of x */
    long try_short, short_step, wait[3], waiting[3]; /* by which method a step was short; how many to wait for the next try */
} Run;

static void place(Run *r, double t, const double *y, int purpose) {
    memcpy(r->x, y, r->n * sizeof(double));
    r->x[r->n] = t;
    if (r->signal && (r->signalled & purpose) && !r->stopped) r->stopped = r->signal(r->x, r->work, r->result);
}

static void slopes(Run *r, double t, const double *y, double *ydot) {
    place(r, t, y, 1);
    r->evaluations++;
    if (!r->stopped) r->stopped = r->flow(r->x, r->work, r->result);
    memcpy(ydot, r->result, r->n * sizeof(double));
}

static void keep(Run *r, double t, double *y) {
    if (!r->keep) return;
    place(r, t, y, 0);
    if (!r->stopped) r->stopped = r->keep(r->x, r->work, r->result);
    memcpy(y, r->result, r->n * sizeof(double));
}

static void surfaces(Run *r, double t, const double *y, double *g) {
    place(r, t, y, 2);
    if (!r->stopped) r->stopped = r->surface(r->x, r->work, r->result);
    memcpy(g, r->result, r->surfaces * sizeof(double));
}

/* How far two states are apart, in proportion. */
static double apart(long n, const double *a, const double *b) {
    double most = 0;
    for (long i = 0; i < n; i++) {
        double part = fabs(a[i] - b[i]) / (1 + fabs(a[i]));
        if (!(part <= most)) most = isnan(part) ? INFINITY : part;
    }
    return most;
}

static double scale(const Run *r, double y) { return r->atol + r->rtol * fabs(y); }

/* Root of the mean square of a in units of the tolerance at y. */
static double norm(const Run *r, const double *a, const double *y) {
    double sum = 0;
    for (long i = 0; i < r->n; i++) {
        double e = a[i] / scale(r, y[i]);
        sum += e * e;
    }
    return sqrt(sum / r->n);
}

/* --- rk8 ---------------------------------------------------------------------------------------------------------- */

static const double RK_A[16][16] = {
    {0},
    {0.05260015195876773},
    {0.0197250569845379, 0.0591751709536137},
    {0.02958758547680685, 0, 0.08876275643042054},
    {0.2413651341592667, 0, -0.8845494793282861, 0.924834003261792},
    {0.037037037037037035, 0, 0, 0.17082860872947386, 0.12546768756682242},
    {0.037109375, 0, 0, 0.17025221101954405, 0.06021653898045596, -0.017578125},
    {0.03709200011850479, 0, 0, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402,
     0.008273789163814023},
    {0.6241109587160757, 0, 0, -3.3608926294469414, -0.868219346841726, 27.59209969944671, 20.154067550477894,
     -43.48988418106996},
    {0.47766253643826434, 0, 0, -2.4881146199716677, -0.590290826836843, 21.230051448181193, 15.279233632882423,
     -33.28821096898486, -0.020331201708508627},
    {-0.9371424300859873, 0, 0, 5.186372428844064, 1.0914373489967295, -8.149787010746927, -18.52006565999696,
     22.739487099350505, 2.4936055526796523, -3.0467644718982196},
    {2.273310147516538, 0, 0, -10.53449546673725, -2.0008720582248625, -17.9589318631188, 27.94888452941996,
     -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636},
    {0.054293734116568765, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003, -5.801203960010585, 0.3111643669578199,
     -0.1521609496625161, 0.20136540080403034, 0.04471061572777259},
    {0.056167502283047954, 0, 0, 0, 0, 0, 0.25350021021662483, -0.2462390374708025, -0.12419142326381637,
     0.15329179827876568, 0.00820105229563469, 0.007567897660545699, -0.008298},
    {0.03183464816350214, 0, 0, 0, 0, 0.028300909672366776, 0.053541988307438566, -0.05492374857139099, 0, 0,
     -0.00010834732869724932, 0.0003825710908356584, -0.00034046500868740456, 0.1413124436746325},
    {-0.42889630158379194, 0, 0, 0, 0, -4.697621415361164, 7.683421196062599, 4.06898981839711, 0.3567271874552811, 0,
     0, 0, -0.0013990241651590145, 2.9475147891527724, -9.15095847217987}};
static const double RK_C[16] = {0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726,
     0.3333333333333333, 0.25, 0.3076923076923077, 0.6512820512820513, 0.6, 0.8571428571428571, 1.0, 1.0, 0.1, 0.2,
     0.7777777777777778};
static const double RK_E3[13] = {-0.18980075407240762, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003,
     -5.801203960010585, -0.4226823213237919, -0.1521609496625161, 0.20136540080403034, 0.02265179219836082};
static const double RK_E5[13] = {0.01312004499419488, 0, 0, 0, 0, -1.2251564463762044, -0.4957589496572502,
     1.6643771824549864, -0.35032884874997366, 0.3341791187130175, 0.08192320648511571, -0.022355307863886294};
static const double RK_D[4][16] = {
    {-8.428938276109013, 0, 0, 0, 0, 0.5667149535193777, -3.0689499459498917, 2.38466765651207, 2.117034582445028,
     -0.871391583777973, 2.2404374302607883, 0.6315787787694688, -0.08899033645133331, 18.148505520854727,
     -9.194632392478356, -4.436036387594894},
    {10.427508642579134, 0, 0, 0, 0, 242.28349177525817, 165.20045171727028, -374.5467547226902, -22.113666853125306,
     7.733432668472264, -30.674084731089398, -9.332130526430229, 15.697238121770845, -31.139403219565178,
     -9.35292435884448, 35.81684148639408},
    {19.985053242002433, 0, 0, 0, 0, -387.0373087493518, -189.17813819516758, 527.8081592054236, -11.57390253995963,
     6.8812326946963, -1.0006050966910838, 0.7777137798053443, -2.778205752353508, -60.19669523126412,
     84.32040550667716, 11.99229113618279},
    {-25.69393346270375, 0, 0, 0, 0, -154.18974869023643, -231.5293791760455, 357.6391179106141, 93.40532418362432,
     -37.45832313645163, 104.0996495089623, 29.8402934266605, -43.53345659001114, 96.32455395918828,
     -39.17726167561544, -149.72683625798564}};
static const double LARGEST_ROUNDING = 1e-3; /* of a step, relative, that is let pass */
static const double LARGEST_DEFECT = 100; /* of the interpolant of a step that is as good as it says; few have 10 */
static const double STABLE = 4.5; /* the product of step and eigenvalue near the border of stability, which is 6.1 */

/* y + h sum_k weight_k K_k */
static void combine(const Run *r, double *out, double h, const double *weight, int count) {
    memset(out, 0, r->n * sizeof(double));
    for (int k = 0; k < count; k++)
        if (weight[k] != 0.0)
            for (long i = 0; i < r->n; i++) out[i] += weight[k] * r->K[k * r->n + i];
    for (long i = 0; i < r->n; i++) out[i] = r->y[i] + h * out[i];
}

/* A step of length h to `fresh`, and its error in units of the tolerance. */
static double rk8_step(Run *r, double h) {
    long n = r->n;
    memcpy(r->K, r->ydot, n * sizeof(double));
    for (int k = 1; k < 12; k++) {
        combine(r, r->stage, h, RK_A[k], k);
        slopes(r, r->t + RK_C[k] * h, r->stage, r->K + k * n);
    }
    combine(r, r->fresh, h, RK_A[12], 12);
    slopes(r, r->t + h, r->fresh, r->K + 12 * n);
    double five = 0, three = 0;
    for (long i = 0; i < n; i++) {
        double e5 = 0, e3 = 0, unit = scale(r, fmax(fabs(r->y[i]), fabs(r->fresh[i])));
        for (int k = 0; k < 12; k++) e5 += RK_E5[k] * r->K[k * n + i], e3 += RK_E3[k] * r->K[k * n + i];
        five += e5 / unit * (e5 / unit), three += e3 / unit * (e3 / unit);
    }
    return five == 0 && three == 0 ? 0 : h * five / sqrt((five + 0.01 * three) * n);
}

/* Coefficients of the interpolant over the step; needs three more slopes. */
static void rk8_dense(Run *r) {
    long n = r->n;
    double h = r->step;
    for (int k = 13; k < 16; k++) {
        combine(r, r->stage, h, RK_A[k], k);
        slopes(r, r->t + RK_C[k] * h, r->stage, r->K + k * n);
    }
    for (long i = 0; i < n; i++) {
        double dy = r->fresh[i] - r->y[i];
        r->F[i] = dy, r->F[n + i] = h * r->K[i] - dy, r->F[2 * n + i] = 2 * dy - h * (r->K[12 * n + i] + r->K[i]);
        for (int m = 0; m < 4; m++) {
            double sum = 0;
            for (int k = 0; k < 16; k++) sum += RK_D[m][k] * r->K[k * n + i];
            r->F[(3 + m) * n + i] = h * sum;
        }
    }
}

/* Whether stability, not accuracy, has held the last steps back. */
static int rk8_is_stiff(Run *r) {
    double change = 0, distance = 0;
    for (long i = 0; i < r->moving; i++) {
        double a = r->K[12 * r->n + i] - r->K[11 * r->n + i], b = r->fresh[i] - r->stage[i];
        change += a * a, distance += b * b;
    }
    if (distance > 0 && r->step * sqrt(change / distance) > STABLE) r->calm = 0, r->stiff++;
    else if (++r->calm >= 6) r->stiff = 0;
    if (r->stiff < r->patience) return 0;
    r->price = 12 / r->step, r->paid = r->evaluations, r->since_time = r->t + r->step, r->since_steps = r->steps + 1;
    return 1;
}

/* --- rk45; and the same, and rk4, for steps from sample to sample ------------------------------------------------- */

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

/* --- radau -------------------------------------------------------------------------------------------------------- */

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
                TYPE factor = a[i * n + k] /= a[k * n + k];                                    \
                if (factor != 0)                                                               \
                    for (long j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];    \
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
            for (long j = 0; j < i; j++) b[i] -= a[i * n + j] * b[j];                          \
        for (long i = n - 1; i >= 0; i--) {                                                    \
            for (long j = i + 1; j < n; j++) b[i] -= a[i * n + j] * b[j];                      \
            b[i] /= a[i * n + i];                                                              \
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
            r->right[i] = b + c * I - (COMPLEX_RE + COMPLEX_IM * I) / h * (W[n + i] + W[2 * n + i] * I);
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
        r->kept[i] = fmax(fabs(r->y[i]), fabs(r->fresh[i]));
    }
    real_solve(n, r->LU, r->pivots, error);
    fetched = norm(r, error, r->kept);
    if (fetched >= 1 && (r->rejections || r->steps == 0)) { /* the estimate of stiff components, once more filtered */
        for (long i = 0; i < n; i++) r->stage[i] = r->y[i] + error[i];
        slopes(r, r->t, r->stage, error);
        for (long i = 0; i < n; i++) error[i] += E[i];
        real_solve(n, r->LU, r->pivots, error);
        fetched = norm(r, error, r->kept);
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

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* The state within the step, at t + part * step. */
static void within(Run *r, double part, double *out) {
    long n = r->n;
    if (!r->dense) r->short_step ? short_dense(r) : r->is_explicit ? rk8_dense(r) : radau_dense(r), r->dense = 1;
    for (long i = 0; i < n; i++) {
        double sum = 0;
        if (r->is_explicit && !r->short_step)
            for (int m = 6; m >= 0; m--) sum = (sum + r->F[m * n + i]) * (m % 2 ? 1 - part : part);
        else
            for (int m = r->short_step ? 3 : 2; m >= 0; m--) sum = (sum + r->F[m * n + i]) * part;
        out[i] = r->y[i] + sum;
    }
}

/* Whether a step of rk8 is good by mere luck: its estimate of the error does not look at the first stages, and may be
   nothing where forces are smooth on one side only (a contact that begins), or there for a part of the step. Then the
   interpolant does not fulfil the equation half-way, over the step and in units of the tolerance. */
static int is_lucky(Run *r) {
    long n = r->n;
    double *defect = r->K + 13 * n; /* the place of a slope that is no longer needed */
    if (!r->is_explicit || r->short_step || r->roughly) return 0;
    within(r, 0.5, r->stage);
    slopes(r, r->t + 0.5 * r->step, r->stage, defect);
    for (long i = 0; i < n; i++) {
        const double *F = r->F + i;
        defect[i] = r->step * defect[i] - (F[0] + F[2 * n] / 4 + F[4 * n] / 16 + F[6 * n] / 64);
    }
    return norm(r, defect, r->fresh) > LARGEST_DEFECT;
}

/* A step to length h without a word to its error: the state at its end, kept, is in `kept`. */
EXPORT double steps_attempt(Run *r, double h) {
    double error = r->method == RADAU ? radau_step(r, h) : INFINITY;
    r->is_explicit = !isfinite(error); /* where Newton's method fails, the explicit one tells more than nothing */
    r->short_step = NOT_SHORT;
    if (r->try_short && r->is_explicit) error = try_short(r, h);
    if (r->method == RK45) error = short_step(r, TABLEAUX + (r->short_step = RK5), h);
    if (r->is_explicit && !r->short_step) error = rk8_step(r, h);
    r->step = h, r->dense = 0;
    memcpy(r->kept, r->fresh, r->n * sizeof(double));
    keep(r, r->t + h, r->kept);
    return error;
}

/* A step of rounding's length, over a jump: by the slopes before it alone, so that nothing from beyond enters. */
EXPORT double steps_over(Run *r, double h) {
    long n = r->n;
    memset(r->F, 0, 7 * n * sizeof(double));
    for (long i = 0; i < n; i++) r->F[i] = h * r->ydot[i], r->fresh[i] = r->kept[i] = r->y[i] + r->F[i];
    slopes(r, r->t + h, r->fresh, r->K + 12 * n);
    keep(r, r->t + h, r->kept);
    r->step = h, r->dense = r->is_explicit = 1, r->short_step = 0;
    return 0;
}

/* What the slopes cannot be known to, by rounding, in units of the tolerance: how much they bend between states so near
   each other that nothing but rounding bends them. Rounding comes in lumps; after rejections it is asked elsewhere. */
static double roughness(Run *r, double t, const double *y, const double *ydot) {
    long n = r->n;
    double *moved = r->F, *ahead = r->F + n, *behind = r->F + 2 * n, usual = fmin(1, r->atol / r->rtol);
    for (int way = 1; way >= -1; way -= 2) {
        for (long i = 0; i < n; i++)
            moved[i] = y[i] + way * ((3 * i + 5 * r->rejections) % 7 - 3.3) * 5e-14 * fmax(usual, fabs(r->y[i]));
        slopes(r, t, moved, way > 0 ? ahead : behind);
    }
    for (long i = 0; i < n; i++) ahead[i] = (ahead[i] + behind[i]) / 2 - ydot[i];
    return norm(r, ahead, y);
}

/* What of a step's error may be rounding, from its stages. The ends are left out: there may be a jump. */
static double rounding(Run *r) {
    double *at = r->F + 3 * r->n, *slope = r->F + 4 * r->n, h = r->step, sum = 0;
    int five = r->short_step == RK5;
    for (int k = 1; r->is_explicit && k < (five ? 5 : 11); k++) {
        double error = five ? DP_E[k] : RK_E5[k], part = five ? DP_C[k] : RK_C[k];
        if (error == 0) continue;
        combine(r, at, h, five ? DP_A[k] : RK_A[k], k);
        part = error * roughness(r, r->t + part * h, at, r->K + k * r->n);
        sum += part * part;
    }
    for (int s = 0; !r->is_explicit && s < 2; s++) {
        for (long i = 0; i < r->n; i++) at[i] = r->y[i] + r->Z[s * r->n + i];
        slopes(r, r->t + RA_C[s] * h, at, slope);
        double part = roughness(r, r->t + RA_C[s] * h, at, slope);
        sum += part * part;
    }
    r->level = fmax(10 * sqrt(sum), 0.7 * r->level);
    return h * r->level;
}

static double first_step(Run *r) {
    double d0 = norm(r, r->y, r->y), d1 = norm(r, r->ydot, r->y), d2;
    double h = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    if (h > r->longest) h = r->longest;
    for (long i = 0; i < r->n; i++) r->stage[i] = r->y[i] + h * r->ydot[i];
    slopes(r, r->t + h, r->stage, r->K);
    for (long i = 0; i < r->n; i++) r->K[i] -= r->ydot[i];
    d2 = norm(r, r->K, r->y) / h;
    double largest = fmax(d1, d2);
    double other = largest <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / largest, r->method == RK8 ? 1.0 / 8 : r->method == RK45 ? 0.2 : 0.25);
    return fmin(fmax(fmin(100 * h, other), 1e-11 * fabs(r->t)), r->longest);
}

/* What the next step should be, from the error of this one, which was (1) or was not (0) taken. */
static double after(Run *r, double error, int taken) {
    double h = r->step;
    if (r->method != RADAU) {
        double power = r->short_step ? TABLEAUX[r->short_step].power : 1.0 / 8;
        double factor = error == 0 ? 10 : fmin(10, fmax(0.2, 0.9 * pow(error, -power)));
        if (!isfinite(error)) factor = 0.1;
        if (!taken) return h * fmin(factor, 0.9);
        return h * (r->rejections && factor > 1 ? 1 : factor);
    }
    if (!isfinite(error)) return 0.5 * h;
    double safety = 0.9 * (2 * NEWTON + 1) / (2 * NEWTON + fmax(1, r->iterations)), factor = pow(fmax(error, 1e-10), -0.25);
    if (r->before > 0) factor *= fmin(1, h / r->step_before * pow(r->before / fmax(error, 1e-10), 0.25));
    factor = fmax(0.2, safety * factor);
    if (!taken) return h * fmin(factor, 0.9);
    factor = fmin(10, factor);
    r->before = fmax(error, 1e-10), r->step_before = h;
    return factor < 1.2 && factor >= 1 ? h : h * factor;
}

/* --- surfaces ----------------------------------------------------------------------------------------------------- */

static const double JUMP = 1e-2, DRIFT = 1e-6; /* ways back to the constraints, in proportion: no drift, surely no more */
static const double NOTHING = 1e-14; /* in proportion to the largest value so far */
static const double LEAST_SEARCHED = 1e-3; /* of a step; where less can be searched, it may be noise */

static int sign(const Run *r, long s, double g) {
    double low = r->low[s];
    return (g > low) - (g < -low);
}

/* Values and slopes (for a unit of `part`) of all surfaces within the step; slopes by a difference over `apart`. */
static void known(Run *r, double part, double apart, double *g) {
    double *slope = g + r->surfaces, before = part >= 1 ? part - apart : part, after = before + apart;
    within(r, before, r->stage);
    surfaces(r, r->t + before * r->step, r->stage, g);
    within(r, after, r->stage);
    surfaces(r, r->t + after * r->step, r->stage, slope);
    for (long s = 0; s < r->surfaces; s++) {
        double here = part >= 1 ? slope[s] : g[s];
        slope[s] = (slope[s] - g[s]) / apart, g[s] = here;
    }
}

/* Whether a surface, known at five places, surely has no zero that they do not show between places i and i + 1. It rises
   or falls all the way or is far from zero, in proportion to how it bends, and to how its slopes differ from the way it
   goes; and if it comes nearer first and goes away then, the tangents at both ends meet before it is zero (the distance
   over the closing speed). */
static int is_clear(const Run *r, long s, double *const *g, int i, double span) {
    double bend = 0, twist = 0, before = 0;
    for (int k = 1; k < 4; k++) {
        double b = g[k - 1][s] - 2 * g[k][s] + g[k + 1][s];
        bend = fmax(bend, fabs(b));
        if (k > 1) twist = fmax(twist, fabs(b - before));
        before = b;
    }
    double a = g[i][s], b = g[i + 1][s], low = r->low[s];
    double first = span * g[i][r->surfaces + s], last = span * g[i + 1][r->surfaces + s];
    double off = fmax(fabs(first - (b - a)), fabs(last - (b - a)));
    int signs = sign(r, s, a) * sign(r, s, b), way = a + b < 0 ? -1 : 1;
    double closing = -way * first, leaving = way * last;
    if (signs > 0 && closing > 0 && leaving > 0 && closing * fabs(b) + leaving * fabs(a) <= closing * leaving) return 0;
    if (fabs(b - a) > fmax(0.75 * bend + twist, off)) return 1;
    if (signs < 0) return 0;
    return fmin(fabs(a), fabs(b)) > fmax(0.2 * bend + 0.5 * twist, 0.3 * off) ||
           (fabs(a) <= low && fabs(b) <= low && bend <= low);
}

/* of the way from one place to the next, in turns: what repeats itself meets them elsewhere */
static const double PROBE[] = {0.382, 0.236};

/* Whether every surface is, between the five places, where their values and slopes let one expect it: if not, it has more
   waves than they show. */
static int is_expected(Run *r, double a, double b, double *const *g) {
    double span = (b - a) / 4;
    for (int i = 0; i < 4; i++) {
        double x = PROBE[i % 2], y = 1 - x, part = a + span * (i + x), *slope = g[i] + r->surfaces, *next = g[i + 1] + r->surfaces;
        within(r, part, r->stage);
        surfaces(r, r->t + part * r->step, r->stage, r->probe);
        for (long s = 0; s < r->surfaces; s++) {
            double from = g[i][s], to = g[i + 1][s], least = fmin(fabs(from), fabs(to));
            double cubic = y * y * ((1 + 2 * x) * from + x * span * slope[s]) + x * x * ((1 + 2 * y) * to - y * span * next[s]);
            if (fabs(r->probe[s] - cubic) > 0.25 * fmax(least, fabs(to - from)) + 4 * r->low[s]) return 0;
        }
    }
    return 1;
}

/* Changes of sign between parts a and b of the step, where the surfaces are known at five places. */
static void seek(Run *r, int depth, long *looks, double a, double b, double *const *g) {
    int clear = 1;
    for (long s = 0; s < r->surfaces && clear; s++)
        for (int i = 0; i < 4 && clear; i++) clear = is_clear(r, s, g, i, (b - a) / 4);
    for (long s = r->surfaces - r->pieces; s < r->surfaces && depth < PASSING; s++) /* more than one stop is passed */
        for (int i = 0; i < 4 && clear; i++) clear = fabs(g[i + 1][s] - g[i][s]) < 1.5;
    clear = clear && is_expected(r, a, b, g);
    int deeper = !clear && depth < DEPTH && !r->stopped;
    if (deeper && *looks >= SEARCH) r->searched = fmin(r->searched, a);
    else if (deeper) {
        double *parts[9], *own = r->G + (5 + 4 * depth) * 2 * r->surfaces;
        for (int i = 0; i < 9; i++) parts[i] = i % 2 ? own + i / 2 * 2 * r->surfaces : g[i / 2];
        for (int i = 1; i < 9; i += 2) known(r, a + (b - a) * i / 8, fmax(1e-6 * (b - a), 1e-12), parts[i]);
        *looks += 4;
        seek(r, depth + 1, looks, a, (a + b) / 2, parts);
        seek(r, depth + 1, looks, (a + b) / 2, b, parts + 4);
        return;
    }
    for (int i = 0; i < 4; i++)
        for (long s = 0; s < r->surfaces; s++) {
            int now = sign(r, s, g[i + 1][s]);
            if (!now || now == r->after[s]) continue;
            double from = a + (b - a) * i / 4;
            if (r->after[s] && r->crossings == r->capacity) r->searched = fmin(r->searched, from);
            else if (r->after[s]) {
                r->which[r->crossings] = s, r->from[r->crossings] = from;
                r->to[r->crossings++] = a + (b - a) * (i + 1) / 4;
            }
            r->after[s] = now;
        }
}

/* Whether the step is so short that it goes no further than the tolerance, or was found after many that failed: then what
   is in doubt matters. */
static int is_tiny(Run *r) {
    for (long i = 0; i < r->n; i++) r->stage[i] = r->kept[i] - r->y[i];
    return r->rejections > FAILED || norm(r, r->stage, r->y) < 1;
}

/* How often the surfaces change their sign in the step. What begins at zero, but for rounding, is on no side yet, unless
   it is one of the first `margins`, which are positive by construction. */
static long look(Run *r) {
    double *parts[5];
    long looks = 0;
    int doubtful = !is_tiny(r);
    for (int i = 0; i < 5; i++) {
        parts[i] = r->G + i * 2 * r->surfaces;
        known(r, i / 4.0, 1e-6, parts[i]);
        if (i == 4) surfaces(r, r->t + r->step, r->kept, parts[i]);
    }
    for (long s = 0; s < r->surfaces; s++) {
        double most = 0;
        for (int i = 0; i < 5; i++) most = fmax(most, fabs(parts[i][s]));
        r->size[s] = fmax(r->size[s], most);
        r->low[s] = fmax(NOTHING * r->size[s], doubtful && fabs(parts[0][s]) <= r->unsure[s] ? r->unsure[s] : 0);
    }
    memcpy(r->after, r->side, r->surfaces * sizeof(long));
    for (long s = r->margins; s < r->surfaces && !r->steps; s++)
        if (fabs(parts[0][s]) <= 1e-12 * r->size[s]) r->after[s] = 0;
    r->crossings = 0, r->searched = 1;
    seek(r, 0, &looks, 0, 1, parts);
    return r->crossings;
}

/* Whether surfaces have more waves in the step than could be searched: then a shorter one is tried. What is as crowded
   however short the step is, is noise. */
static int is_crowded(Run *r) {
    if (r->searched >= 1) r->searchable *= 1.5;
    if (r->searched >= 1 || r->steps < r->noisy) return 0;
    double length = fmax(LEAST_SEARCHED, 0.9 * r->searched) * r->step;
    r->crowded = length > 0.7 * r->latest ? 0 : r->crowded + 1;
    int noise = r->crowded > 1;
    if (noise) r->crowded = 0, r->noisy = r->steps + DOUBT;
    r->searchable = r->latest = noise ? 0 : length;
    return !noise;
}

/* The surfaces at the end of what was attempted. */
EXPORT void steps_surfaces(Run *r, double *g) { surfaces(r, r->t + r->step, r->kept, g); }

/* The surfaces at a part of the whole step, by its dense output; only before anything else is attempted. */
EXPORT void steps_glimpse(Run *r, double part, double *g) {
    within(r, part, r->stage);
    surfaces(r, r->t + part * r->step, r->stage, g);
}

static const double PART = 0.1, ROUNDED = 1e-12; /* of the tolerance, and of the state */

/* How well surfaces are known, but for margins: what a part of the tolerance, and rounding, make of them. What is below
   where a step begins (the slip of what sticks, the height of what is in a plane) has no sign until it is above. A jump on
   one side of the state is none. */
static void doubt(Run *r) {
    if (r->doubted && r->steps < r->doubted + DOUBT) return;
    double usual = fmin(1, r->atol / r->rtol), *there = r->G + r->surfaces, *back = there + r->surfaces;
    memset(r->unsure, 0, r->surfaces * sizeof(double));
    memcpy(r->stage, r->y, r->n * sizeof(double));
    for (long i = 0; i < r->n; i++) {
        double by = PART * scale(r, r->y[i]) + ROUNDED * (usual + fabs(r->y[i]));
        r->stage[i] = r->y[i] + by, surfaces(r, r->t, r->stage, there);
        r->stage[i] = r->y[i] - by, surfaces(r, r->t, r->stage, back);
        r->stage[i] = r->y[i];
        for (long s = r->margins; s < r->surfaces; s++) {
            double more = fmin(fabs(there[s] - r->G[s]), fabs(back[s] - r->G[s]));
            if (isfinite(more)) r->unsure[s] += more;
        }
    }
    r->doubted = r->steps + 1;
}

/* Which side of each surface the state is on; none where that is in doubt. */
static void take_sides(Run *r) {
    if (!r->surfaces) return;
    surfaces(r, r->t, r->y, r->G);
    doubt(r);
    for (long s = 0; s < r->surfaces; s++) {
        r->size[s] = fmax(r->size[s], fabs(r->G[s])), r->low[s] = fmax(NOTHING * r->size[s], r->unsure[s]);
        int now = sign(r, s, r->G[s]);
        if (now && !r->side[s]) r->side[s] = now;
    }
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void remember(Run *r) {
    if (++r->since < r->stride) return;
    r->since = 0;
    if (r->traced == r->rows) { /* every other one is enough */
        for (long k = 0; k < r->rows / 2; k++)
            memcpy(r->trace + k * (r->n + 1), r->trace + (2 * k + 1) * (r->n + 1), (r->n + 1) * sizeof(double));
        r->traced = r->rows / 2, r->stride *= 2;
    }
    double *row = r->trace + r->traced++ * (r->n + 1);
    row[0] = r->t;
    memcpy(row + 1, r->y, r->n * sizeof(double));
}

static double moment(const Sampler *s) { return s->start + s->tick / s->rate; }

/* The next moment at which something is sampled. */
static double due(const Run *r) {
    double next = INFINITY;
    for (long k = 0; k < r->samplers; k++) next = fmin(next, moment(r->sampler + k));
    return next;
}

/* Ask the samplers whose moment has come, but for rounding; 1 if there are any. */
static int sample(Run *r) {
    int any = 0;
    for (Sampler *s = r->sampler; s < r->sampler + r->samplers; s++) {
        if (moment(s) > r->t + 1e-9 / s->rate) continue;
        place(r, r->t, r->y, 1);
        if (!r->stopped) r->stopped = s->call(r->x, r->work, r->result);
        for (long i = 0; i < s->count && !r->stopped; i++) r->x[r->n + 1 + s->place[i]] = r->result[i];
        s->tick++, any = 1;
    }
    if (any && !r->stopped && r->logged < r->log_rows) {
        double *row = r->log + r->logged++ * (r->held + 1);
        row[0] = r->t;
        memcpy(row + 1, r->x + r->width - r->held, r->held * sizeof(double));
    }
    return any;
}

/* Take what was attempted: outputs within it, then the state goes on to its end, at the time `end`. */
EXPORT void steps_accept(Run *r, double end) {
    for (; r->done < r->count && r->times[r->done] <= end; r->done++) {
        double *to = r->out + r->done * r->n;
        if (r->times[r->done] == end) memcpy(to, r->kept, r->n * sizeof(double));
        else {
            within(r, (r->times[r->done] - r->t) / r->step, to);
            keep(r, r->times[r->done], to);
        }
    }
    if (r->method == RADAU && r->is_explicit) r->guessed = r->current = r->factored = 0;
    else if (r->method == RADAU) {
        if (!r->dense) radau_dense(r);
        memcpy(r->P, r->F, 3 * r->n * sizeof(double));
        r->guessed = r->step;
        r->current = r->iterations <= 2 || r->rate <= 0.1 ? 2 : 0; /* the Jacobian may do for another step */
    }
    memcpy(r->y, r->kept, r->n * sizeof(double));
    r->t = end, r->h = r->next, r->steps++, r->rejections = 0;
    int sampled = sample(r);
    if (sampled) r->guessed = 0; /* the slopes jump */
    int stage = r->short_step == RK5 ? 6 : 12; /* the slopes that are those at the end */
    if (r->method != RADAU && !r->keep && !sampled && r->short_step != RK4)
        memcpy(r->ydot, r->K + stage * r->n, r->n * sizeof(double));
    else slopes(r, r->t, r->y, r->ydot);
    remember(r);
}

/* Begin anew at the state: with other slopes, or another method. */
EXPORT void steps_begin(Run *r) {
    r->h = r->before = r->guessed = r->level = r->wanted = 0;
    r->rejections = r->current = r->factored = r->stiff = r->calm = r->roughly = 0;
    sample(r);
    slopes(r, r->t, r->y, r->ydot);
    take_sides(r);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Whether the explicit method would have been stable for the last twenty steps, or would have cost less since it was left:
   then it is not left again so soon. */
static int is_no_longer_stiff(Run *r) {
    r->stiff = r->next * r->spectral < 0.5 * STABLE ? r->stiff + 1 : 0;
    if (r->stiff >= 20) return 1;
    double gone = r->t + r->step - r->since_time;
    if ((r->steps - r->since_steps) % 20 != 19 || r->evaluations - r->paid < r->price * gone) return 0;
    r->patience *= 4;
    return 1;
}

/* Whether an error above the tolerance is nothing but rounding. It is looked at where steps fail again and again, or by
   more than a step that is a little too long. */
static int is_rounding(Run *r, double error) {
    int suspect = r->rejections || r->roughly || error > 30;
    if (!suspect || !(error * r->rtol < LARGEST_ROUNDING) || !(error < rounding(r))) return 0;
    r->roughly = 4, r->wanted = fmax(r->wanted, r->step);
    return 1;
}

/* Whether the way back to the constraints is so long that no drift explains it, for a constraint has jumped; or, with
   rigid contacts, does not lead there, for a ring has tipped over: another way from its end is as long. */
static int is_lost(Run *r) {
    double way = apart(r->n, r->fresh, r->kept), *next = r->F;
    if (!r->keep || way <= DRIFT) return 0;
    if (!(way <= JUMP) || !r->margins) return !(way <= JUMP);
    memcpy(next, r->kept, r->n * sizeof(double));
    keep(r, r->t + r->step, next);
    return !(apart(r->n, r->kept, next) < 0.9 * way);
}

/* Whether the step is to be taken; if not, another one is to be tried. Where the slopes are not known well enough (near
   singular positions), no much shorter step would be better: it would only be nearer. Steps of about the same length,
   whose stages are elsewhere, are tried then, and the less is asked of them the more have failed. */
static int is_good(Run *r, double error) {
    if (!(error < 1)) {
        int rough = is_rounding(r, error);
        if (!rough || error > pow(10, r->rejections)) {
            r->h = rough ? 0.85 * r->step : after(r, error, 0);
            return 0;
        }
        if (error > r->rough) r->rough = error, r->rough_at = r->t;
        error = 0.5;
    }
    if (is_lost(r)) {
        r->h = 0.2 * r->step;
        return 0;
    }
    r->next = fmax(r->wanted, after(r, error, 1)), r->wanted = 0;
    if (!r->roughly || !--r->roughly) r->level = 0;
    return 1;
}

/* Step after step up to `end`, for some seconds. After CROSSING the step is not taken yet. */
EXPORT int steps_integrate(Run *r, double end, double seconds) {
    double until = seconds_now() + seconds;
    int late = 0; /* one step is always tried */
    if (r->h <= 0) r->h = first_step(r);
    while (r->t < end) {
        if (r->stopped) return STOPPED;
        if (late || (r->samplers && r->logged >= r->log_rows - 8)) return GO_ON;
        double stop = fmin(end, due(r)), left = stop - r->t, h = fmin(r->h, r->longest);
        if (r->searchable > 0) h = fmin(h, r->searchable);
        if (!(h > 2e-15 * fabs(r->t) + 1e-20 * left) || r->crawling > CRAWLING) return TOO_SMALL;
        int last = h > left * 0.999999;
        late = seconds_now() > until;
        r->whole = last ? left : h, r->until = last ? stop : r->t + h;
        r->try_short = last && r->method == RK8 && stop < end;
        double error = steps_attempt(r, r->whole);
        if (r->stopped) return STOPPED;
        if (!is_good(r, error)) {
            r->rejections++;
            continue;
        }
        int changed = r->watching && !r->roughly && !r->short_step && (r->method == RK8 ? rk8_is_stiff(r) : is_no_longer_stiff(r));
        if (r->surfaces) {
            if (is_lucky(r)) {
                r->h = 0.5 * r->step, r->rejections++;
                continue;
            }
            long found = look(r);
            if (is_crowded(r)) continue;
            if (found) return r->stopped ? STOPPED : CROSSING;
            memcpy(r->side, r->after, r->surfaces * sizeof(long));
        }
        double part = r->step / fabs(r->t); /* where rounding has to do with it, that is seen sooner */
        r->crawling = part < 1e-8 ? r->crawling + (r->roughly ? 200 : part < 1e-12 ? 40 : part < 1e-9) : 0;
        steps_accept(r, r->until);
        if (changed) return r->method == RK8 ? STIFF : NOT_STIFF;
    }
    return r->stopped ? STOPPED : END;
}
