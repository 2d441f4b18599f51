/* What happens at an event of rigid contacts: impacts, and the modes of the points after them.

   Impacts of one pair of surfaces are one complementarity problem of all its points. Pairs that rebound come one after the other,
   the fastest approach first, so that a row of balls passes its momentum on, as it does in nature; what is left when nothing
   rebounds any more, all of it at once. Modes of the points that then rest on each other are such that forces and accelerations
   fit together: all points closed, and stuck if they do not slip, if that is so; else by the one complementarity problem of
   all points. docs/contact.md has the equations; the same in Python, by LAPACK, is tests/oracles/contacts.py.

   The model is handed over as functions of x = (q, u, …, t, parameters, …), in which each point's switches have their
   places. Nothing is allocated: all numbers lie in two places of `contacts_room` and `contacts_whole` numbers. */
#include "contacts.h"
#include "matrices.h"
#include "complementarity.h"
#include "impacts.h"
#include "contact_quantities.h"
#include "projection.h"
#include "contact_instant.h"
#include "positions.h"
#include "hits.h"
#include "modes.h"

/* The state in x after all impacts, closed points without gap, with new modes, also in x; `given` is the work that moving
   bases did on the way, `count` counts impacts. What is not RESOLVED is a failure. */
EXPORT int contacts_resolve(Contacts *c) {
    c->room_used = c->whole_used = 0, c->given = 0, c->stopped = c->is_full = 0;
    memset(c->modes.odd, 0, (size_t)c->points * sizeof(long));
    memset(c->modes.guilty, 0, (size_t)c->points * sizeof(long));
    memset(c->modes.tipping, 0, (size_t)c->points * sizeof(long));
    long *near = wholes(c, c->points), *hitting = wholes(c, c->points);
    Law law = law_of(c);
    measure(c);
    find_near(c, &law, near);
    double lift = place_points(c, &law, near);
    for (long k = 0; k < c->points; k++) hitting[k] = near[k] && !is_always(c->point + k);
    int failed = all_impacts(c, &law, hitting, lift);
    if (!failed) failed = choose_modes(c, &law, near, 1);
    if (!failed) lift_points(c, &law);
    write_switches(c, 0, -1);
    return c->is_full ? NO_ROOM : c->stopped ? UNKNOWN : failed;
}

/* How many rows points can have together. */
static long rows_of(long points, const Point *point) {
    long rows = 0;
    for (long k = 0; k < points; k++) rows += (is_always(point + k) ? 0 : is_ring(point + k) ? AROUND : 1) + slips_of(point + k);
    return rows;
}

static long room_for(long coordinates, long speeds, long rows, long points, const Point *point, long sides) {
    long most = rows_of(points, point), n = speeds, all = n + rows, corners_of_all = most + points * (sides + 1);
    long terms = n * n + n + 2 * rows * n + rows + rows, site = (long)(sizeof(Site) / sizeof(double)) + 1;
    long of_instant = terms + 2 * most * n + 2 * most * most + 6 * most + (2 * AROUND + 20 + site) * points;
    long solving = 6 * most * most + 20 * most + 3 * site * points, bordering = 5 * all * all + 4 * n * all + 2 * most + all;
    long by_corners = corners_of_all * (2 * corners_of_all + 3) + 2 * corners_of_all * most + 2 * most + 2 * sides;
    return 3 * of_instant + 2 * terms + solving + bordering + by_corners + 4 * n * all + 10 * (coordinates + n + rows) + 60 * points + 1000;
}

/* How many numbers there has to be room for; polygons for which LARGE_ROOM is not enough are not tried. */
EXPORT long contacts_room(long coordinates, long speeds, long rows, long points, const Point *point) {
    long all = room_for(coordinates, speeds, rows, points, point, SIDES[2]);
    if (all <= LARGE_ROOM) return all;
    all = room_for(coordinates, speeds, rows, points, point, 0);
    return all > LARGE_ROOM ? all : LARGE_ROOM;
}

EXPORT long contacts_whole(long rows, long points, const Point *point) {
    long most = rows_of(points, point);
    return 40 * points + 8 * most + 4 * rows + 2 * (most + points * (SIDES[2] + 1)) + 100;
}
