/* Loops over plain arrays, for which numpy's price of a call would be most of the time.

   Nothing here knows Python: `module.c` checks the arrays, lets other threads run, and calls these. Lattices and orders
   do the same operations in the same order as the numpy code that they stand in for, so that their results are equal to
   the last bit: compile without contraction to fused operations (-ffp-contract=off). The others are equal but for
   rounding, which decides nothing. */

#ifndef FEDPERI_LOOPS_H
#define FEDPERI_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#define MOST_COLUMNS 30 /* of a lattice: more would not fit in memory; what may be asked is far less */
#define TINY 1e-300     /* takes the place of pivots that are zero or less, as in local/lattice.py */

/* All return 0, or one of these. */
enum { NO_MEMORY = 1, OUT_OF_RANGE = 2, NOT_FOR_LOOPS = 3 };

/* residuals.c */
int lattices(const double *correlation, int64_t p, const int64_t *columns, ptrdiff_t rows, int m, double *residual,
             double *smallest);
int least_residuals(const double *correlation, int64_t p, const int64_t *columns, ptrdiff_t rows, int m, double *least,
                    double *smallest);
void best_of_subsets(double *values, ptrdiff_t rows, size_t subsets);

/* climb.c */
int climb(const double *correlation, ptrdiff_t p, double n, double price, double resolution, double singular,
          int64_t most_steps, uint8_t *into);

/* orders.c */
typedef struct {
    ptrdiff_t p;
    const double *score;       /* best scores, all lattices one after the other */
    const int64_t *begin;      /* of each lattice among the scores */
    const int64_t *first;      /* of the lattices of each node, and one more */
    const int64_t *bit;        /* [lattice, variable] */
    const int64_t *tail_first; /* of the pairs of each variable, and one more */
    const int64_t *lattice;    /* of each pair of a variable and a lattice of a node that may take it as a parent */
    const int64_t *head;       /* the node */
    const uint8_t *candidates; /* [node, variable] */
    int64_t *nodes, *place, *at;
    double *value;
} Order;

int best_places(const Order *order, const int64_t *some, ptrdiff_t count, double resolution, double *gains,
                int64_t *behind);
int move(const Order *order, int64_t node, int64_t to, uint8_t *stale);
int move_in_turn(const Order *order, const int64_t *some, const int64_t *behind, ptrdiff_t count, double resolution,
                 uint8_t *stale);

/* discrete.c */
typedef struct Discrete Discrete; /* a table of categories */

/* BDeu if the weight of the prior, in rows, is positive; otherwise BIC with a price for each parameter. */
typedef struct {
    double prior, price;
} Judge;

int discrete_make(const int64_t *codes, const int64_t *counts, const int64_t *levels, size_t rows, size_t p,
                  Discrete **made);
void discrete_free(Discrete *table);
int discrete_scores(const Discrete *table, Judge judge, const int64_t *nodes, const int64_t *first, size_t queries,
                    const int64_t *parents, size_t all, double *out);
int discrete_flips(const Discrete *table, Judge judge, int64_t node, const int64_t *parents, size_t size,
                   const int64_t *others, size_t count, double *out);
int discrete_lattices(const Discrete *table, Judge judge, const int64_t *nodes, const int64_t *candidates, size_t count,
                      int m, double *out);

#endif
