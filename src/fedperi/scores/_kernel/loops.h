/* Loops over plain arrays, for which the per-call overhead of numpy would dominate.

   The loops do not use Python: `module.c` checks the arrays, releases the lock of Python for other threads, and calls
   them. They compute the same as the numpy code that they replace: orders and sums over sites are equal to the last
   bit, scores up to rounding, which changes no decision. Compile without contraction to fused operations
   (-ffp-contract=off), so that the results do not depend on the processor. */

#ifndef FEDPERI_LOOPS_H
#define FEDPERI_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST_BLOCKS 30    /* most variables of a lattice in memory; the limit for questions is far lower */
#define MOST_COLUMNS 1024 /* largest number of columns in a lattice */
#define TINY 1e-300       /* replaces pivots that are not positive, as in scores/lattice.py */

/* Compile loops over long arrays twice, also with wider vectors for processors that have them. The operations are
   equal. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define VECTORS
#endif

/* Code that such loops share, and that is compiled for each constant argument. */
#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

/* Loops return 0 or one of these. NOT_FOR_LOOPS leaves the case to numpy. */
enum { NO_MEMORY = 1, OUT_OF_RANGE = 2, NOT_FOR_LOOPS = 3 };

/* Variables are consecutive blocks of columns. BIC is -n/2 log det(residual) - price * columns * own columns. */
typedef struct {
    const double *correlation; /* [columns, columns] */
    ptrdiff_t columns, variables;
    const int64_t *first; /* column of each variable, and one more */
    double n, price, singular; /* a pivot that is not above `singular` means that columns are collinear */
} Table;

static inline int64_t width_of(const Table *table, int64_t variable)
{
    return table->first[variable + 1] - table->first[variable];
}

/* residuals.c */
int scores(const Table *table, const int64_t *variables, ptrdiff_t rows, int m, double *out, double *smallest);
int extremes(const Table *table, const int64_t *variables, ptrdiff_t rows, int m, double *out, double *smallest);
int local(const Table *table, const int64_t *variables, const int64_t *starts, ptrdiff_t queries, double *out,
          double *smallest);
int64_t *append_columns(const Table *table, int64_t variable, int64_t *out);
double factor(const Table *table, const int64_t *columns, ptrdiff_t from, ptrdiff_t count, double *root,
              ptrdiff_t stride);
double score_of(const Table *table, const double *root, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t own);

/* answers.c */
void best_of_subsets(double *values, ptrdiff_t rows, size_t subsets);
int adaptive(double *values, ptrdiff_t rows, size_t subsets, double all, double some);
int add_up(const double *values, ptrdiff_t sites, ptrdiff_t cells, double *out);

/* climb.c */
int climb(const Table *table, double resolution, int64_t most_steps, uint8_t *into);

/* orders.c */
typedef struct {
    ptrdiff_t p;
    const double *score;       /* best scores of all lattices, one after the other */
    const int64_t *begin;      /* start of each lattice in the scores */
    const int64_t *first;      /* start of the lattices of each node, and one more */
    const int64_t *bit;        /* [lattice, variable] */
    const int64_t *tail_first; /* start of the pairs of each variable, and one more */
    const int64_t *lattice;    /* lattice of each pair of a variable and a lattice of a node that may have it as a parent */
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

/* mechanisms.c */
#define MOST_TOGETHER 12 /* groups of sites that are compared with each other at a time */

typedef struct {
    ptrdiff_t count, columns, variables; /* numbers of sites; of columns, with the constant; of variables */
    const double *moments;               /* [site, column, column]: sums of products of the columns; column 0 is 1 */
    const int64_t *first;                /* column of each variable, and one more */
    const double *n;                     /* [site]: rows */
    const double *floor;                 /* [site, column]: smallest residual variance */
    const uint8_t *spread;               /* [variable]: whether sites that share a mechanism share its spread */
    const uint8_t *constant, *declared;  /* [site, variable]: set to one value; declared as a target */
    const double *tolerance;             /* choices: how much sites may differ and still share a mechanism */
    ptrdiff_t tolerances;
    ptrdiff_t others;                        /* number of further tolerances, each of which is only tried alone */
    double price_own, price_cut, price_some; /* of an own mechanism; of a cut from all parents; from some */
    double price_tolerance;                  /* of a tolerance above zero */
    double margin;                           /* nats: a set this far behind one of its subsets is hopeless */
    int share;                               /* whether sites may share mechanisms at all */
} Sites;

int mechanism_scores(const Sites *sites, int64_t node, const int64_t *parents, int fixed, int open,
                     const uint8_t *wanted, const double *known, double *out, int64_t *labels, double *taus,
                     double *without, double *others);

/* latent.c */
typedef struct {
    ptrdiff_t sites, columns, count;     /* `count`: of effects */
    const double *moments, *n;           /* [site, column, column], [site]: as in `Sites` */
    const int64_t *before, *first;       /* columns that explain the hidden cause, then each effect; their starts */
    const int64_t *effects;              /* [effect]: its column */
    const int64_t *groups;               /* [effect, site]: the group of a site; -1 if it is not used */
    double *weights, *variance;          /* [site, column], [site]: mean and variance of the cause, given the columns */
} Latent;

int latent_steps(const Latent *latent, int64_t steps);
int one_factor(const double *correlation, ptrdiff_t size, double strongest, int64_t steps, double *out);

/* discrete.c */
typedef struct Discrete Discrete; /* a table of categories */

/* BDeu if the weight of the prior (in rows) is positive; otherwise BIC with a penalty per parameter. */
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

/* posterior.c */
#define MOST_LAYERED 16            /* most variables for sums over every subset */
#define MOST_REDRAWN 6             /* most nodes whose parents are drawn together */
#define NO_POWER (-((int64_t)1 << 55)) /* where no parent set, or no DAG, is allowed */

void subset_sums(double *value, int64_t *power, size_t sets);
int layers(ptrdiff_t p, const double *sum, const int64_t *power, const int64_t *best, double *within, double *earlier,
           double *total);

typedef struct {
    ptrdiff_t p;
    const int64_t *first;             /* start of the candidates of each node, and one more */
    const int64_t *free;              /* the candidates */
    const int64_t *begin;             /* start of the sums of each node, and one more */
    const double *value;              /* summed weights, value * 2^power, by position in the lattice */
    const int64_t *power;
    const int64_t *set_first, *set;   /* sets with a weight, by node, the best first */
    const double *set_value;          /* their weights */
    const int64_t *set_power;
    const int64_t *near_first, *near; /* nodes that are redrawn together with each node */
    const double *reach;              /* their cumulative probabilities */
    const double *sizes;              /* cumulative probabilities of the sizes of blocks */
    int64_t *random, *now;            /* state of the generator; current parent sets of the nodes */
    double *sums;                     /* by candidate: summed probabilities that it is a parent */
} Chain;

int chain(const Chain *chain, int64_t sweeps);

#endif
