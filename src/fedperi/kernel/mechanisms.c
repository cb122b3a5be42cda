/* How well a variable's mechanism explains several sites, when some of them share it and others do not.

   A family is a node and a set of parents. At every site the node is regressed on its parents; sites whose regressions
   agree are joined into groups, each of which pays for one set of parameters instead of one per site. Groups are joined
   greedily, those that gain most first, until nothing gains. A site that stays alone may use fewer parents: a policy
   cut the others off. docs/method.md derives the score. */

#include "loops.h"

#include <math.h>
#include <string.h>

#define TOO_FEW -1e12  /* what a site scores alone if it has too few rows for the family: it must join others */
#define CONSTANT 1e-10 /* share of a column's spread over all sites below which it is constant at one of them */

typedef struct {
    const Sites *sites;
    int64_t node;
    ptrdiff_t own, parts;  /* columns of the node; matrices per group: one, or one per column if spreads are apart */
    ptrdiff_t regressors;  /* of the family at hand: the constant and the columns of the parents */
    int64_t columns[MOST_COLUMNS];
    double *root;          /* room for one factor */
    double *sums;          /* [site, part, packed]: moments of the groups, which begin as single sites */
    double *joint;         /* [part, packed]: of two groups together */
    ptrdiff_t packed;      /* numbers of the largest packed matrix */
    double *gain;          /* [site, site] */
    double *score, *value; /* [site]: of a group with all parents; the better of that with its price and fewer parents */
    double *rows, *fixed;  /* [site]: weighted rows; what of the score joining does not change */
    double tau;            /* how far sites may lie apart and still share a mechanism */
    int64_t *members;      /* [site]: how many sites a group has; 0 if it was joined to another */
} Work;

static inline double larger(double a, double b) { return a > b ? a : b; }

static inline ptrdiff_t triangle(ptrdiff_t rows) { return rows * (rows + 1) / 2; }

static ptrdiff_t size_of(const Work *work, ptrdiff_t part)
{
    return work->regressors + (work->sites->spread[work->node] ? work->own : part + 1);
}

/* Factor a packed lower triangle in place of `root`. The residual sums of squares of the last columns are written to
   `left`, one each; returned is the rank of the columns before. Columns that those before determine count for nothing. */
static ptrdiff_t residual_squares(const double *packed, double *root, ptrdiff_t size, ptrdiff_t last, double least,
                                  double *left)
{
    ptrdiff_t rank = 0;
    for (ptrdiff_t i = 0; i < size; i++) {
        double *row = root + triangle(i);
        const double *from = packed + triangle(i);
        double pivot = from[i];
        for (ptrdiff_t j = 0; j < i; j++) {
            const double *other = root + triangle(j);
            double sum = from[j];
            for (ptrdiff_t l = 0; l < j; l++)
                sum -= row[l] * other[l];
            row[j] = sum * other[j]; /* the diagonal holds one over the root, or zero */
            pivot -= row[j] * row[j];
        }
        if (i >= size - last)
            left[i - (size - last)] = larger(pivot, 0.0);
        int kept = pivot > least;
        row[i] = kept ? 1.0 / sqrt(pivot) : 0.0;
        rank += kept && i < size - last;
    }
    return rank;
}

/* Parameters that are compared: strengths, means, what the node's own columns are to each other, and the spread. */
static double parameters(const Work *work, ptrdiff_t rank)
{
    double own = (double)work->own;
    return own * (double)rank + own * (own - 1) / 2 + (work->sites->spread[work->node] ? own : 0.0);
}

static void gather(const Work *work, ptrdiff_t site, double *packed)
{
    ptrdiff_t size = work->regressors + work->own, q = work->sites->columns;
    const double *moments = work->sites->moments + site * q * q;
    for (ptrdiff_t i = 0; i < size; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            *packed++ = moments[work->columns[i] * q + work->columns[j]];
}

/* List the columns of a family. */
static void choose(Work *work, const int64_t *parents, int count, size_t set)
{
    const int64_t *first = work->sites->first;
    ptrdiff_t at = 0;
    work->columns[at++] = 0;
    for (int t = 0; t < count; t++)
        if (set >> t & 1)
            for (int64_t c = first[parents[t]]; c < first[parents[t] + 1]; c++)
                work->columns[at++] = c;
    work->regressors = at;
    for (int64_t c = first[work->node]; c < first[work->node + 1]; c++)
        work->columns[at++] = c;
}

/* What one site says of a family by itself: log-likelihood, parameters and the variances left over. */
static double fit_alone(Work *work, ptrdiff_t site, double *parameters_of, double *variance)
{
    const Sites *sites = work->sites;
    double n = sites->n[site], sum = 0.0;
    gather(work, site, work->joint);
    ptrdiff_t rank = residual_squares(work->joint, work->root, work->regressors + work->own, work->own, CONSTANT * n,
                                      variance);
    for (ptrdiff_t j = 0; j < work->own; j++) {
        double least = sites->floor[site * sites->columns + sites->first[work->node] + j];
        variance[j] = larger(variance[j] / n, least);
        sum += log(variance[j]);
    }
    *parameters_of = parameters(work, rank);
    return -0.5 * n * (sum + (double)work->own);
}

/* Score of a group whose moments lie in `sums`. */
static double score_group(Work *work, const double *sums, double rows, double fixed)
{
    double total = 0.0;
    ptrdiff_t rank = 0;
    double left[MOST_COLUMNS];
    if (work->sites->spread[work->node]) {
        rank = residual_squares(sums, work->root, size_of(work, 0), work->own, CONSTANT * rows, left);
        for (ptrdiff_t j = 0; j < work->own; j++)
            total -= 0.5 * rows * (log(larger(left[j] / rows, TINY)) + 1.0);
    } else
        for (ptrdiff_t part = 0; part < work->parts; part++) {
            const double *from = sums + part * work->packed;
            ptrdiff_t found = residual_squares(from, work->root, size_of(work, part), 1, CONSTANT * from[0], left);
            rank = part ? rank : found;
            total -= 0.5 * left[0];
        }
    return total + fixed - 0.5 * parameters(work, rank) * log(rows);
}

static double score_joint(Work *work, ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t stride = work->parts * work->packed;
    const double *one = work->sums + a * stride, *other = work->sums + b * stride;
    for (ptrdiff_t part = 0; part < work->parts; part++) {
        ptrdiff_t begin = part * work->packed, count = triangle(size_of(work, part));
        for (ptrdiff_t at = begin; at < begin + count; at++)
            work->joint[at] = one[at] + other[at];
    }
    return score_group(work, work->joint, work->rows[a] + work->rows[b], work->fixed[a] + work->fixed[b]);
}

static void join(Work *work, ptrdiff_t a, ptrdiff_t b, int64_t *labels)
{
    const Sites *sites = work->sites;
    work->score[a] = score_joint(work, a, b);
    work->value[a] = work->score[a] - sites->price_own;
    memcpy(work->sums + a * work->parts * work->packed, work->joint,
           (size_t)(work->parts * work->packed) * sizeof(double));
    work->rows[a] += work->rows[b];
    work->fixed[a] += work->fixed[b];
    work->members[a] += work->members[b];
    work->members[b] = 0;
    if (labels)
        for (ptrdiff_t k = 0; k < sites->count; k++)
            if (labels[k] == b)
                labels[k] = a;
}

static void weigh_pair(Work *work, ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t count = work->sites->count;
    double gain = score_joint(work, a, b) - work->sites->price_own - work->value[a] - work->value[b];
    work->gain[a * count + b] = work->gain[b * count + a] = gain;
}

/* Join groups among the listed ones, those that gain most first, while it gains. Returns how many are left. */
static ptrdiff_t agglomerate(Work *work, ptrdiff_t *list, ptrdiff_t count, int64_t *labels)
{
    ptrdiff_t stride = work->sites->count;
    for (ptrdiff_t x = 0; x < count; x++)
        for (ptrdiff_t y = 0; y < x; y++)
            weigh_pair(work, list[x], list[y]);
    while (count > 1) {
        double best = 0.0;
        ptrdiff_t at = -1, with = -1;
        for (ptrdiff_t x = 0; x < count; x++)
            for (ptrdiff_t y = 0; y < x; y++)
                if (work->gain[list[x] * stride + list[y]] > best) {
                    best = work->gain[list[x] * stride + list[y]];
                    at = y;
                    with = x;
                }
        if (at < 0)
            break;
        join(work, list[at], list[with], labels);
        list[with] = list[--count];
        for (ptrdiff_t x = 0; x < count; x++)
            if (x != at)
                weigh_pair(work, list[at], list[x]);
    }
    return count;
}

/* Split the sites into groups. Many sites are joined in batches first, so that the work grows with their number only. */
static void find_groups(Work *work, ptrdiff_t *list, int64_t *labels)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < work->sites->count; k++)
        if (work->members[k])
            list[count++] = k;
    while (count > MOST_TOGETHER) {
        ptrdiff_t left = 0, before = count;
        for (ptrdiff_t from = 0; from < count; from += MOST_TOGETHER) {
            ptrdiff_t some = count - from < MOST_TOGETHER ? count - from : MOST_TOGETHER;
            some = agglomerate(work, list + from, some, labels);
            memmove(list + left, list + from, (size_t)some * sizeof(ptrdiff_t));
            left += some;
        }
        count = left;
        if (count == before)
            return;
    }
    agglomerate(work, list, count, labels);
}

/* Score one family. `alone`, `cut` and so on are what each site says by itself. */
static double score_family(Work *work, const double *alone, const double *cut, const double *likelihood,
                           const double *parameters_of, const double *variance, size_t stride, ptrdiff_t *list,
                           int64_t *labels)
{
    const Sites *sites = work->sites;
    ptrdiff_t count = sites->count;
    double total = 0.0, refund = -HUGE_VAL;
    for (ptrdiff_t k = 0; k < count; k++) {
        double c = 1.0 + sites->n[k] * work->tau * work->tau;
        work->members[k] = 0;
        if (labels)
            labels[k] = k;
        if (sites->constant[k * sites->variables + work->node])
            continue; /* set by the site: it says nothing about the mechanism */
        if (sites->declared[k * sites->variables + work->node]) {
            total += larger(alone[k * stride], cut[k * stride] + sites->price_cut);
            continue;
        }
        int few = alone[k * stride] == TOO_FEW;
        double shared = few ? 1.0 : 1.0 / c;
        work->members[k] = 1;
        work->score[k] = alone[k * stride];
        work->value[k] = few ? TOO_FEW : larger(alone[k * stride] - sites->price_own, cut[k * stride]);
        work->rows[k] = sites->n[k] * shared;
        work->fixed[k] = few ? 0.0 : -0.5 * parameters_of[k * stride] * log(c);
        double *sums = work->sums + k * work->parts * work->packed;
        const double *left = variance + k * stride * work->own;
        if (sites->spread[work->node]) {
            work->fixed[k] += (1.0 - shared) * likelihood[k * stride];
            gather(work, k, sums);
            for (ptrdiff_t at = 0; at < triangle(size_of(work, 0)); at++)
                sums[at] *= shared;
        } else {
            work->fixed[k] += likelihood[k * stride] + 0.5 * sites->n[k] * shared * (double)work->own;
            gather(work, k, work->joint);
            for (ptrdiff_t part = 0; part < work->parts; part++)
                for (ptrdiff_t at = 0; at < triangle(size_of(work, part)); at++)
                    sums[part * work->packed + at] = work->joint[at] * shared / left[part];
        }
    }
    if (sites->share)
        find_groups(work, list, labels);
    for (ptrdiff_t k = 0; k < count; k++)
        if (work->members[k]) {
            total += work->value[k];
            refund = larger(refund, work->score[k] - work->value[k]); /* one group has all parents, free of charge */
        }
    return refund == -HUGE_VAL ? total : total + refund;
}

static void forget_work(Work *work)
{
    free(work->root);
    free(work->sums);
    free(work->gain);
    free(work->members);
}

static int make_work(Work *work, ptrdiff_t widest)
{
    ptrdiff_t count = work->sites->count;
    work->packed = triangle(widest);
    work->root = malloc((size_t)(work->packed * (1 + work->parts)) * sizeof(double));
    work->sums = malloc((size_t)(count * work->parts * work->packed) * sizeof(double));
    work->gain = malloc((size_t)(count * (count + 4)) * sizeof(double));
    work->members = malloc((size_t)count * sizeof(int64_t));
    if (!work->root || !work->sums || !work->gain || !work->members)
        return NO_MEMORY;
    work->joint = work->root + work->packed;
    work->score = work->gain + count * count;
    work->value = work->score + count;
    work->rows = work->value + count;
    work->fixed = work->rows + count;
    return 0;
}

/* Replace what a site scores alone by the best it can have with fewer parents: none of them, or some. */
static void cut_off(const Sites *sites, const double *alone, double *cut, size_t subsets, int all)
{
    for (size_t set = 0; set < subsets; set++) {
        double best = -HUGE_VAL; /* of the proper subsets */
        for (int t = 0; t < all; t++)
            if (set >> t & 1)
                best = larger(best, larger(cut[set ^ (size_t)1 << t], alone[set ^ (size_t)1 << t]));
        cut[set] = best;
    }
    for (size_t set = subsets - 1; set > 0; set--)
        cut[set] = larger(alone[0] - sites->price_cut, cut[set] - sites->price_some);
}

/* The same with the tolerance that explains the sites best. One that is not zero has a price. */
static double score_tolerant(Work *work, const double *alone, const double *cut, const double *likelihood,
                             const double *parameters_of, const double *variance, size_t stride, ptrdiff_t *list,
                             int64_t *labels, int64_t *room, double *tau)
{
    const Sites *sites = work->sites;
    double best = -HUGE_VAL;
    for (ptrdiff_t t = 0; t < sites->tolerances; t++) {
        work->tau = sites->tolerance[t];
        double found = score_family(work, alone, cut, likelihood, parameters_of, variance, stride, list, room) -
                       (work->tau > 0.0 ? sites->price_tolerance : 0.0);
        if (found > best) {
            best = found;
            *tau = work->tau;
            if (labels)
                memcpy(labels, room, (size_t)sites->count * sizeof(int64_t));
        }
    }
    return best;
}

/* Scores of a node for its `fixed` first parents joined with every subset of the `open` others. Sets that are not in
   `wanted`, if it is given, are passed over. If labels are wanted: of every site, in each set, the group it is in; and
   the tolerance. */
int mechanism_scores(const Sites *sites, int64_t node, const int64_t *parents, int fixed, int open,
                     const uint8_t *wanted, double *out, int64_t *labels, double *taus)
{
    int all = fixed + open, fault = 0;
    Work work = {.sites = sites, .node = node};
    ptrdiff_t widest = 1, count = sites->count;
    work.own = (ptrdiff_t)(sites->first[node + 1] - sites->first[node]);
    work.parts = sites->spread[node] ? 1 : work.own;
    for (int t = 0; t < all; t++)
        widest += (ptrdiff_t)(sites->first[parents[t] + 1] - sites->first[parents[t]]);
    widest += work.own;
    if (all > MOST_BLOCKS || widest > MOST_COLUMNS)
        return OUT_OF_RANGE;
    size_t subsets = (size_t)1 << all, cells = (size_t)count * subsets;
    double *room = malloc(cells * (4 + (size_t)work.own) * sizeof(double));
    ptrdiff_t *list = malloc((size_t)count * (sizeof(ptrdiff_t) + sizeof(int64_t)));
    if (!room || !list || make_work(&work, widest)) {
        fault = NO_MEMORY;
        goto done;
    }
    int64_t *groups = (int64_t *)(list + count);
    double *alone = room, *cut = alone + cells, *likelihood = cut + cells, *parameters_of = likelihood + cells;
    double *variance = parameters_of + cells;
    for (size_t set = 0; set < subsets; set++) {
        choose(&work, parents, all, set);
        for (ptrdiff_t k = 0; k < count; k++) {
            size_t at = (size_t)k * subsets + set;
            if (sites->constant[k * sites->variables + node])
                continue;
            likelihood[at] = fit_alone(&work, k, parameters_of + at, variance + at * (size_t)work.own);
            alone[at] = likelihood[at] - 0.5 * parameters_of[at] * log(sites->n[k]);
            if (sites->n[k] < 2.0 * (double)(work.regressors + work.own)) {
                alone[at] = TOO_FEW; /* it could fit anything: its spread is that without parents */
                likelihood[at] = likelihood[(size_t)k * subsets];
                memcpy(variance + at * (size_t)work.own, variance + (size_t)k * subsets * (size_t)work.own,
                       (size_t)work.own * sizeof(double));
            }
        }
    }
    for (ptrdiff_t k = 0; k < count; k++)
        if (!sites->constant[k * sites->variables + node])
            cut_off(sites, alone + (size_t)k * subsets, cut + (size_t)k * subsets, subsets, all);
    size_t always = ((size_t)1 << fixed) - 1;
    for (size_t at = 0; at < (size_t)1 << open; at++) {
        size_t set = at << fixed | always;
        double tau = 0.0;
        out[at] = -HUGE_VAL;
        if (wanted && !wanted[at])
            continue;
        choose(&work, parents, all, set);
        out[at] = score_tolerant(&work, alone + set, cut + set, likelihood + set, parameters_of + set,
                                 variance + set * (size_t)work.own, subsets, list,
                                 labels ? labels + at * (size_t)count : NULL, groups, &tau);
        if (taus)
            taus[at] = tau;
    }
done:
    free(room);
    free(list);
    forget_work(&work);
    return fault;
}
