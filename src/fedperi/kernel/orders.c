/* Where the variables of an order would best stand, and moving them: see `search/orders.py`, which does the same with
   numpy. A lattice has an index, which says which of its variables come before its node. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two scores that are minus infinity, for want of a required parent, do not differ. */
static double difference(double a, double b) { return a == b ? 0.0 : a - b; }

static double best_score(const Order *order, int64_t node)
{
    double best = -HUGE_VAL;
    for (int64_t l = order->first[node]; l < order->first[node + 1]; l++) {
        double score = order->score[order->at[l]];
        best = score > best ? score : best;
    }
    return best;
}

/* What each head would lose or win if the variable stood on its other side, at its place. */
static void passed(const Order *order, int64_t node, double *lost)
{
    int64_t pair = order->tail_first[node], end = order->tail_first[node + 1];
    while (pair < end) {
        int64_t head = order->head[pair];
        int before = order->place[node] < order->place[head];
        double other = -HUGE_VAL;
        for (; pair < end && order->head[pair] == head; pair++) {
            int64_t l = order->lattice[pair], bit = order->bit[l * order->p + node];
            double score = order->score[order->at[l] + (before ? -bit : bit)];
            other = score > other ? score : other;
        }
        lost[order->place[head] + 1] = fabs(difference(order->value[head], other));
    }
}

/* For each of some variables: what its best place would gain, the first of those within `resolution`, and behind whom
   that is; -1 is the first place of all. */
int best_places(const Order *order, const int64_t *some, ptrdiff_t count, double resolution, double *gains,
                int64_t *behind)
{
    ptrdiff_t p = order->p;
    double *value = malloc(2 * (size_t)(p + 1) * sizeof(double)), *lost = value + p + 1;
    if (!value)
        return NO_MEMORY;
    for (ptrdiff_t at = 0; at < count; at++) {
        int64_t node = some[at];
        for (ptrdiff_t place = 0; place <= p; place++) {
            value[place] = -HUGE_VAL;
            lost[place] = 0.0;
        }
        for (int64_t l = order->first[node]; l < order->first[node + 1]; l++) {
            const int64_t *bit = order->bit + l * p;
            int64_t index = order->begin[l];
            for (ptrdiff_t place = 0;; place++) {
                value[place] = order->score[index] > value[place] ? order->score[index] : value[place];
                if (place == p)
                    break;
                index += bit[order->nodes[place]];
            }
        }
        passed(order, node, lost);
        double sum = 0.0, most = -HUGE_VAL;
        for (ptrdiff_t place = 0; place <= p; place++) {
            sum += lost[place];
            value[place] -= sum;
            most = value[place] > most ? value[place] : most;
        }
        ptrdiff_t best = 0;
        while (value[best] < most - resolution)
            best++;
        gains[at] = difference(value[best], value[order->place[node]]);
        behind[at] = best > 0 ? order->nodes[best - 1] : -1;
    }
    free(value);
    return 0;
}

/* Put a variable at a place. With `stale`, mark those whose best place may be another one now: the variable, the nodes
   that have other candidates before them, and the candidates of both. */
static void put(const Order *order, int64_t node, int64_t to, uint8_t *stale)
{
    ptrdiff_t p = order->p;
    int64_t from = order->place[node], step = to > from ? 1 : -1;
    for (int64_t place = from; place != to; place += step) {
        int64_t other = order->nodes[place + step];
        order->nodes[place] = other;
        order->place[other] = place;
        for (int64_t l = order->first[node]; l < order->first[node + 1]; l++)
            order->at[l] += step * order->bit[l * p + other];
        if (!order->candidates[other * p + node])
            continue;
        for (int64_t l = order->first[other]; l < order->first[other + 1]; l++)
            order->at[l] -= step * order->bit[l * p + node];
        order->value[other] = best_score(order, other);
        if (stale) {
            stale[other] = 1;
            for (ptrdiff_t v = 0; v < p; v++)
                stale[v] |= order->candidates[other * p + v];
        }
    }
    order->nodes[to] = node;
    order->place[node] = to;
    order->value[node] = best_score(order, node);
    if (stale) {
        stale[node] = 1;
        for (ptrdiff_t v = 0; v < p; v++)
            stale[v] |= order->candidates[node * p + v];
    }
}

int move(const Order *order, int64_t node, int64_t to, uint8_t *stale)
{
    if (node < 0 || node >= order->p || to < 0 || to >= order->p)
        return OUT_OF_RANGE;
    put(order, node, to, stale);
    return 0;
}

static double total(const Order *order)
{
    double sum = 0.0;
    for (ptrdiff_t node = 0; node < order->p; node++)
        sum += order->value[node];
    return sum;
}

/* Let some variables move behind others, one after the other; one that no longer gains then moves back. */
int move_in_turn(const Order *order, const int64_t *some, const int64_t *behind, ptrdiff_t count, double resolution,
                 uint8_t *stale)
{
    ptrdiff_t p = order->p;
    uint8_t *affected = malloc((size_t)p);
    if (!affected)
        return NO_MEMORY;
    for (ptrdiff_t at = 0; at < count; at++) {
        int64_t node = some[at], back = order->place[node];
        int64_t to = behind[at] >= 0 ? order->place[behind[at]] + 1 : 0;
        double score = total(order);
        memset(affected, 0, (size_t)p);
        put(order, node, to - (to > back), affected);
        if (total(order) > score + resolution)
            for (ptrdiff_t v = 0; v < p; v++)
                stale[v] |= affected[v];
        else
            put(order, node, back, NULL);
    }
    free(affected);
    return 0;
}
