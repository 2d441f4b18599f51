/* Error-controlled integration in machine code: the explicit Runge-Kutta method of order 8 by Dormand and Prince with
   error estimates of orders 5 and 3 and dense output of order 7 (Hairer, Norsett, Wanner, Solving Ordinary Differential
   Equations I, code DOP853). After every step, and at every output, the state is brought back to its constraints by
   `keep` (one step of Newton's method, enough for the little that a step drifts).

   The printed code before this defines N (size of y), P (number of constants) and
   flow_run(x, w, ydot), keep_run(x, w, y) with x = (y, t, constants), and WORK, the size of their workspace. */

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

typedef struct { double x[N + 1 + P], *w; long evaluations; } Flow;

static void flow(Flow *f, double t, const double *y, double *ydot) {
    memcpy(f->x, y, N * sizeof(double));
    f->x[N] = t;
    flow_run(f->x, f->w, ydot);
    f->evaluations++;
}

static void keep(Flow *f, double t, double *y) {
    if (!KEEPING) return;
    memcpy(f->x, y, N * sizeof(double));
    f->x[N] = t;
    keep_run(f->x, f->w, y);
}

/* Whether two states are so far apart that no drift explains it: a constraint has jumped. */
static int apart(const double *a, const double *b) {
    for (int i = 0; i < N; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-2 * (1 + fabs(a[i])))) return 1;
    return 0;
}

/* y + h sum_k weight_k K_k */
static void combine(double *out, const double *y, double h, const double (*K)[N], const double *weight, int count) {
    for (int i = 0; i < N; i++) out[i] = 0.0;
    for (int k = 0; k < count; k++)
        if (weight[k] != 0.0)
            for (int i = 0; i < N; i++) out[i] += weight[k] * K[k][i];
    for (int i = 0; i < N; i++) out[i] = y[i] + h * out[i];
}

static double first_step(Flow *f, double t, const double *y, const double *ydot, double span, double rtol, double atol) {
    double d0 = 0, d1 = 0, d2 = 0, trial[N], slope[N];
    for (int i = 0; i < N; i++) {
        double scale = atol + rtol * fabs(y[i]);
        d0 += y[i] / scale * (y[i] / scale);
        d1 += ydot[i] / scale * (ydot[i] / scale);
    }
    d0 = sqrt(d0 / N), d1 = sqrt(d1 / N);
    double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    if (h0 > span) h0 = span;
    for (int i = 0; i < N; i++) trial[i] = y[i] + h0 * ydot[i];
    flow(f, t + h0, trial, slope);
    for (int i = 0; i < N; i++) {
        double e = (slope[i] - ydot[i]) / (atol + rtol * fabs(y[i]));
        d2 += e * e;
    }
    d2 = sqrt(d2 / N) / h0;
    double largest = d1 > d2 ? d1 : d2;
    double h1 = largest <= 1e-15 ? fmax(1e-6, h0 * 1e-3) : pow(0.01 / largest, 1.0 / 8.0);
    return fmin(fmin(100 * h0, h1), span);
}

static double error_of(double h, const double *y, const double *fresh, const double (*K)[N], double rtol, double atol) {
    double five = 0, three = 0;
    for (int i = 0; i < N; i++) {
        double e5 = 0, e3 = 0, scale = atol + rtol * fmax(fabs(y[i]), fabs(fresh[i]));
        for (int k = 0; k < 13; k++) e5 += RK_E5[k] * K[k][i], e3 += RK_E3[k] * K[k][i];
        five += e5 / scale * (e5 / scale), three += e3 / scale * (e3 / scale);
    }
    if (five == 0 && three == 0) return 0;
    return fabs(h) * five / sqrt((five + 0.01 * three) * N);
}

/* Coefficients of the interpolant over a step; needs three more slopes. */
static void dense(Flow *f, double t, double h, const double *y, const double *fresh, double (*K)[N], double (*F)[N]) {
    double stage[N];
    for (int k = 13; k < 16; k++) {
        combine(stage, y, h, (const double(*)[N])K, RK_A[k], k);
        flow(f, t + RK_C[k] * h, stage, K[k]);
    }
    for (int i = 0; i < N; i++) {
        double dy = fresh[i] - y[i];
        F[0][i] = dy, F[1][i] = h * K[0][i] - dy, F[2][i] = 2 * dy - h * (K[12][i] + K[0][i]);
        for (int m = 0; m < 4; m++) {
            double sum = 0;
            for (int k = 0; k < 16; k++) sum += RK_D[m][k] * K[k][i];
            F[3 + m][i] = h * sum;
        }
    }
}

static void interpolate(double *out, double x, const double *y, const double (*F)[N]) {
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int m = 6; m >= 0; m--) sum = (sum + F[m][i]) * ((6 - m) % 2 ? 1 - x : x);
        out[i] = y[i] + sum;
    }
}

/* On to the last of `times` (ascending), states at them in `out`. `y` is the state, and memory the step size to go on with
   (0: to be found), counts of steps and evaluations, the time, and how many outputs are done: both are left so that the
   same call goes on. Returns 0 at the end, 1 if the step became too small, 2 without memory, 3 after `limit` steps. */
EXPORT int kernel_integrate(double *y, long count, const double *times, double *out, const double *constants, double rtol,
                            double atol, long limit, double *memory) {
    double fresh[N], kept[N], stage[N], end = times[count - 1], h = memory[0], t = memory[3], span = end - t;
    double (*K)[N] = malloc(sizeof(double[16][N])), (*F)[N] = malloc(sizeof(double[7][N]));
    Flow f = {.w = malloc(sizeof(double) * WORK), .evaluations = 0};
    long done = memory[4], steps = 0;
    int code = K && F && f.w ? 0 : 2, rejected = 0;
    if (!code) {
        memcpy(f.x + N + 1, constants, P * sizeof(double));
        flow(&f, t, y, K[0]);
        if (h <= 0) h = first_step(&f, t, y, K[0], end - t, rtol, atol);
    }
    while (!code && done < count) {
        if (h < 1e-14 * fmax(fabs(t), fabs(end - t))) { code = 1; break; }
        if (steps >= limit && !rejected) { code = 3; break; }
        steps++;
        double left = end - t, step = h < left * 0.999999 ? h : left;
        for (int k = 1; k < 12; k++) {
            combine(stage, y, step, (const double(*)[N])K, RK_A[k], k);
            flow(&f, t + RK_C[k] * step, stage, K[k]);
        }
        combine(fresh, y, step, (const double(*)[N])K, RK_A[12], 12);
        flow(&f, t + step, fresh, K[12]);
        double error = error_of(step, y, fresh, (const double(*)[N])K, rtol, atol);
        int noise = step < 1e-10 * span && isfinite(error); /* so short a step is right; its error is one of rounding */
        if (!(error < 1) && !noise) {
            h = step * (error == error ? fmax(0.2, 0.9 * pow(error, -1.0 / 8.0)) : 0.1);
            rejected = 1;
            continue;
        }
        double next = step == left ? end : t + step;
        memcpy(kept, fresh, sizeof fresh);
        keep(&f, next, kept);
        if (apart(fresh, kept)) {
            h = 0.2 * step;
            rejected = 1;
            continue;
        }
        int have = 0;
        for (; done < count && times[done] <= next; done++) {
            double *to = out + done * N;
            if (times[done] == next) memcpy(to, fresh, sizeof fresh);
            else {
                if (!have++) dense(&f, t, step, y, fresh, K, F);
                interpolate(to, (times[done] - t) / step, y, (const double(*)[N])F);
            }
            keep(&f, times[done], to);
        }
        memcpy(y, kept, sizeof kept);
        t = next;
        double factor = error == 0 ? 10 : fmin(10, fmax(0.2, 0.9 * pow(error, -1.0 / 8.0)));
        if (rejected && factor > 1) factor = 1;
        rejected = 0;
        if (step == h || factor < 1) h = step * factor;
        if (!KEEPING) memcpy(K[0], K[12], sizeof fresh); /* the last slope is the first of the next step */
        else if (done < count) flow(&f, t, y, K[0]);
    }
    free(K), free(F), free(f.w);
    memory[0] = h, memory[1] += steps, memory[2] += f.evaluations, memory[3] = t, memory[4] = done;
    return code;
}
