/* How long steps may be: states within a step, errors that are luck, rounding, the first and the next length. */

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
    if (!r->is_explicit || r->short_step || r->rounding_steps) return 0;
    within(r, 0.5, r->stage);
    slopes(r, r->t + 0.5 * r->step, r->stage, defect);
    for (long i = 0; i < n; i++) {
        const double *F = r->F + i;
        defect[i] = r->step * defect[i] - (F[0] + F[2 * n] / 4 + F[4 * n] / 16 + F[6 * n] / 64);
    }
    return norm(r, defect, r->fresh) > LARGEST_DEFECT;
}

/* A step to length h without a word to its error: the state at its end, on its constraints, is in `projected`. */
static double steps_attempt(Run *r, double h) {
    double error = r->stages ? given_step(r, h) : r->method == RADAU ? radau_step(r, h) : INFINITY;
    r->is_explicit = !isfinite(error); /* where Newton's method fails, the explicit one tells more than nothing */
    r->short_step = NOT_SHORT;
    if (r->try_short && r->is_explicit) error = try_short(r, h);
    if (r->method == RK45) error = short_step(r, TABLEAUX + (r->short_step = RK5), h);
    if (r->is_explicit && !r->short_step) error = rk8_step(r, h);
    r->step = h, r->dense = 0;
    memcpy(r->projected, r->fresh, r->n * sizeof(double));
    project_state(r, r->t + h, r->projected);
    return error;
}

/* A step of rounding's length, over a jump: by the slopes before it alone, so that nothing from beyond enters. */
static double steps_over(Run *r, double h) {
    long n = r->n;
    memset(r->F, 0, 7 * n * sizeof(double));
    for (long i = 0; i < n; i++) r->F[i] = h * r->ydot[i], r->fresh[i] = r->projected[i] = r->y[i] + r->F[i];
    slopes(r, r->t + h, r->fresh, r->K + 12 * n);
    project_state(r, r->t + h, r->projected);
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

static const double LARGEST_FACTOR = 10, UNSEEN = 1e-14; /* from a step to the next; relative error that may be rounding */

static double first_step(Run *r) {
    double d0 = norm(r, r->y, r->y), d1 = norm(r, r->ydot, r->y), d2;
    double h = d0 < 1e-5 || !(d1 >= 1e-5) ? 1e-6 : 0.01 * d0 / d1;
    if (h > r->longest) h = r->longest;
    for (long i = 0; i < r->n; i++) r->stage[i] = r->y[i] + h * r->ydot[i];
    slopes(r, r->t + h, r->stage, r->K);
    for (long i = 0; i < r->n; i++) r->K[i] -= r->ydot[i];
    d2 = norm(r, r->K, r->y) / h;
    double largest = fmax(d1, d2);
    double other = largest <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / largest, r->method == RK8 ? 1.0 / 8 : r->method == RK45 ? 0.2 : 0.25);
    return fmin(fmax(fmin(100 * h, other), 1e-11 * fabs(r->t)), r->longest);
}

/* The next step after one that was taken. Where its error is nothing but rounding (at rest, in free flight) it does not tell
   how long a step may be, which grows to `max_step_unobserved` only then, so that what acts for a short while is not stepped over. */
static double longer(const Run *r, double error, double factor) {
    double h = r->step;
    return error * r->rtol < UNSEEN ? fmin(h * factor, fmax(h, r->max_step_unobserved)) : h * factor;
}

/* What the next step should be, from the error of this one, which was (1) or was not (0) taken. */
static double after(Run *r, double error, int taken) {
    double h = r->step;
    if (r->method != RADAU) {
        double power = r->short_step ? TABLEAUX[r->short_step].power : 1.0 / 8;
        double factor = error == 0 ? LARGEST_FACTOR : fmin(LARGEST_FACTOR, fmax(0.2, 0.9 * pow(error, -power)));
        if (!isfinite(error)) factor = 0.1;
        if (!taken) return h * fmin(factor, 0.9);
        return r->rejections && factor > 1 ? h : longer(r, error, factor);
    }
    if (!isfinite(error)) return 0.5 * h;
    double safety = 0.9 * (2 * NEWTON + 1) / (2 * NEWTON + fmax(1, r->iterations)), factor = pow(fmax(error, 1e-10), -0.25);
    if (r->before > 0) factor *= fmin(1, h / r->step_before * pow(r->before / fmax(error, 1e-10), 0.25));
    factor = fmax(0.2, safety * factor);
    if (!taken) return h * fmin(factor, 0.9);
    factor = fmin(LARGEST_FACTOR, factor);
    r->before = fmax(error, 1e-10), r->step_before = h;
    return factor < 1.2 && factor >= 1 ? h : longer(r, error, factor);
}
