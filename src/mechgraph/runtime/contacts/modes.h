/* Modes of the points that stay together: candidates, whether forces fit them, and which to release if not. */

static double length_of(const double *a, long count) { return count > 1 ? hypot(a[0], a[1]) : count ? fabs(a[0]) : 0; }

/* The least and the largest of the normals of a point, and which is the least. */
static long least_of(const double *v, long count, double *least, double *most) {
    long which = 0;
    *least = *most = v[0];
    for (long i = 1; i < count; i++) {
        if (v[i] < *least) *least = v[i], which = i;
        *most = fmax(*most, v[i]);
    }
    return which;
}

static void head(Contacts *c, long k, const double *slip, long count) {
    double length = length_of(slip, count);
    for (long i = 0; i < count; i++) c->modes.heading[2 * k + i] = slip[i] / length;
}

/* Points that do not part are closed, and those of them that do not slip are stuck, for now; directions of the slip of the
   others, and how many there are. */
static long candidates(Contacts *c, const Law *law, const ContactInstant *m, long *slips, double *slip) {
    long found = 0;
    for (long k = 0; k < c->points; k++) c->modes.touching[k] = is_always(c->point + k), c->modes.sticking[k] = 0;
    memset(c->modes.heading, 0, (size_t)(2 * c->points) * sizeof(double));
    for (long i = 0; i < m->count; i++) {
        long k = m->chosen[i], tangents = m->tangents[i];
        const double *rates = m->velocity + m->first[i], *own = rates + m->normals[i];
        if (m->normals[i]) {
            double least, most;
            long which = least_of(rates, m->normals[i], &least, &most);
            c->modes.touching[k] = least <= law->resting[k];
            if (c->modes.touching[k] && c->modes.flat[k] && most > law->resting[k])
                tip(c, k, m->arms + 2 * (AROUND * i + which));
        }
        int slow = !tangents || length_of(own, tangents) <= 2 * law->regularization[k];
        c->modes.sticking[k] = c->modes.touching[k] && slow && law->holding[k] > 0;
        if (slow) continue;
        head(c, k, own, tangents);
        slips[k] = 1, found++;
        memcpy(slip + 2 * k, c->modes.heading + 2 * k, 2 * sizeof(double));
    }
    for (long k = 0; k < c->points; k++) c->modes.flat[k] = c->modes.flat[k] && c->modes.touching[k];
    return found;
}

/* Of all rows, by the one complementarity problem, and the shares of all points in the forces, N and F; flat rings are
   turned until their pressure is at one of their points, or within; 0 if there is no solution. */
static int accelerations(Contacts *c, const Law *law, ContactInstant *m, const long *slips, const double *slip, double *a, double *shares) {
    Mark mark = marked(c);
    long *rows = wholes(c, m->rows), *which = wholes(c, m->count);
    double *x = numbers(c, m->rows);
    Site *sites = places_for_sites(c, m->count);
    int found = 1;
    for (long i = 0; i < m->rows; i++) a[i] = -m->c[i];
    for (long i = 0; i < m->count; i++) which[i] = i;
    least_squares(c, m->rows, m->rows, m->W, a, x);
    for (int k = 0; k < (m->is_armed ? ALIGNED : 1) && found; k++) {
        align(c, m, x);
        sites_of(c, law, m, m->count, which, slips, slip, 1 - spared(1), rows, sites);
        found = solve(c, m->rows, m->W, m->c, m->count, sites, x);
    }
    responses(m->rows, m->W, m->c, x, a);
    for (long i = 0; i < m->count; i++) {
        double *own = shares + 3 * m->chosen[i];
        own[0] = m->loads[i];
        for (long k = 0; k < m->normals[i]; k++) own[0] += x[m->first[i] + k];
        for (long k = 0; k < m->tangents[i]; k++) own[1 + k] = x[m->first[i] + m->normals[i] + k];
    }
    back_to(c, mark);
    return found;
}

/* Modes by the accelerations of all candidates. */
static void classify(Contacts *c, const ContactInstant *m, const double *a) {
    for (long i = 0; i < m->count; i++) {
        long k = m->chosen[i];
        const double *rises = a + m->first[i], *slip = rises + m->normals[i];
        if (m->normals[i]) {
            double least, most;
            long which = least_of(rises, m->normals[i], &least, &most);
            if (least > 0) open_point(c, k);
            else if (c->modes.flat[k] && most > 0) tip(c, k, m->arms + 2 * (AROUND * i + which));
        }
        if (c->modes.sticking[k] && length_of(slip, m->tangents[i]) > 0) {
            c->modes.sticking[k] = 0;
            head(c, k, slip, m->tangents[i]);
        }
    }
}

/* The part of the way from one number to another after which it is zero; all of it, if it is not. */
static double falling(double first, double last) { return fmax(first, 0) / fmax(fmax(first, first - last), TINY); }

/* The part of the way from one force (N, F) to another after which it leaves its cone; all of it, if it does not. */
static double leaving(const double *first, const double *last, double friction) {
    double a = 0, b = 0, c = 0;
    for (int i = 0; i < 3; i++) {
        double metric = i ? -1 : friction * friction, change = last[i] - first[i];
        a += metric * change * change, b += metric * first[i] * change, c += metric * first[i] * first[i];
    }
    double squared = b * b - a * c;
    if (c <= 0 || squared < 0) return c <= 0 ? 0 : 1;
    return c / fmax(c, sqrt(squared) - b);
}

/* Open a point that would pull, or let one slide that friction does not hold: the first on the way from shares that keep all
   conditions to those of the motion. The shares become those that are reached there; 0 if there is none. */
static int release(Contacts *c, const Law *law, double *shares) {
    Mark mark = marked(c);
    Quantities s = weighed(c, law);
    long yielding = -1, slides = 0;
    double first = INFINITY;
    for (long kind = 0; kind < 2; kind++)
        for (long k = 0; k < c->points; k++) {
            double own[3] = {s.normal[k], s.along[0][k], s.along[1][k]}, part = INFINITY;
            if (!kind && c->modes.touching[k] && s.spare[k] < -s.little[k] / 2) part = falling(shares[3 * k], own[0]);
            if (kind && c->modes.sticking[k] && s.reserve[k] < -s.little[k] / 2) part = leaving(shares + 3 * k, own, law->holding[k]);
            if (part < first) first = part, yielding = k, slides = kind;
        }
    for (long k = 0; k < c->points && yielding >= 0; k++) {
        double own[3] = {s.normal[k], s.along[0][k], s.along[1][k]};
        for (int i = 0; i < 3; i++) shares[3 * k + i] += first * (own[i] - shares[3 * k + i]);
    }
    if (slides) {
        c->modes.sticking[yielding] = 0;
        double *force = shares + 3 * yielding + 1, size = fmax(hypot(force[0], force[1]), TINY);
        for (int i = 0; i < 2; i++) c->modes.heading[2 * yielding + i] = -force[i] / size;
    } else if (yielding >= 0) open_point(c, yielding);
    for (long k = 0; k < c->points; k++) {
        shares[3 * k] *= (double)c->modes.touching[k];
        for (int i = 1; i < 3; i++) shares[3 * k + i] *= (double)c->modes.sticking[k];
    }
    back_to(c, mark);
    return yielding >= 0;
}

/* Say so where friction turns the response of a sliding point round. */
static void tell_of_paradoxes(Contacts *c, const Law *law, const ContactInstant *m, const long *slips, const double *slip) {
    for (long i = 0; i < m->count; i++) {
        long k = m->chosen[i], normal = m->first[i];
        if (!slips[k] || !m->normals[i]) continue;
        const double *row = m->W + normal * m->rows;
        double along = dotted(m->tangents[i], row + normal + m->normals[i], slip + 2 * k);
        if (row[normal] < law->friction[k] * along) c->modes.odd[k] = 1;
    }
}

/* Speeds after an impact without collision, which stops a slip that no forces allow: by how its points approach as soon as a
   millionth of the slip may have changed. */
static int jam(Contacts *c, const Law *law, const ContactInstant *m) {
    Mark mark = marked(c);
    Hits h = hits_of(c, m);
    long *which = wholes(c, m->count);
    double *ahead = numbers(c, m->rows), *x = numbers(c, m->rows), soon = KNOWN * largest(m->rows, m->velocity) / largest(m->rows, m->c);
    for (long i = 0; i < m->count; i++) which[i] = i;
    long rows = sites_of(c, law, m, m->count, which, NULL, NULL, 1, h.rows, h.sites);
    for (long i = 0; i < m->rows; i++) ahead[i] = m->velocity[i] + soon * m->c[i];
    int found = solve(c, rows, m->Y, ahead, m->count, h.sites, x); /* all rows, in their order */
    if (found) strike(c, m, &h, rows, x), push_by(c, m, &h);
    back_to(c, mark);
    return found ? RESOLVED : driven(c, m, m->count, NULL);
}

/* Modes of the points that stay together, and the nearest state that keeps closed points closed and sticking ones stuck. */
static int choose_modes(Contacts *c, const Law *law, const long *near, int again) {
    Mark mark = marked(c);
    long *slips = wholes(c, c->points);
    double *slip = numbers(c, 2 * c->points);
    ContactInstant m = instant_of(c, near);
    long sliding = candidates(c, law, &m, slips, slip);
    tip_rings(c, 1);
    hold(c);
    if (!sliding && fits(c, law)) {
        back_to(c, mark);
        return RESOLVED;
    }
    m = instant_of(c, c->modes.touching);
    tell_of_paradoxes(c, law, &m, slips, slip);
    int failed = RESOLVED;
    if (!fits(c, law)) {
        double *a = numbers(c, m.rows), *shares = numbers(c, 3 * c->points);
        if (accelerations(c, law, &m, slips, slip, a, shares)) {
            classify(c, &m, a);
            tip_rings(c, 0);
            for (long k = 0; k < 2 * c->points && release(c, law, shares); k++);
        } else if (!sliding || !again) failed = driven(c, &m, m.count, NULL);
        else {
            failed = jam(c, law, &m);
            if (!failed) failed = choose_modes(c, law, near, 0);
        }
    }
    back_to(c, mark);
    return failed;
}
