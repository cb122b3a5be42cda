/* Sums over all DAGs, and samples of DAGs: the loops of search/layers.py and search/chains.py, which explain them. */

#include "loops.h"

#include <string.h>

#define LANES 8 /* partial sums of a dot product, in parallel */

/* Two to a power that is zero or negative. The result is zero if it is too small for a double. */
static inline double two_to(int64_t power)
{
    union {
        uint64_t bits;
        double value;
    } number = {power < -1022 ? 0 : (uint64_t)(power + 1023) << 52};
    return number.value;
}

/* Replace the weight of each set, value * 2^power, by the sum over its subsets. */
void subset_sums(double *value, int64_t *power, size_t sets)
{
    for (size_t step = 1; step < sets; step *= 2)
        for (size_t s = 0; s < sets; s++) {
            size_t one = s ^ step;
            if (!(s & step))
                continue;
            if (power[one] > power[s]) {
                value[s] = value[one] + value[s] * two_to(power[s] - power[one]);
                power[s] = power[one];
            } else
                value[s] = value[one] * two_to(power[one] - power[s]) + value[s];
        }
}

typedef struct {
    ptrdiff_t p;
    const double *sum;          /* [set, node]: summed weights of the parent sets within a set, divided by 2^power */
    const int64_t *power;       /* [set, node] */
    const int64_t *best;        /* [set]: power of the best DAG on a set */
    size_t three[MOST_LAYERED]; /* powers of three: a state has one digit per variable */
    size_t *code;               /* [set]: the state in which the variables of a set have digit 1 */
    size_t *spread, *then;      /* by subset of the variables left: twice its code; its union with those placed */
    double *factor;             /* by subset of the variables left: 2^(best here + powers of the subset - best there) */
    double *product, *fold;     /* by subset of the variables left */
    int64_t *powers;
    double own[MOST_LAYERED]; /* of each variable left: weight of the parent sets that intersect the last layer */
    int left[MOST_LAYERED];
    int count;
} Layers;

/* Prepare for all layers that may follow the set `placed` of variables. */
static void prepare_next_layers(Layers *layers, size_t placed)
{
    const int64_t *power = layers->power + placed * (size_t)layers->p;
    size_t sets = 1;
    layers->count = 0;
    layers->spread[0] = 0;
    layers->powers[0] = layers->best[placed];
    layers->then[0] = placed;
    for (int v = 0; v < layers->p; v++) {
        if (placed >> v & 1)
            continue;
        layers->left[layers->count++] = v;
        for (size_t s = 0; s < sets; s++) {
            layers->spread[sets + s] = layers->spread[s] + 2 * layers->three[v];
            layers->powers[sets + s] = layers->powers[s] + power[v];
            layers->then[sets + s] = layers->then[s] | (size_t)1 << v;
        }
        sets *= 2;
    }
    for (size_t s = 0; s < sets; s++) /* zero where no DAG is allowed: NO_POWER is a summand */
        layers->factor[s] =
            layers->powers[s] < NO_POWER / 2 ? 0.0 : two_to(layers->powers[s] - layers->best[layers->then[s]]);
}

/* Weight of the parent sets of a variable within `placed` that are not within `earlier`. */
static inline double weight_of(const Layers *layers, size_t placed, size_t earlier, int v)
{
    size_t here = placed * (size_t)layers->p + (size_t)v, there = earlier * (size_t)layers->p + (size_t)v;
    double rest = layers->sum[here] - layers->sum[there] * two_to(layers->power[there] - layers->power[here]);
    return rest > 0.0 ? rest : 0.0;
}

static void compute_weights(Layers *layers, size_t placed, size_t earlier)
{
    for (int t = 0; t < layers->count; t++)
        layers->own[t] = weight_of(layers, placed, earlier, layers->left[t]);
}

/* For each subset of the first `count` variables, multiply their weights, times product[0]. */
VECTORS static void multiply(double *restrict product, const double *own, int count)
{
    size_t sets = 1;
    for (int t = 0; t < count; t++, sets *= 2)
        for (size_t s = 0; s < sets; s++)
            product[sets + s] = product[s] * own[t];
}

VECTORS static void add(double *restrict to, const double *restrict from, size_t count)
{
    for (size_t s = 0; s < count; s++)
        to[s] += from[s];
}

/* Sum coefficient times product of weights over all subsets. Process one variable at a time, the last one first. Level
   t has 2^t sums and begins at fold + 2^t; the last level holds the coefficients. */
VECTORS static double sum_up(double *fold, const double *own, int count)
{
    for (int t = count - 1; t >= 0; t--) {
        size_t sets = (size_t)1 << t;
        double *restrict to = fold + sets;
        const double *restrict from = fold + 2 * sets;
        for (size_t s = 0; s < sets; s++)
            to[s] = from[s] + own[t] * from[sets + s];
    }
    return fold[1];
}

VECTORS static double dot(const double *restrict a, const double *restrict b, size_t count)
{
    double sums[LANES] = {0.0}, total = 0.0;
    if (count < LANES) {
        for (size_t s = 0; s < count; s++)
            total += a[s] * b[s];
        return total;
    }
    for (size_t s = 0; s < count; s += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += a[s + lane] * b[s + lane];
    for (size_t lane = 0; lane < LANES; lane++)
        total += sums[lane];
    return total;
}

/* For each state, sum over all sequences of layers that lead to it. */
static void sum_before(Layers *layers, double *before)
{
    size_t all = ((size_t)1 << layers->p) - 1;
    double *row = layers->fold;
    for (size_t placed = 0; placed < all; placed++) {
        prepare_next_layers(layers, placed);
        size_t sets = (size_t)1 << layers->count;
        memset(row, 0, sets * sizeof(double));
        for (size_t last = placed; last || !placed; last = (last - 1) & placed) {
            double state = placed ? before[layers->code[placed ^ last] + 2 * layers->code[last]] : 1.0;
            if (state > 0.0) {
                if (placed)
                    compute_weights(layers, placed, placed ^ last);
                else
                    for (int t = 0; t < layers->count; t++)
                        layers->own[t] = layers->sum[layers->left[t]];
                layers->product[0] = state;
                multiply(layers->product, layers->own, layers->count);
                add(row, layers->product, sets);
            }
            if (!placed)
                break;
        }
        for (size_t s = 1; s < sets; s++)
            before[layers->code[placed] + layers->spread[s]] = row[s] * layers->factor[s];
    }
}

/* For each state, sum over all sequences of layers that may follow it. From these sums, add up the weights of all DAGs
   that have a node in the next layer. Return the total weight. */
static double sum_after(Layers *layers, const double *before, double *after, double *within, double *earlier)
{
    size_t p = (size_t)layers->p, all = ((size_t)1 << p) - 1;
    double total = 0.0;
    for (size_t last = all; last; last = (last - 1) & all) {
        after[layers->code[all ^ last] + 2 * layers->code[last]] = 1.0;
        total += before[layers->code[all ^ last] + 2 * layers->code[last]];
    }
    for (size_t placed = all; placed-- > 1;) {
        prepare_next_layers(layers, placed);
        size_t sets = (size_t)1 << layers->count;
        double *next = layers->fold + sets;
        next[0] = 0.0; /* a layer is not empty */
        for (size_t s = 1; s < sets; s++)
            next[s] = layers->factor[s] * after[layers->code[placed] + layers->spread[s]];
        for (size_t last = placed; last; last = (last - 1) & placed) {
            size_t sooner = placed ^ last, state = layers->code[sooner] + 2 * layers->code[last];
            after[state] = 0.0;
            if (!(before[state] > 0.0))
                continue; /* no DAG reaches this state */
            compute_weights(layers, placed, sooner);
            after[state] = sum_up(layers->fold, layers->own, layers->count);
            layers->product[0] = before[state];
            multiply(layers->product, layers->own, layers->count - 1);
            for (int t = 0; t < layers->count; t++) {
                size_t half = (size_t)1 << t, here = placed * p + (size_t)layers->left[t],
                       there = sooner * p + (size_t)layers->left[t];
                double weight = dot(layers->product, layers->fold + 3 * half, half);
                within[here] += weight;
                earlier[there] += weight * two_to(layers->power[there] - layers->power[here]);
            }
        }
    }
    return total;
}

static void free_layers(Layers *layers)
{
    free(layers->code);
    free(layers->spread);
    free(layers->then);
    free(layers->powers);
    free(layers->factor);
    free(layers->product);
    free(layers->fold);
}

static int allocate_layers(Layers *layers, ptrdiff_t p)
{
    size_t sets = (size_t)1 << p, three = 1;
    layers->p = p;
    layers->code = malloc(sets * sizeof(size_t));
    layers->spread = malloc(sets * sizeof(size_t));
    layers->then = malloc(sets * sizeof(size_t));
    layers->powers = malloc(sets * sizeof(int64_t));
    layers->factor = malloc(sets * sizeof(double));
    layers->product = malloc(sets * sizeof(double));
    layers->fold = malloc(2 * sets * sizeof(double));
    if (!layers->code || !layers->spread || !layers->then || !layers->powers || !layers->factor || !layers->product ||
        !layers->fold)
        return NO_MEMORY;
    layers->code[0] = 0;
    for (ptrdiff_t v = 0; v < p; v++, three *= 3) {
        layers->three[v] = three;
        for (size_t s = 0; s < (size_t)1 << v; s++)
            layers->code[((size_t)1 << v) + s] = layers->code[s] + three;
    }
    return 0;
}

/* Compute the total weight of all DAGs, divided by 2^best[all variables], and the factors of the parent sets within a
   set: `within` if the set is all layers so far, `earlier` if it is all layers before the last one. Both are [set,
   node]. */
int layers(ptrdiff_t p, const double *sum, const int64_t *power, const int64_t *best, double *within, double *earlier,
           double *total)
{
    Layers work = {.sum = sum, .power = power, .best = best};
    size_t states = 1;
    for (ptrdiff_t v = 0; v < p; v++)
        states *= 3;
    double *before = malloc(states * sizeof(double)), *after = malloc(states * sizeof(double));
    int fault = allocate_layers(&work, p);
    if (!before || !after)
        fault = NO_MEMORY;
    if (!fault) {
        sum_before(&work, before);
        *total = sum_after(&work, before, after, within, earlier);
    }
    free_layers(&work);
    free(before);
    free(after);
    return fault;
}

/* -- samples of DAGs ----------------------------------------------------------------------------------------------- */

#define MOST_STATES 729 /* three to the power of MOST_REDRAWN */
#define BLOCK_SETS 64   /* two to the power of MOST_REDRAWN */
#define LINE 16         /* sets that are compared in parallel */

typedef struct {
    const Chain *chain;
    uint64_t random[4];
    int64_t *child;    /* [node, place]: children of a node */
    int64_t *children; /* by node: number of its children */
    int64_t *open;     /* nodes to visit */
    int64_t *seen;     /* by node: number of the last visit */
    int64_t *from;     /* by node: bit set of the nodes of a block from which the visit came */
    int64_t visit;
    int64_t *below;    /* [node, word]: bit set of a node and its descendants */
    int64_t *turn;     /* by node: child to visit next; -1 if all were visited */
    size_t words;      /* number of words of a bit set of nodes */
    int32_t *set;      /* the sets of `chain`, those of each node padded to whole lines */
    int64_t block[MOST_REDRAWN];
    int64_t within[MOST_REDRAWN][BLOCK_SETS]; /* by set of nodes placed so far: allowed parents of a node */
    double sum[BLOCK_SETS * MOST_REDRAWN], before[MOST_STATES];
    int64_t power[BLOCK_SETS * MOST_REDRAWN], best[BLOCK_SETS];
    Layers layers[MOST_REDRAWN + 1]; /* [size of the block] */
} Walk;

static inline uint64_t rotated(uint64_t word, int by) { return word << by | word >> (64 - by); }

/* Draw a number from 0 to 1 with xoshiro256++ (Blackman and Vigna, 2021). */
static double uniform(uint64_t *state)
{
    uint64_t word = rotated(state[0] + state[3], 23) + state[0], shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotated(state[3], 45);
    return (double)(word >> 11) * 0x1p-53;
}

static void add_to_parents(Walk *walk, int64_t node, int64_t parents)
{
    const int64_t *free_ = walk->chain->free + walk->chain->first[node];
    for (; parents; parents >>= 1, free_++)
        if (parents & 1)
            walk->child[*free_ * walk->chain->p + walk->children[*free_]++] = node;
}

static void remove_from_parents(Walk *walk, int64_t node, int64_t parents)
{
    const int64_t *free_ = walk->chain->free + walk->chain->first[node];
    for (; parents; parents >>= 1, free_++)
        if (parents & 1) {
            int64_t *child = walk->child + *free_ * walk->chain->p, last = --walk->children[*free_], at = 0;
            while (child[at] != node)
                at++;
            child[at] = child[last];
        }
}

/* Add `mark` to a node of a block and all its descendants. */
static void mark_descendants(Walk *walk, int64_t node, int64_t mark)
{
    ptrdiff_t open = 0;
    walk->open[open++] = node;
    while (open) {
        int64_t v = walk->open[--open];
        if (walk->seen[v] != walk->visit) {
            walk->seen[v] = walk->visit;
            walk->from[v] = 0;
        }
        if (walk->from[v] & mark)
            continue;
        walk->from[v] |= mark;
        const int64_t *child = walk->child + v * walk->chain->p;
        for (int64_t at = 0; at < walk->children[v]; at++)
            if (walk->seen[child[at]] != walk->visit || !(walk->from[child[at]] & mark))
                walk->open[open++] = child[at];
    }
}

/* Find the allowed parents of each node of a block, for every set of nodes of the block that are placed before it. */
static void find_allowed_parents(Walk *walk, int count)
{
    const Chain *chain = walk->chain;
    int64_t sets = (int64_t)1 << count;
    walk->visit++;
    for (int at = 0; at < count; at++)
        mark_descendants(walk, walk->block[at], (int64_t)1 << at);
    for (int at = 0; at < count; at++) {
        int64_t *within = walk->within[at], bit = 1;
        memset(within, 0, (size_t)sets * sizeof(int64_t));
        for (int64_t c = chain->first[walk->block[at]]; c < chain->first[walk->block[at] + 1]; c++, bit <<= 1) {
            int64_t v = chain->free[c];
            within[walk->seen[v] == walk->visit ? walk->from[v] : 0] |= bit;
        }
        for (int64_t step = 1; step < sets; step *= 2)
            for (int64_t s = step; s < sets; s += 2 * step)
                for (int64_t t = s; t < s + step; t++)
                    within[t] |= within[t - step];
    }
}

static int draw_index(Walk *walk, const double *weight, int count)
{
    double total = 0.0;
    int last = -1;
    for (int at = 0; at < count; at++)
        total += weight[at];
    double wanted = uniform(walk->random) * total, sum = 0.0;
    for (int at = 0; at < count && sum <= wanted; at++)
        if (weight[at] > 0.0) {
            last = at;
            sum += weight[at];
        }
    return last;
}

/* Find the first line that has a set without elements in `outside`. */
VECTORS static int64_t next_line(const int32_t *set, int64_t line, int64_t lines, int32_t outside)
{
    for (; line < lines; line++) {
        const int32_t *own = set + line * LINE;
        int32_t found = 0;
        for (int at = 0; at < LINE; at++)
            found |= (own[at] & outside) == 0;
        if (found)
            break;
    }
    return line;
}

/* Add up the weights of the sets that are within `within` but not within `other`, the best first, until the sum exceeds
   `wanted`. Weights are relative to 2^power. Return the last set that was added; -1 if there is none. */
static int64_t scan(const Walk *walk, int64_t node, int64_t within, int64_t other, int64_t power, double wanted,
                    double *sum)
{
    const Chain *chain = walk->chain;
    int64_t last = -1, begin = chain->set_first[node], count = chain->set_first[node + 1] - begin;
    const int32_t *sets = walk->set + begin + node * LINE; /* the sets of each node are padded */
    int32_t outside = (int32_t)~within;
    *sum = 0.0;
    for (int64_t line = 0; line * LINE < count && *sum <= wanted; line++) {
        line = next_line(sets, line, (count + LINE - 1) / LINE, outside);
        for (int64_t at = line * LINE; at < line * LINE + LINE && at < count && *sum <= wanted; at++) {
            int32_t set = sets[at];
            if (set & outside || (other >= 0 && !(set & (int32_t)~other)))
                continue;
            double weight = chain->set_value[begin + at] * two_to(chain->set_power[begin + at] - power);
            if (weight > 0.0) {
                last = set;
                *sum += weight;
            }
        }
    }
    return last;
}

/* Draw a parent set that is within `within` but not within `other` (if this is not -1). Return -1 if there is none. A
   few sets have most of the weight, so the scan is short. */
static int64_t draw_parents(Walk *walk, int64_t node, int64_t within, int64_t other)
{
    const Chain *chain = walk->chain;
    int64_t here = chain->begin[node] + within, there = chain->begin[node] + other, power = chain->power[here];
    double chance = uniform(walk->random), total = chain->value[here], sum;
    if (other >= 0)
        total -= chain->value[there] * two_to(chain->power[there] - power);
    int64_t set = scan(walk, node, within, other, power, chance * total, &sum);
    /* If rounding made the total too large, draw again from the sum that was found. */
    return sum > chance * total ? set : scan(walk, node, within, other, power, chance * sum, &sum);
}

/* Choose a block of nodes that are near each other. The choice does not depend on the DAG. Return their number. */
static int choose_block(Walk *walk, int64_t *block)
{
    const Chain *chain = walk->chain;
    double wanted = uniform(walk->random);
    int size = 1, count = 1;
    while (size < MOST_REDRAWN && wanted >= chain->sizes[size - 1])
        size++;
    block[0] = (int64_t)(uniform(walk->random) * (double)chain->p);
    for (int turn = 1; turn < size; turn++) {
        int64_t by = block[(int)(uniform(walk->random) * (double)count)], at = chain->near_first[by], other = 0;
        double step = uniform(walk->random);
        if (at == chain->near_first[by + 1])
            continue;
        while (at < chain->near_first[by + 1] - 1 && chain->reach[at] <= step)
            at++;
        while (other < count && block[other] != chain->near[at])
            other++;
        if (other == count)
            block[count++] = chain->near[at];
    }
    return count;
}

/* Sum over all ways to choose the parents of the nodes of a block. `before` gets the sums by state. */
static void sum_block(Walk *walk, int count)
{
    const Chain *chain = walk->chain;
    Layers *layers = &walk->layers[count];
    size_t sets = (size_t)1 << count, k = (size_t)count;
    layers->sum = walk->sum;
    layers->power = walk->power;
    layers->best = walk->best;
    for (size_t s = 0; s < sets; s++) {
        walk->best[s] = s ? NO_POWER : 0;
        for (size_t at = 0; at < k; at++) {
            size_t without = s ^ (size_t)1 << at;
            if (s >> at & 1) {
                int64_t power = walk->best[without] + walk->power[without * k + at];
                walk->best[s] = power > walk->best[s] ? power : walk->best[s];
                continue;
            }
            int64_t place = chain->begin[walk->block[at]] + walk->within[at][s];
            walk->sum[s * k + at] = chain->value[place];
            walk->power[s * k + at] = chain->power[place];
        }
        if (walk->best[s] < NO_POWER / 2)
            walk->best[s] = NO_POWER;
    }
    sum_before(layers, walk->before);
}

/* Draw the layers of a block, from the last one to the first. For each node, write `within` and `other` for
   `draw_parents`. Return 0 if no layer has a positive weight. */
static int draw_layers(Walk *walk, int count, int64_t *within, int64_t *other)
{
    const Layers *layers = &walk->layers[count];
    double weight[BLOCK_SETS];
    size_t placed = ((size_t)1 << count) - 1, next = 0;
    while (placed) {
        memset(weight, 0, (placed + 1) * sizeof(double));
        for (size_t last = placed; last; last = (last - 1) & placed) {
            weight[last] = walk->before[layers->code[placed ^ last] + 2 * layers->code[last]];
            for (int at = 0; at < count && weight[last] > 0.0; at++)
                if (next >> at & 1)
                    weight[last] *= weight_of(layers, placed, placed ^ last, at);
        }
        int last = draw_index(walk, weight, (int)placed + 1);
        if (last < 0)
            return 0;
        for (int at = 0; at < count; at++)
            if (next >> at & 1) {
                within[at] = walk->within[at][placed];
                other[at] = walk->within[at][placed ^ (size_t)last];
            }
        next = (size_t)last;
        placed ^= next;
    }
    for (int at = 0; at < count; at++)
        if (next >> at & 1) {
            within[at] = walk->within[at][0];
            other[at] = -1;
        }
    return 1;
}

/* Redraw the parents of the nodes of a block, given the parents of all other nodes. */
static void redraw(Walk *walk)
{
    int64_t within[MOST_REDRAWN], other[MOST_REDRAWN], found[MOST_REDRAWN], *now = walk->chain->now;
    int count = choose_block(walk, walk->block), good = 1;
    for (int at = 0; at < count; at++)
        remove_from_parents(walk, walk->block[at], now[walk->block[at]]);
    find_allowed_parents(walk, count);
    if (count > 1) {
        sum_block(walk, count);
        good = draw_layers(walk, count, within, other);
    } else {
        within[0] = walk->within[0][0];
        other[0] = -1;
    }
    for (int at = 0; at < count && good; at++) {
        found[at] = draw_parents(walk, walk->block[at], within[at], other[at]);
        good = found[at] >= 0;
    }
    for (int at = 0; at < count; at++) {
        if (good) /* always true, except after rounding errors */
            now[walk->block[at]] = found[at];
        add_to_parents(walk, walk->block[at], now[walk->block[at]]);
    }
}

/* Collect the descendants of each node, after those of its children. */
static void collect_descendants(Walk *walk)
{
    ptrdiff_t p = walk->chain->p;
    size_t words = walk->words;
    memset(walk->turn, 0, (size_t)p * sizeof(int64_t));
    memset(walk->below, 0, (size_t)p * words * sizeof(int64_t));
    for (ptrdiff_t start = 0; start < p; start++) {
        ptrdiff_t open = 0;
        if (walk->turn[start] >= 0)
            walk->open[open++] = start;
        while (open) {
            int64_t v = walk->open[open - 1], *own = walk->below + v * (int64_t)words;
            if (walk->turn[v] < walk->children[v]) {
                int64_t child = walk->child[v * p + walk->turn[v]++];
                if (walk->turn[child] >= 0)
                    walk->open[open++] = child;
                continue;
            }
            own[v / 64] = (int64_t)((uint64_t)own[v / 64] | (uint64_t)1 << (v % 64));
            for (int64_t at = 0; at < walk->children[v]; at++) {
                const int64_t *child = walk->below + walk->child[v * p + at] * (int64_t)words;
                for (size_t word = 0; word < words; word++)
                    own[word] |= child[word];
            }
            walk->turn[v] = -1;
            open--;
        }
    }
}

/* Add the probability of each candidate parent of each node, given the parents of all other nodes, to `sums`. */
static void record(Walk *walk)
{
    const Chain *chain = walk->chain;
    collect_descendants(walk);
    for (int64_t node = 0; node < chain->p; node++) {
        const int64_t *below = walk->below + node * (int64_t)walk->words;
        int64_t within = 0, bit = 1;
        for (int64_t c = chain->first[node]; c < chain->first[node + 1]; c++, bit <<= 1) {
            int64_t v = chain->free[c];
            within |= (uint64_t)below[v / 64] >> (v % 64) & 1 ? 0 : bit;
        }
        const double *value = chain->value + chain->begin[node];
        const int64_t *power = chain->power + chain->begin[node];
        double *sums = chain->sums + chain->first[node];
        bit = 1;
        for (int64_t left = within; left; left >>= 1, bit <<= 1, sums++)
            if (left & 1)
                *sums += 1.0 - value[within ^ bit] * two_to(power[within ^ bit] - power[within]) / value[within];
    }
}

/* Continue a chain for some sweeps. */
int chain(const Chain *chain, int64_t sweeps)
{
    size_t p = (size_t)chain->p;
    int fault = NO_MEMORY;
    Walk *walk = calloc(1, sizeof(Walk));
    if (!walk)
        return NO_MEMORY;
    walk->chain = chain;
    size_t sets = (size_t)chain->set_first[p];
    walk->words = (p + 63) / 64;
    walk->child = calloc(2 * p * p + 4 * p + p * walk->words, sizeof(int64_t)); /* `open` may list a node once
                                                                                   per edge */
    walk->set = calloc(sets + (p + 1) * LINE, sizeof(int32_t));
    for (int size = 2; size <= MOST_REDRAWN; size++)
        if (allocate_layers(&walk->layers[size], size))
            goto done;
    if (!walk->child || !walk->set)
        goto done;
    for (size_t node = 0; node < p; node++)
        for (int64_t at = chain->set_first[node]; at < chain->set_first[node + 1]; at++)
            walk->set[at + (int64_t)node * LINE] = (int32_t)chain->set[at];
    walk->children = walk->child + p * p;
    walk->seen = walk->children + p;
    walk->from = walk->seen + p;
    walk->turn = walk->from + p;
    walk->below = walk->turn + p;
    walk->open = walk->below + p * walk->words;
    memcpy(walk->random, chain->random, sizeof walk->random);
    for (int64_t node = 0; node < chain->p; node++)
        add_to_parents(walk, node, chain->now[node]);
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        for (size_t turn = 0; turn < p; turn++)
            redraw(walk);
        record(walk);
    }
    memcpy(chain->random, walk->random, sizeof walk->random);
    fault = 0;
done:
    for (int size = 2; size <= MOST_REDRAWN; size++)
        free_layers(&walk->layers[size]);
    free(walk->child);
    free(walk->set);
    free(walk);
    return fault;
}
