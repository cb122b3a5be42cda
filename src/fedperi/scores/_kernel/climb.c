/* Hill climbing over DAGs by BIC: add, remove or reverse the edge with the largest gain, until no change gains.

   Each node keeps a Cholesky factorisation of its parents, one row per parent in the order in which they were added, so
   that no step repeats a factorisation. `scores/regression.py` and `discovery/optimum.py` do the same with numpy. If
   variables are blocks of columns, a node whose parents change is factored again with each other variable. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ptrdiff_t size, room;
    int64_t *joined;    /* parents, in the order in which they were added */
    double *rows;       /* [parent, variable]: covariance with the residual of the parent, in units of its deviation */
    double *combined;   /* [parent, parent]: the residual of each parent, as a combination of the parents */
    double *squares;    /* sums of squares of each parent's coefficients in the rows */
    double *coefficient;
    double *over;       /* variance of every variable given the parents; infinite for variables that cannot be added */
    double *with_node;  /* covariance of every variable with the node, given the parents */
    double variance;    /* variance of the node given the parents */
    double score;
} Node;

typedef struct {
    const Table *table;
    const double *correlation;
    ptrdiff_t p, words;
    double n, price, singular;
    int wide;           /* whether some variable has more than one column */
    int64_t *columns;   /* only then: columns of a node and its parents, and the factor of their covariance */
    double *root;
    Node *nodes;
    double *gains;      /* [head, tail]: gain of adding or removing the edge */
    uint8_t *into;      /* [head, tail] */
    uint64_t *reaches;  /* [node]: descendants as a bit set, including the node */
    int64_t *best;      /* [head]: tail with the largest gain; -1 if it must be searched again */
} Climb;

static int has(const uint64_t *set, ptrdiff_t member) { return (int)(set[member >> 6] >> (member & 63) & 1); }

/* -- one node's regression ----------------------------------------------------------------------------------------- */

static void clear_parents(const Climb *climb, ptrdiff_t node)
{
    Node *self = climb->nodes + node;
    self->size = 0;
    self->variance = 1.0;
    for (ptrdiff_t v = 0; v < climb->p; v++)
        self->over[v] = 1.0;
    self->over[node] = HUGE_VAL;
    memcpy(self->with_node, climb->correlation + node * climb->p, (size_t)climb->p * sizeof(double));
}

static int reserve_parent(const Climb *climb, Node *self)
{
    if (self->size < self->room)
        return 0;
    ptrdiff_t room = self->room ? 2 * self->room : 8;
    double *rows = realloc(self->rows, (size_t)(room * climb->p) * sizeof(double));
    if (rows)
        self->rows = rows;
    double *combined = malloc((size_t)(room * room) * sizeof(double));
    double *squares = realloc(self->squares, (size_t)room * sizeof(double));
    if (squares)
        self->squares = squares;
    double *coefficient = realloc(self->coefficient, (size_t)room * sizeof(double));
    if (coefficient)
        self->coefficient = coefficient;
    int64_t *joined = realloc(self->joined, (size_t)room * sizeof(int64_t));
    if (joined)
        self->joined = joined;
    if (!rows || !combined || !squares || !coefficient || !joined) {
        free(combined);
        return NO_MEMORY;
    }
    for (ptrdiff_t r = 0; r < self->size; r++)
        memcpy(combined + r * room, self->combined + r * self->room, (size_t)self->size * sizeof(double));
    free(self->combined);
    self->combined = combined;
    self->room = room;
    return 0;
}

static int add_parent(const Climb *climb, ptrdiff_t node, int64_t other)
{
    Node *self = climb->nodes + node;
    if (reserve_parent(climb, self))
        return NO_MEMORY;
    ptrdiff_t p = climb->p, k = self->size, room = self->room;
    double *restrict row = self->rows + k * p, *restrict mix = self->combined + k * room;
    memcpy(row, climb->correlation + other * p, (size_t)p * sizeof(double));
    memset(mix, 0, (size_t)(k + 1) * sizeof(double));
    mix[k] = 1.0;
    for (ptrdiff_t r = 0; r < k; r++) {
        const double *earlier = self->rows + r * p, *earlier_mix = self->combined + r * room;
        double share = earlier[other];
        for (ptrdiff_t v = 0; v < p; v++)
            row[v] -= share * earlier[v];
        for (ptrdiff_t q = 0; q <= r; q++)
            mix[q] -= share * earlier_mix[q];
    }
    double scale = 1.0 / sqrt(self->over[other]), mine = row[node] * scale;
    for (ptrdiff_t v = 0; v < p; v++) {
        row[v] *= scale;
        self->over[v] -= row[v] * row[v];
        self->with_node[v] -= mine * row[v];
    }
    self->squares[k] = self->coefficient[k] = 0.0;
    for (ptrdiff_t q = 0; q <= k; q++) {
        mix[q] *= scale;
        self->squares[q] += mix[q] * mix[q];
        self->coefficient[q] += mine * mix[q];
    }
    self->over[other] = HUGE_VAL;
    self->variance -= mine * mine;
    self->joined[k] = other;
    self->size++;
    return 0;
}

static int remove_parent(const Climb *climb, ptrdiff_t node, int64_t other)
{
    Node *self = climb->nodes + node;
    ptrdiff_t size = self->size, stay = 0;
    for (ptrdiff_t at = 0; at < size; at++)
        if (self->joined[at] != other)
            self->joined[stay++] = self->joined[at];
    clear_parents(climb, node);
    for (ptrdiff_t at = 0; at < stay; at++) /* adding a parent writes to the position that is read */
        if (add_parent(climb, node, self->joined[at]))
            return NO_MEMORY;
    return 0;
}

/* Compute the gain of adding or removing each parent. Leave collinear columns and too few rows to the numpy code. */
static int gains_of_numbers(Climb *climb, ptrdiff_t head)
{
    Node *self = climb->nodes + head;
    double *gains = climb->gains + head * climb->p, singular = climb->singular;
    if (2 * (self->size + 2) > climb->n)
        return NOT_FOR_LOOPS;
    double more = climb->price * (double)(self->size + 1) + self->score;
    double fewer = climb->price * (double)(self->size - 1) + self->score;
    for (ptrdiff_t v = 0; v < climb->p; v++) {
        double residual = self->variance - self->with_node[v] * self->with_node[v] / self->over[v];
        if (!(self->over[v] > singular) || !(residual > singular))
            return NOT_FOR_LOOPS;
        gains[v] = residual;
    }
    for (ptrdiff_t v = 0; v < climb->p; v++)
        gains[v] = -climb->n / 2 * log(gains[v]) - more;
    for (ptrdiff_t q = 0; q < self->size; q++) {
        double residual = self->variance + self->coefficient[q] * self->coefficient[q] / self->squares[q];
        gains[self->joined[q]] = -climb->n / 2 * log(residual) - fewer;
    }
    return 0;
}

/* -- the same for blocks of columns -------------------------------------------------------------------------------- */

/* Score a head whose parents have the first `given` columns. Rows before `from` were factored before. */
static double factored_score(const Climb *climb, ptrdiff_t head, ptrdiff_t from, ptrdiff_t given, int *fault)
{
    const Table *table = climb->table;
    ptrdiff_t own = width_of(table, head), count = given + own;
    if (2.0 * (double)count > climb->n) /* too few rows to score the set */
        return -HUGE_VAL;
    append_columns(table, head, climb->columns + given);
    if (!(factor(table, climb->columns, from, count, climb->root, table->columns) > climb->singular))
        *fault = NOT_FOR_LOOPS;
    return *fault ? -HUGE_VAL : score_of(table, climb->root, count, table->columns, own);
}

static int gains_of_blocks(Climb *climb, ptrdiff_t head)
{
    const Table *table = climb->table;
    Node *self = climb->nodes + head;
    const uint8_t *inside = climb->into + head * climb->p;
    double *gains = climb->gains + head * climb->p;
    int fault = 0;
    int64_t *end = climb->columns;
    for (ptrdiff_t at = 0; at < self->size; at++)
        end = append_columns(table, self->joined[at], end);
    ptrdiff_t given = end - climb->columns;
    double score = factored_score(climb, head, 0, given, &fault);
    if (!(score > -HUGE_VAL)) /* a node that cannot be scored: left to the numpy code */
        return NOT_FOR_LOOPS;
    self->score = score;
    for (ptrdiff_t v = 0; v < climb->p && !fault; v++)
        if (v != head && !inside[v]) {
            append_columns(table, v, end);
            gains[v] = factored_score(climb, head, given, given + width_of(table, v), &fault) - score;
        }
    /* Begin with the last parent, so that the factor of the parents before it stays valid. */
    for (ptrdiff_t at = self->size - 1; at >= 0 && !fault; at--) {
        int64_t *next = climb->columns;
        for (ptrdiff_t other = 0; other < at; other++)
            next += width_of(table, self->joined[other]);
        ptrdiff_t from = next - climb->columns;
        for (ptrdiff_t other = at + 1; other < self->size; other++)
            next = append_columns(table, self->joined[other], next);
        gains[self->joined[at]] = factored_score(climb, head, from, next - climb->columns, &fault) - score;
    }
    return fault;
}

static int update_gains(Climb *climb, ptrdiff_t head)
{
    int fault = climb->wide ? gains_of_blocks(climb, head) : gains_of_numbers(climb, head);
    climb->gains[head * climb->p + head] = -HUGE_VAL;
    climb->best[head] = -1;
    return fault;
}

/* Add a parent at the end of the list, or remove it; the order of the others is kept. */
static void list_parent(Node *self, int64_t other, int joins)
{
    ptrdiff_t stay = 0;
    for (ptrdiff_t at = 0; at < self->size; at++)
        if (self->joined[at] != other)
            self->joined[stay++] = self->joined[at];
    if (joins)
        self->joined[stay++] = other;
    self->size = stay;
}

/* -- the DAG ------------------------------------------------------------------------------------------------------- */

static int change_edge(Climb *climb, ptrdiff_t head, ptrdiff_t tail)
{
    uint8_t *edge = climb->into + head * climb->p + tail;
    climb->nodes[head].score += climb->gains[head * climb->p + tail];
    *edge ^= 1;
    int fault = 0;
    if (climb->wide)
        list_parent(climb->nodes + head, tail, *edge);
    else
        fault = *edge ? add_parent(climb, head, tail) : remove_parent(climb, head, tail);
    return fault ? fault : update_gains(climb, head);
}

/* An ancestor of the tail of a new edge becomes an ancestor of all descendants of its head. */
static void extend_descendants(Climb *climb, ptrdiff_t head, ptrdiff_t tail)
{
    const uint64_t *beyond = climb->reaches + head * climb->words;
    for (ptrdiff_t node = 0; node < climb->p; node++) {
        uint64_t *mine = climb->reaches + node * climb->words;
        if (!has(mine, tail))
            continue;
        for (ptrdiff_t w = 0; w < climb->words; w++)
            mine[w] |= beyond[w];
        climb->best[node] = -1;
    }
}

/* Compute all descendants again, after an edge was removed. */
static void find_descendants(Climb *climb)
{
    memset(climb->reaches, 0, (size_t)(climb->p * climb->words) * sizeof(uint64_t));
    for (ptrdiff_t node = 0; node < climb->p; node++) {
        climb->reaches[node * climb->words + (node >> 6)] |= (uint64_t)1 << (node & 63);
        climb->best[node] = -1;
    }
    for (ptrdiff_t head = 0; head < climb->p; head++)
        for (ptrdiff_t at = 0; at < climb->nodes[head].size; at++)
            extend_descendants(climb, head, climb->nodes[head].joined[at]);
}

/* Return the tail whose addition or removal as a parent of a head gains most, or the first that gains `enough`. Tails
   that are descendants of the head are excluded, since the edge would close a cycle. */
static int64_t best_tail(const Climb *climb, ptrdiff_t head, double enough)
{
    const double *gains = climb->gains + head * climb->p;
    const uint64_t *beyond = climb->reaches + head * climb->words;
    int64_t best = head; /* its gain is minus infinity */
    for (ptrdiff_t tail = 0; tail < climb->p && gains[best] < enough; tail++)
        if (gains[tail] > gains[best] && !has(beyond, tail))
            best = tail;
    return best;
}

/* Whether an edge is the only path from its tail to its head. */
static int only_path(const Climb *climb, ptrdiff_t head, ptrdiff_t tail)
{
    for (ptrdiff_t child = 0; child < climb->p; child++)
        if (child != head && climb->into[child * climb->p + tail] && has(climb->reaches + child * climb->words, head))
            return 0;
    return 1;
}

/* Find the reversal with the largest gain above `least`: the first one whose gain is within `resolution` of it. */
static int best_reversal(const Climb *climb, double least, double resolution, ptrdiff_t *head, ptrdiff_t *tail)
{
    ptrdiff_t p = climb->p, found = p * p;
    double most = least;
    for (int second = 0; second < 2; second++)
        for (ptrdiff_t node = 0; node < p; node++)
            for (ptrdiff_t at = 0; at < climb->nodes[node].size; at++) {
                ptrdiff_t other = climb->nodes[node].joined[at], place = node * p + other;
                double worth = climb->gains[place] + climb->gains[other * p + node];
                if (!(worth > least))
                    continue;
                if (second ? place < found && worth >= most - resolution && only_path(climb, node, other)
                           : worth > most && only_path(climb, node, other)) {
                    most = second ? most : worth;
                    found = place;
                }
            }
    *head = found / p;
    *tail = found % p;
    return found < p * p;
}

/* Make the best change: the first one whose gain is within `resolution` of it. `moved` says whether there was one. */
static int step(Climb *climb, double resolution, int *moved)
{
    ptrdiff_t p = climb->p, head, tail;
    double gain = -HUGE_VAL;
    for (ptrdiff_t node = 0; node < p; node++) {
        if (climb->best[node] < 0)
            climb->best[node] = best_tail(climb, node, HUGE_VAL);
        double mine = climb->gains[node * p + climb->best[node]];
        gain = mine > gain ? mine : gain;
    }
    int turn = best_reversal(climb, (gain > resolution ? gain : resolution) + resolution, resolution, &head, &tail);
    *moved = turn || gain > resolution;
    if (!*moved)
        return 0;
    if (turn) {
        int fault = change_edge(climb, head, tail);
        fault = fault ? fault : change_edge(climb, tail, head);
        find_descendants(climb);
        return fault;
    }
    for (head = 0; climb->gains[head * p + climb->best[head]] < gain - resolution;)
        head++;
    tail = best_tail(climb, head, gain - resolution);
    int fault = change_edge(climb, head, tail);
    if (climb->into[head * p + tail])
        extend_descendants(climb, head, tail);
    else
        find_descendants(climb);
    return fault;
}

static int allocate(Climb *climb)
{
    size_t p = (size_t)climb->p;
    climb->nodes = calloc(p, sizeof(Node));
    climb->gains = malloc(p * p * sizeof(double));
    climb->reaches = malloc(p * (size_t)climb->words * sizeof(uint64_t));
    climb->best = malloc(p * sizeof(int64_t));
    if (!climb->nodes || !climb->gains || !climb->reaches || !climb->best)
        return NO_MEMORY;
    size_t columns = (size_t)climb->table->columns;
    climb->columns = climb->wide ? malloc(columns * sizeof(int64_t)) : NULL;
    climb->root = climb->wide ? malloc(columns * columns * sizeof(double)) : NULL;
    if (climb->wide && (!climb->columns || !climb->root))
        return NO_MEMORY;
    for (size_t node = 0; node < p; node++) {
        Node *self = climb->nodes + node;
        if (climb->wide) {
            if (!(self->joined = malloc(p * sizeof(int64_t))))
                return NO_MEMORY;
            continue;
        }
        self->over = malloc(p * sizeof(double));
        self->with_node = malloc(p * sizeof(double));
        if (!self->over || !self->with_node)
            return NO_MEMORY;
    }
    return 0;
}

static void release(Climb *climb)
{
    for (ptrdiff_t node = 0; climb->nodes && node < climb->p; node++) {
        Node *self = climb->nodes + node;
        free(self->joined);
        free(self->rows);
        free(self->combined);
        free(self->squares);
        free(self->coefficient);
        free(self->over);
        free(self->with_node);
    }
    free(climb->nodes);
    free(climb->gains);
    free(climb->reaches);
    free(climb->best);
    free(climb->columns);
    free(climb->root);
}

/* into: [p, p], all zero on entry. On return, into[head, tail] says whether the DAG has the edge. */
int climb(const Table *table, double resolution, int64_t most_steps, uint8_t *into)
{
    ptrdiff_t p = table->variables;
    Climb climb = {.table = table, .correlation = table->correlation, .p = p, .words = (p + 63) / 64, .n = table->n,
                   .price = table->price, .singular = table->singular, .wide = table->columns > p, .into = into};
    int fault = allocate(&climb), moved = 1;
    for (ptrdiff_t node = 0; node < p && !fault; node++) {
        if (!climb.wide)
            clear_parents(&climb, node);
        fault = update_gains(&climb, node);
    }
    if (!fault)
        find_descendants(&climb);
    for (int64_t steps = 0; steps < most_steps && moved && !fault; steps++)
        fault = step(&climb, resolution, &moved);
    release(&climb);
    return fault;
}
