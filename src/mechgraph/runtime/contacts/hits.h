/* Impacts: which points are hit, one pair after the other or all at once, and what that does to the speeds. */

/* Rows of some points of an instant (by their places in it), and their sites among these rows; those that slip, unless
   `slips` is NULL, along two numbers of it; the part of the friction to break away that may hold them. */
static long sites_of(const Contacts *c, const Law *law, const ContactInstant *m, long count, const long *which, const long *slips,
                     const double *slip, double part, long *rows, Site *sites) {
    long all = 0;
    for (long s = 0; s < count; s++) {
        long i = which[s], k = m->chosen[i];
        double holding = (is_always(c->point + k) ? 1 : part) * law->holding[k];
        Site made = {all, m->normals[i], all + m->normals[i], m->tangents[i], slips && slips[k], 0, holding, {0, 0}, m->loads[i]};
        made.friction = made.slips ? law->friction[k] : fmin(law->friction[k], holding);
        for (int j = 0; j < 2 && made.slips; j++) made.slip[j] = slip[2 * k + j];
        for (long j = 0; j < m->normals[i] + m->tangents[i]; j++) rows[all++] = m->first[i] + j;
        sites[s] = made;
    }
    return all;
}

/* Impulses x at the points of an instant, one pair after the other; v are the velocities there now, of terms of this size, and
   `work` is that of the impulses. */
typedef struct {
    double *v, *size, *x, work;
    long *rows;
    Site *sites;
} Hits;

static Site *places_for_sites(Contacts *c, long count) {
    return (Site *)(void *)numbers(c, count * (long)((sizeof(Site) + sizeof(double) - 1) / sizeof(double)));
}

static Hits hits_of(Contacts *c, const ContactInstant *m) {
    Hits h = {numbers(c, m->rows), numbers(c, m->rows), numbers(c, m->rows), 0, wholes(c, m->rows), places_for_sites(c, m->count)};
    memcpy(h.v, m->velocity, (size_t)m->rows * sizeof(double));
    memcpy(h.size, m->size, (size_t)m->rows * sizeof(double));
    return h;
}

/* A matrix and a vector at some rows. */
static void picked(long all, const double *A, const double *v, long count, const long *rows, double *out, double *part) {
    for (long i = 0; i < count; i++) {
        part[i] = v[rows[i]];
        for (long k = 0; k < count; k++) out[i * count + k] = A[rows[i] * all + rows[k]];
    }
}

/* Impulses at some rows. */
static void strike(Contacts *c, const ContactInstant *m, Hits *h, long count, const double *x) {
    Mark mark = marked(c);
    double *change = numbers(c, m->rows);
    for (long i = 0; i < m->rows; i++)
        for (long k = 0; k < count; k++) change[i] += m->Y[i * m->rows + h->rows[k]] * x[k];
    for (long k = 0; k < count; k++) {
        long row = h->rows[k];
        h->work += x[k] * (h->v[row] + change[row] / 2), h->x[row] += x[k];
    }
    for (long i = 0; i < m->rows; i++) h->v[i] += change[i], h->size[i] += fabs(change[i]);
    back_to(c, mark);
}

/* Take the energy that closing the gaps has cost from the approach. */
static void pay(Contacts *c, const ContactInstant *m, Hits *h, double lift) {
    Mark mark = marked(c);
    long count = 0;
    for (long i = 0; i < m->count; i++)
        for (long row = m->first[i]; row < m->first[i] + m->normals[i]; row++)
            if (h->v[row] < 0) h->rows[count++] = row;
    double *Y = numbers(c, count * count), *inverse = numbers(c, count * count), *v = numbers(c, count), *x = numbers(c, count);
    double *units = numbers(c, count);
    picked(m->rows, m->Y, h->v, count, h->rows, Y, v);
    own_units(count, Y, units);
    inverted(c, count, Y, units, inverse);
    applied(count, count, inverse, v, x);
    double part = paying(lift, dotted(count, x, v));
    for (long i = 0; i < count; i++) x[i] *= -part;
    strike(c, m, h, count, x);
    back_to(c, mark);
}

/* The rate of the gap of a point. */
static double speed_of(const ContactInstant *m, const Hits *h, long i) {
    double least = INFINITY;
    for (long k = 0; k < m->normals[i]; k++) least = fmin(least, h->v[m->first[i] + k]);
    return least;
}

/* True if a point comes nearer by more than rounding. */
static int approaches(const ContactInstant *m, const Hits *h, long i) {
    for (long row = m->first[i]; row < m->first[i] + m->normals[i]; row++)
        if (h->v[row] < -MET * h->size[row]) return 1;
    return 0;
}

static int driven(Contacts *c, const ContactInstant *m, long count, const long *which) {
    for (long i = 0; i < count; i++) c->modes.guilty[m->chosen[which ? which[i] : i]] = 1;
    return DRIVEN;
}

/* All points of one pair, or all that there are, at once. */
static int hit(Contacts *c, const Law *law, const ContactInstant *m, Hits *h, long count, const long *which, int rebounding) {
    Mark mark = marked(c);
    long rows = sites_of(c, law, m, count, which, NULL, NULL, 1, h->rows, h->sites);
    double *Y = numbers(c, rows * rows), *v = numbers(c, rows), *x = numbers(c, rows), *turned = numbers(c, rows);
    picked(m->rows, m->Y, h->v, rows, h->rows, Y, v);
    for (long s = 0; s < count && rebounding; s++) {
        const Site *site = h->sites + s;
        long k = m->chosen[which[s]];
        for (long i = 0; i < site->normals; i++) turned[site->normal + i] = law->restitution[k] * fmin(v[site->normal + i], 0);
        for (long i = 0; i < site->tangents && approaches(m, h, which[s]); i++)
            turned[site->tangent + i] = law->tangential[k] * v[site->tangent + i];
    }
    int found = impulses(c, rows, Y, v, turned, count, h->sites, x);
    if (found) strike(c, m, h, rows, x);
    c->count += rebounding && found;
    back_to(c, mark);
    return found ? RESOLVED : driven(c, m, count, which);
}

/* Pairs that rebound, the fastest approach first; then all that still approaches. */
static int hit_all(Contacts *c, const Law *law, const ContactInstant *m, Hits *h) {
    long *which = wholes(c, m->count), impact = 0;
    int failed = RESOLVED;
    for (; impact < IMPACTS && !failed; impact++) {
        long fastest = -1, count = 0;
        double least = 0;
        for (long i = 0; i < m->count; i++) {
            double speed = speed_of(m, h, i);
            long k = m->chosen[i];
            if (is_rebounding(law, k) && speed < -law->resting[k] && (fastest < 0 || speed < least)) fastest = i, least = speed;
        }
        if (fastest < 0) break;
        for (long i = 0; i < m->count; i++)
            if (c->point[m->chosen[i]].pair == c->point[m->chosen[fastest]].pair) which[count++] = i;
        failed = hit(c, law, m, h, count, which, 1);
    }
    if (failed || impact == IMPACTS) return failed ? failed : WITHOUT_END;
    int fast = 0, any = 0;
    for (long i = 0; i < m->count; i++)
        which[i] = i, any |= approaches(m, h, i), fast |= speed_of(m, h, i) < -law->resting[m->chosen[i]];
    if (!any) return RESOLVED;
    c->count += fast;
    return hit(c, law, m, h, m->count, which, 0);
}

/* Change speeds by the impulses of an instant. */
static void push_by(Contacts *c, const ContactInstant *m, const Hits *h) {
    Mark mark = marked(c);
    double *change = numbers(c, c->speeds);
    for (long k = 0; k < m->rows; k++)
        for (long i = 0; i < c->speeds; i++) change[i] += h->x[k] * m->change[k * c->speeds + i];
    pushed(c, m->terms.M, change, h->work);
    back_to(c, mark);
}

/* Speeds after all impacts. */
static int all_impacts(Contacts *c, const Law *law, const long *near, double lift) {
    int failed = RESOLVED;
    for (int first = 1; first >= 0 && !failed; first--) { /* a ring may rebound in another direction than it came */
        Mark mark = marked(c);
        ContactInstant m = instant_of(c, near);
        Hits h = hits_of(c, &m);
        if (first) pay(c, &m, &h, lift);
        failed = hit_all(c, law, &m, &h);
        if (!failed) push_by(c, &m, &h);
        back_to(c, mark);
        if (!m.is_armed) break;
    }
    return failed;
}
