/* The search of a step for changes of sign. */

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
            if (r->after[s] && r->crossings == CROSSINGS) r->searched = fmin(r->searched, from);
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
    for (long i = 0; i < r->n; i++) r->stage[i] = r->projected[i] - r->y[i];
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
        if (i == 4) surfaces(r, r->t + r->step, r->projected, parts[i]);
    }
    for (long s = 0; s < r->surfaces; s++) {
        double most = 0;
        for (int i = 0; i < 5; i++) most = fmax(most, fabs(parts[i][s]));
        r->size[s] = fmax(r->size[s], most);
        r->low[s] = fmax(NOTHING * r->size[s], doubtful && fabs(parts[0][s]) <= r->noise_floor[s] ? r->noise_floor[s] : 0);
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
    if (noise) r->crowded = 0, r->noisy = r->steps + FLOOR_STEPS;
    r->searchable = r->latest = noise ? 0 : length;
    return !noise;
}

static const double PART = 0.1, ROUNDED = 1e-12; /* of the tolerance, and of the state */

/* How well surfaces are known, but for margins: what a part of the tolerance, and rounding, make of them. What is below
   where a step begins (the slip of what sticks, the height of what is in a plane) has no sign until it is above. A jump on
   one side of the state is none. */
static void find_noise_floor(Run *r) {
    if (r->floor_found && r->steps < r->floor_found + FLOOR_STEPS) return;
    double usual = fmin(1, r->atol / r->rtol), *there = r->G + r->surfaces, *back = there + r->surfaces;
    memset(r->noise_floor, 0, r->surfaces * sizeof(double));
    memcpy(r->stage, r->y, r->n * sizeof(double));
    for (long i = 0; i < r->n; i++) {
        double by = PART * scale(r, r->y[i]) + ROUNDED * (usual + fabs(r->y[i]));
        r->stage[i] = r->y[i] + by, surfaces(r, r->t, r->stage, there);
        r->stage[i] = r->y[i] - by, surfaces(r, r->t, r->stage, back);
        r->stage[i] = r->y[i];
        for (long s = r->margins; s < r->surfaces; s++) {
            double more = fmin(fabs(there[s] - r->G[s]), fabs(back[s] - r->G[s]));
            if (isfinite(more)) r->noise_floor[s] += more;
        }
    }
    r->floor_found = r->steps + 1;
}

/* Which side of each surface the state is on; none where that is in doubt. */
static void take_sides(Run *r) {
    if (!r->surfaces) return;
    surfaces(r, r->t, r->y, r->G);
    find_noise_floor(r);
    for (long s = 0; s < r->surfaces; s++) {
        r->size[s] = fmax(r->size[s], fabs(r->G[s])), r->low[s] = fmax(NOTHING * r->size[s], r->noise_floor[s]);
        int now = sign(r, s, r->G[s]);
        if (now && !r->side[s]) r->side[s] = now;
    }
}
