/* Positions: points that are near, without gap where they are closed, and out of reach where they have just opened. */

/* Gaps, then their rates. */
static double *approach(Contacts *c) {
    double *gaps = numbers(c, 2 * c->points);
    ask(c, c->gaps, gaps);
    return gaps;
}

/* Which points are closed or about to be; rings among them that lie flat. */
static void find_near(Contacts *c, const Law *law, long *near) {
    Mark mark = marked(c);
    memset(c->modes.flat, 0, (size_t)c->points * sizeof(long));
    double *gap = approach(c), *ring = ring_quantities(c);
    for (long k = 0; k < c->points; k++) near[k] = c->modes.touching[k] || gap[k] < GIVEN * law->span[k];
    for (long k = 0; k < c->points && ring; k++)
        c->modes.flat[k] = near[k] && is_ring(c->point + k) && ring[2 * c->points + k] < 2 * GIVEN * ring[k];
    back_to(c, mark);
}

static double potential(Contacts *c) {
    double energies[2];
    ask(c, c->energy, energies);
    return energies[1];
}

/* Positions without gap at points that are closed, or meet and do not rebound, and how much potential energy that takes. */
static double place_points(Contacts *c, const Law *law, const long *near) {
    Mark mark = marked(c);
    double *gap = approach(c), *rate = gap + c->points, *before = numbers(c, c->coordinates), lift = potential(c);
    for (long k = 0; k < c->points; k++) {
        int meets = rate[k] < 0 && !(is_rebounding(law, k) && rate[k] < -law->resting[k]);
        if (near[k] && (meets || gap[k] < -2 * MET * law->span[k])) c->modes.touching[k] = 1;
        c->modes.sticking[k] = 0;
    }
    memcpy(before, c->x, (size_t)c->coordinates * sizeof(double));
    project(c);
    int moved = memcmp(before, c->x, (size_t)c->coordinates * sizeof(double)) != 0;
    back_to(c, mark);
    return moved ? potential(c) - lift : 0;
}

/* Positions in which no open point that hardly moves is still where it met its surface, and closed ones have no gap. */
static void lift_points(Contacts *c, const Law *law) {
    Mark mark = marked(c);
    double *gap = approach(c), *rate = gap + c->points;
    long *low = wholes(c, c->points), any = 0;
    for (long k = 0; k < c->points; k++) {
        low[k] = !c->modes.touching[k] && gap[k] <= -MET * law->span[k] && rate[k] < law->resting[k];
        any |= low[k] || (c->modes.touching[k] && !is_always(c->point + k) && gap[k] > MET * law->span[k]);
        if (low[k]) c->modes.touching[k] = 1;
    }
    if (any) project(c);
    for (long k = 0; k < c->points; k++)
        if (low[k]) c->modes.touching[k] = 0;
    back_to(c, mark);
}

/* The part of a speed that pays for a lift, (k - k^2/2) m v^2, where m v^2 is `twice` its energy; all of it at most. */
static double paying(double lift, double twice) {
    if (lift <= 0) return 0;
    return twice > 0 ? 1 - sqrt(fmax(0, 1 - 2 * lift / twice)) : 1;
}

/* The least change of u, in the metric of M, that changes A u by what is wanted; some rows of A. */
static void least_change(Contacts *c, const Terms *a, long count, const long *rows, const double *wanted, double *change) {
    Mark mark = marked(c);
    long n = c->speeds;
    double *inverse = numbers(c, n * n), *B = numbers(c, count * n);
    inverted(c, n, a->M, c->size.speeds, inverse);
    for (long k = 0; k < count; k++) memcpy(B + k * n, a->A + rows[k] * n, (size_t)n * sizeof(double));
    least(c, inverse, count, B, wanted, change);
    back_to(c, mark);
}

/* States in which rings that begin to tip stand on the point over which they do. */
static void tip_rings(Contacts *c, int by_speed) {
    for (long k = 0; k < c->points; k++) {
        if (!c->modes.tipping[k]) continue;
        Mark mark = marked(c);
        long n = c->speeds, rows[5], count = 0;
        const Point *p = c->point + k;
        const double *arm = c->modes.arm + 2 * k, radius = hypot(arm[0], arm[1]), tilt = 2.5 * GIVEN; /* more than flat */
        double wanted[5] = {tilt * radius, -tilt * arm[0] / radius, -tilt * arm[1] / radius, 0, 0}, rising[3];
        double *step = numbers(c, n), *change = numbers(c, n), *before = numbers(c, c->coordinates), lift = potential(c);
        Terms a = terms_of(c, 1, k);
        rows[count++] = p->gap, rows[count++] = p->level[0], rows[count++] = p->level[1];
        for (int i = 0; i < 2; i++)
            if (p->slip[i] >= 0) rows[count++] = p->slip[i];
        for (int i = 0; i < 3; i++) rising[i] = a.psi[rows[i]];
        least_change(c, &a, count, rows, wanted, step);
        least_change(c, &a, 3, rows, rising, change);
        memcpy(before, c->x, (size_t)c->coordinates * sizeof(double));
        shift(c, step);
        lift = potential(c) - lift;
        double spent = paying(lift, product(n, a.M, change, change));
        if (spent == 1 && by_speed) {
            c->modes.flat[k] = 1;
            memcpy(c->x, before, (size_t)c->coordinates * sizeof(double));
        } else
            for (long i = 0; i < n; i++) c->x[c->coordinates + i] -= spent * change[i];
        back_to(c, mark);
    }
    memset(c->modes.tipping, 0, (size_t)c->points * sizeof(long));
}
