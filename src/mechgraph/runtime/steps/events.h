/* What a run meets on its way: surfaces that change their sign within a step, where that is, and how much of the step is taken.

   There are three kinds, one after the other. *Margins* of rigid contacts fall through zero when a point closes, opens, sticks or
   slides: the step ends there, and the contacts are resolved. *Kinks* are where forces change from one piece to another: the
   step ends there, so that no step reaches over a jump, and nothing that is there for a short while is stepped over. *Events* are
   the user's: they are noted, and some end the run. */

enum { STANDSTILL = 100 }; /* steps with kinks in (all but) one moment after which a run has failed, and some more for each kink */
static const double LITTLE = 300;    /* motion between two of them, in units of the tolerance, that is next to none */
static const double LAST_DIGIT = 4e-15; /* relative: so near that rounding of times may put a stage beyond */
static const double OVER = 1e-13;    /* of the time: a step that is over before it has begun */

typedef double (*Value)(Run *r, long s, double moment); /* of a surface */

static int is_event(const Run *r, long s) { return s >= r->margins + r->kinks; }
static int matters(const Run *r, long s, long way) { return !r->direction[s] || r->direction[s] == way; }
static int ends(const Run *r, long s, long way) { return matters(r, s, way) && r->ending[s]; }

/* --- steps that end at a moment ---------------------------------------------------------------------------------------- */

/* A step to a moment, not taken yet: its error. */
static double attempt(Run *r, double moment) {
    double h = moment - r->t;
    if (h > 0) return h < OVER * fabs(moment) ? steps_over(r, h) : steps_attempt(r, h);
    r->step = 0;
    memcpy(r->projected, r->y, r->n * sizeof(double));
    return 0;
}

/* Take the step only up to a moment; 0 if that is not good enough, and it was taken only half of the way, or less, to the
   earliest moment of interest. */
static int take_until(Run *r, double moment, double earliest) {
    double start = r->t, wanted = moment;
    while (attempt(r, moment) >= 1 && earliest - start > 1e-13 * fmax(1, fabs(start)) && !r->stopped) {
        moment = earliest = start + (earliest - start) / 2;
        r->next = moment - start;
    }
    if (!r->stopped) steps_accept(r, moment);
    return moment == wanted;
}

/* What attempts to moments of this step have shown: a second one may differ by rounding. Each is a moment and all surfaces. */
static double *shown(Run *r, long k) { return r->attempts + k * (r->surfaces + 1); }

static double *attempted(Run *r, double moment) {
    for (long k = r->tried - 1; k >= 0; k--)
        if (shown(r, k)[0] == moment) return shown(r, k) + 1;
    if (r->tried == ATTEMPTS) { /* the older half is forgotten */
        r->tried /= 2;
        memmove(shown(r, 0), shown(r, r->tried), r->tried * (r->surfaces + 1) * sizeof(double));
    }
    double *row = shown(r, r->tried++);
    row[0] = moment;
    attempt(r, moment);
    surfaces(r, r->t + r->step, r->projected, row + 1);
    return row + 1;
}

/* --- where a surface changes its sign ---------------------------------------------------------------------------------- */

/* The surface at the end of a step to that moment; positive beyond it. Where it has no value (0/0 in the zero itself), it is
   on neither side. */
static double by_attempt(Run *r, long s, double moment) {
    double value = attempted(r, moment)[s];
    if (isnan(value)) r->lost_at = moment;
    return isnan(value) ? 0 : r->way * value;
}

/* The same by interpolation, which costs little. */
static double by_glimpse(Run *r, long s, double moment) {
    double part = (moment - r->t) / r->whole;
    within(r, part, r->stage);
    surfaces(r, r->t + part * r->step, r->stage, r->probe);
    return r->way * r->probe[s];
}

/* A zero between two moments of different signs, by Brent's method (R. P. Brent, Algorithms for minimization without
   derivatives, 1973, chapter 4): the secant or inverse quadratic interpolation where that is sure to do better than halving. */
static double zero_between(Run *r, Value value, long s, double from, double to, double least, double relative) {
    double before = from, now = to, other = 0, at_before = value(r, s, before), at_now = value(r, s, now), at_other = 0;
    double last = 0, stride = 0;
    if (at_before == 0) return before;
    for (int k = 0; k < 1000 && at_now != 0 && !r->stopped; k++) {
        if (at_before != 0 && signbit(at_before) != signbit(at_now))
            other = before, at_other = at_before, last = stride = now - before;
        if (fabs(at_other) < fabs(at_now)) {
            before = now, now = other, other = before;
            at_before = at_now, at_now = at_other, at_other = at_before;
        }
        double enough = (least + relative * fabs(now)) / 2, half = (other - now) / 2, trial;
        if (fabs(half) < enough) break;
        int interpolates = fabs(last) > enough && fabs(at_now) < fabs(at_before);
        if (interpolates && before == other) trial = -at_now * (now - before) / (at_now - at_before);
        else if (interpolates) {
            double a = (at_before - at_now) / (before - now), b = (at_other - at_now) / (other - now);
            trial = -at_now * (at_other * b - at_before * a) / (b * a * (at_other - at_before));
        }
        if (interpolates && 2 * fabs(trial) < fmin(fabs(last), 3 * fabs(half) - enough)) last = stride, stride = trial;
        else last = stride = half;
        before = now, at_before = at_now;
        now += fabs(stride) > enough ? stride : half > 0 ? enough : -enough;
        at_now = value(r, s, now);
    }
    return now;
}

/* Moments from a guess to the bound of where a zero should be, and on to a limit, in ever longer strides: what interpolation
   shows may be a little off. */
typedef struct {
    double guess, bound, limit, stride;
    int count;
} Strides;

static Strides strides(double guess, double bound, double limit) {
    if ((limit - guess) * (limit - bound) <= 0) guess = bound = limit;
    double stride = fmax(fabs(bound - guess), LAST_DIGIT * fabs(bound));
    return (Strides){guess, bound, limit, copysign(stride, limit - bound), 0};
}

static int next_of(Strides *s, double *moment) {
    int k = s->count++;
    if (k < 0) return 0;
    if (k < 2) *moment = s->guess + (s->bound - s->guess) * (k ? 1e-3 : 1e-7);
    else if ((s->limit - s->bound) * s->stride > 0) *moment = s->bound, s->bound += s->stride, s->stride *= 10;
    else *moment = s->limit, s->count = -1;
    return 1;
}

/* A moment before `end` at which the surface is not beyond zero: known already, or near a guess, or ever nearer after the
   beginning of the step, where a surface may be zero; NAN if there is none. */
static double begin_of(Run *r, long s, double guess, double first, double end) {
    double begin = NAN, moment;
    for (long k = 0; k < r->tried; k++) {
        double *row = shown(r, k);
        if (row[0] >= first && row[0] < end && r->way * row[1 + s] < 0 && !(row[0] <= begin)) begin = row[0];
    }
    if (!isnan(begin)) return begin;
    for (Strides near = strides(fmin(guess, end), first, r->t); next_of(&near, &moment);)
        if (moment < end && by_attempt(r, s, moment) < 0) return moment;
    for (int k = 0; k < 40; k++) {
        moment = k ? r->t + (end - r->t) * ldexp(1, -k) : r->t;
        if (moment < end && by_attempt(r, s, moment) < 0) return moment;
    }
    return NAN;
}

/* Try moments about a zero, ever further away, until one on each side of the surface is known: zero itself is on neither. */
static void leave_zero(Run *r, long s, double zero, double begin, double end) {
    for (int way = -1; way <= 1; way += 2) {
        double bound = way < 0 ? begin : end, shift = (way < 0 ? LAST_DIGIT : 2e-16) * fabs(zero);
        while (way * (bound - zero) > shift && way * by_attempt(r, s, zero + way * shift) <= 0 && !r->stopped)
            shift = 4 * shift + 1e-18;
    }
}

/* A change of sign about between two moments, near a guess; 0, if there is none before the limit. */
static int locate(Run *r, long s, double first, double last, long way, double guess, double limit, Crossing *found) {
    double end = NAN, moment, start = r->t;
    r->way = way, r->lost_at = NAN;
    for (Strides near = strides(guess, last, limit); isnan(end) && next_of(&near, &moment);)
        if (by_attempt(r, s, moment) > r->noise[s]) end = moment;
    if (isnan(end) && !isnan(r->lost_at) && !r->stopped) r->stopped = NOT_A_NUMBER;
    if (isnan(end) || r->stopped) return 0;
    double begin = begin_of(r, s, guess, first, end);
    *found = (Crossing){s, way, start, start};
    if (isnan(begin)) return 1;
    if (end - begin > 2 * LAST_DIGIT * fabs(end)) {
        double least = LAST_DIGIT / 10 * (limit - start); /* near t = 0 a moment can be told ever better */
        leave_zero(r, s, zero_between(r, by_attempt, s, begin, end, fmax(least, 1e-300), 8.9e-16), begin, end);
    }
    found->moment = end, found->before = begin;
    for (long k = 0; k < r->tried; k++) {
        double *row = shown(r, k);
        if (row[0] > begin && row[0] < found->moment && way * row[1 + s] > 0) found->moment = row[0];
    }
    for (long k = 0; k < r->tried; k++) {
        double *row = shown(r, k), near = found->moment - LAST_DIGIT * fabs(found->moment) / 2;
        if (row[0] > found->before && row[0] < near && way * row[1 + s] < 0) found->before = row[0];
    }
    return 1;
}

/* About when a change of sign is. */
static double glimpsed(Run *r, long s, double first, double last, long way) {
    r->way = way;
    if (!(by_glimpse(r, s, first) < 0 && by_glimpse(r, s, last) > 0)) return last;
    return zero_between(r, by_glimpse, s, first, last, 1e-8 * (last - first), 8.9e-16);
}

/* --- what is met in a step --------------------------------------------------------------------------------------------- */

/* Which way each change of sign in the step goes, and which surfaces have one that matters: those in between tell on which side
   they are. Surfaces whose changes nobody asks for have -1 in `asked`. */
static void give_ways(Run *r) {
    long *side = r->sides;
    memcpy(side, r->side, r->surfaces * sizeof(long));
    memset(r->asked, 0, r->surfaces * sizeof(long));
    for (long k = 0; k < r->crossings; k++) r->asked[r->which[k]]++;
    for (long s = 0; s < r->surfaces; s++)
        if (r->asked[s] && !side[s]) side[s] = r->asked[s] % 2 ? -r->after[s] : r->after[s]; /* in doubt when the step began */
    for (long s = 0; s < r->surfaces; s++) r->asked[s] = r->asked[s] ? -1 : 0;
    for (long k = 0; k < r->crossings; k++) {
        long s = r->which[k];
        r->ways[k] = side[s] = -side[s];
        if (matters(r, s, r->ways[k])) r->asked[s] = 1;
    }
}

/* On which side surfaces are that change their sign where nobody asks for it. */
static void take_other_sides(Run *r) {
    int any = 0;
    for (long s = 0; s < r->surfaces; s++) any |= r->asked[s] < 0;
    if (!any) return;
    attempt(r, r->t);
    surfaces(r, r->t, r->projected, r->probe);
    for (long s = 0; s < r->surfaces; s++)
        if (r->asked[s] < 0 && r->probe[s] != 0 && !isnan(r->probe[s])) r->side[s] = r->probe[s] > 0 ? 1 : -1;
}

/* 0 if a surface is on that side already: interpolation shows waves that are none. */
static int is_new(const Run *r, const Crossing *found) {
    long side = r->side[found->surface];
    for (long k = 0; k < r->met; k++)
        if (r->crossing[k].surface == found->surface && r->crossing[k].moment <= found->moment) side = r->crossing[k].way;
    return side != found->way;
}

/* What is met up to the first surface that ends the step, in order, in `crossing`; the place of the latter, or -1. */
static long find_crossings(Run *r) {
    double limit = INFINITY, cut = INFINITY;
    long count = 0, kept = 0;
    r->tried = r->met = 0;
    for (long k = 0; k < r->crossings; k++) {
        if (r->asked[r->which[k]] < 0) continue;
        double first = r->t + r->whole * r->from[k], last = r->t + r->whole * r->to[k];
        r->guess[k] = glimpsed(r, r->which[k], first, last, r->ways[k]);
        long place = count++;
        for (; place && r->guess[r->order[place - 1]] > r->guess[k]; place--) r->order[place] = r->order[place - 1];
        r->order[place] = k;
    }
    for (long i = 0; i < count && !r->stopped; i++) {
        long k = r->order[i], s = r->which[k];
        double first = r->t + r->whole * r->from[k], last = r->t + r->whole * r->to[k];
        Crossing *found = r->crossing + r->met;
        if (first > limit) continue;
        if (!locate(r, s, first, last, r->ways[k], r->guess[k], fmin(limit, r->until), found) || !is_new(r, found)) continue;
        r->met++;
        if (!ends(r, s, found->way) || !(found->moment < cut)) continue;
        cut = limit = found->moment; /* where the run ends, others are met at the same moment but for rounding */
        if (is_event(r, s)) limit += 2 * LAST_DIGIT * (fabs(r->origin) + cut);
        memcpy(r->at_cut, attempted(r, cut), r->surfaces * sizeof(double));
    }
    for (long k = 0; k < r->met; k++) {
        Crossing each = r->crossing[k];
        long place = kept;
        if (each.moment > limit) continue;
        for (; place && r->crossing[place - 1].moment > each.moment; place--) r->crossing[place] = r->crossing[place - 1];
        r->crossing[place] = each, kept++;
    }
    r->met = kept;
    for (long k = 0; k < kept; k++)
        if (ends(r, r->crossing[k].surface, r->crossing[k].way)) return k;
    return -1;
}

/* What an attempt showed of surfaces and what they are differs by rounding: less beyond one is not beyond it. */
static void learn_noise(Run *r) {
    attempt(r, r->t);
    surfaces(r, r->t, r->projected, r->probe);
    for (long k = 0; k < r->met; k++) {
        long s = r->crossing[k].surface;
        r->noise[s] = fmax(r->noise[s], 4 * fabs(r->probe[s] - r->at_cut[s]));
    }
}

/* Whether jumps follow each other without time going on, or with next to no motion in between: steps that are as short as the
   error of a jump asks for. */
static int stands_still(Run *r) {
    double gone = r->is_marked ? (r->t - r->marked_at) / fmax(1e-3, fabs(r->t)) : INFINITY;
    for (long i = 0; i < r->n; i++) r->stage[i] = r->y[i] - r->mark[i];
    int near = gone < 1e-7 || (gone < 1e-5 && norm(r, r->stage, r->y) < LITTLE);
    r->standing = near ? r->standing + 1 : 0;
    r->is_marked = 1, r->marked_at = r->t;
    memcpy(r->mark, r->y, r->n * sizeof(double));
    return r->standing > STANDSTILL + 2 * r->kinks;
}

/* Take the step up to the first surface that ends it: why steps do not go on by themselves (KINK: they do, with other slopes).

   It ends just before that, so that nothing from beyond enters it; a last one, of rounding's length, goes over. A step that is
   not good enough although it ends there is halved. */
static int meet(Run *r) {
    if (stands_still(r)) return ENDLESS;
    double earliest = INFINITY;
    int over = 0, contacts = 0, is_over = 0;
    give_ways(r);
    long cut = find_crossings(r);
    for (long k = 0; k < r->met; k++) earliest = fmin(earliest, r->crossing[k].before);
    if (r->stopped) return STOPPED;
    if (cut < 0) {
        steps_attempt(r, r->whole);
        if (!r->stopped) steps_accept(r, r->until);
        memcpy(r->side, r->after, r->surfaces * sizeof(long));
    } else if (!take_until(r, r->crossing[cut].before, earliest)) {
        take_other_sides(r);
        return r->stopped ? STOPPED : GO_ON;
    } else over = take_until(r, r->crossing[cut].moment, r->crossing[cut].moment);
    if (r->stopped) return STOPPED;
    for (long k = 0; k < r->met; k++) {
        const Crossing *each = r->crossing + k;
        long s = each->surface;
        if (cut >= 0 && !over && each->moment > r->t) continue;
        if (cut >= 0) r->side[s] = each->way;
        if (!matters(r, s, each->way)) continue;
        if (s < r->margins) contacts = 1;
        if (!is_event(r, s)) continue;
        is_over |= r->ending[s] != 0;
        r->events[2 * r->noted] = (double)(s - r->margins - r->kinks), r->events[2 * r->noted++ + 1] = each->moment;
    }
    if (cut >= 0) take_other_sides(r);
    if (is_over) return EVENT;
    if (cut < 0 || !over) return GO_ON;
    if (contacts) return CONTACTS;
    learn_noise(r);
    return KINK;
}
