/* Best positions of variables in an order, and moves to them. `search/orders.py` does the same with numpy. `at` is the
   position in each lattice: the set of its variables that come before its node. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The difference of two scores. It is zero if both are minus infinity because a required parent is missing. */
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

/* Compute the loss of each head if the variable moved to its other side, at index `place[head] + 1`. */
static void losses_of_heads(const Order *order, int64_t node, double *lost)
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

/* The best score of a node if one more variable came before it. `at` holds its positions in its lattices, and is
   updated. */
static double with_another(const Order *order, int64_t node, int64_t other, int64_t *at)
{
    double best = -HUGE_VAL;
    for (int64_t l = order->first[node]; l < order->first[node + 1]; l++) {
        *at += order->bit[l * order->p + other];
        double score = order->score[*at++];
        best = score > best ? score : best;
    }
    return best;
}

/* Gain of the best position of a variable (the first of those within `resolution`), and the variable before it.

   Only the first position and those just after its candidates are compared. At any other position its possible parents
   are the same as one position earlier, and the nodes that it passes can only lose. */
static double best_place(const Order *order, int64_t node, double resolution, double *lost, double *value, int64_t *place,
                         int64_t *at, int64_t *behind)
{
    ptrdiff_t p = order->p, count = 1;
    const uint8_t *candidates = order->candidates + node * p;
    double score = -HUGE_VAL, sum = 0.0, now = 0.0, most;
    memset(lost, 0, (size_t)(p + 1) * sizeof(double));
    losses_of_heads(order, node, lost);
    for (int64_t l = order->first[node]; l < order->first[node + 1]; l++) {
        int64_t begin = order->begin[l];
        at[l - order->first[node]] = begin;
        score = order->score[begin] > score ? order->score[begin] : score;
    }
    most = value[0] = score;
    place[0] = 0;
    for (ptrdiff_t here = 0; here < p; here++) {
        if (here == order->place[node])
            now = score - sum;
        sum += lost[here + 1];
        if (!candidates[order->nodes[here]])
            continue;
        score = with_another(order, node, order->nodes[here], at);
        value[count] = score - sum;
        place[count] = here + 1;
        most = value[count] > most ? value[count] : most;
        count++;
    }
    ptrdiff_t best = 0;
    while (value[best] < most - resolution)
        best++;
    *behind = place[best] > 0 ? order->nodes[place[best] - 1] : -1;
    return difference(value[best], now);
}

/* The same for some variables: their gains, and the variables before their best positions (-1: the first one). */
int best_places(const Order *order, const int64_t *some, ptrdiff_t count, double resolution, double *gains,
                int64_t *behind)
{
    size_t places = (size_t)order->p + 1, lattices = (size_t)order->first[order->p];
    double *lost = malloc(2 * places * sizeof(double));
    int64_t *place = malloc((places + lattices) * sizeof(int64_t));
    int fault = lost && place ? 0 : NO_MEMORY;
    for (ptrdiff_t at = 0; at < count && !fault; at++)
        gains[at] = best_place(order, some[at], resolution, lost, lost + places, place, place + places, behind + at);
    free(lost);
    free(place);
    return fault;
}

/* Move a variable to a position. With `stale`, mark the variables whose best position may have changed: the variable,
   the nodes that now have other candidates before them, and the candidates of both. */
static void move_to(const Order *order, int64_t node, int64_t to, uint8_t *stale)
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
    move_to(order, node, to, stale);
    return 0;
}

static double total(const Order *order)
{
    double sum = 0.0;
    for (ptrdiff_t node = 0; node < order->p; node++)
        sum += order->value[node];
    return sum;
}

/* Move some variables, one at a time, to just after others. A variable that does not gain is moved back. */
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
        move_to(order, node, to - (to > back), affected);
        if (total(order) > score + resolution)
            for (ptrdiff_t v = 0; v < p; v++)
                stale[v] |= affected[v];
        else
            move_to(order, node, back, NULL);
    }
    free(affected);
    return 0;
}
