// Random computation graphs for tests, training and benches.
#ifndef KILN_TARGETS_CGRA_GRAPH_RANDOM_GRAPH_H_
#define KILN_TARGETS_CGRA_GRAPH_RANDOM_GRAPH_H_

#include <cstdint>

#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

// What a graph is made of. Shares are probabilities from 0 to 1.
struct RandomGraphOptions {
  int instructions = 12;  // at least 1
  int inputs = 3;         // at least 1; those that nothing reads are left out
  int outputs = 4;        // at most; of the results that nothing uses, the last ones leave
  int variables = 0;
  int variable_readers = 2;  // of a variable at most, which rule 1 binds to one tile
  int carried = 0;           // values for later threads, as far as instructions can take them
  int most_distance = 2;     // of these
  int most_consumers = 3;    // instructions that use a result, which rule 3 keeps apart
  double multiply = 0.3;     // instructions that multiply or shift
  double memory = 0;         // loads and stores
  double select = 0.05;      // selects, of three operands
  double literal = 0.2;      // last operands that are constants
  double stored = 0.2;       // operands that are inputs although a result could be one
  double predicate = 0;      // instructions with a predicate
  double order = 0;          // instructions that also come after another one
  bool floats = false;       // instructions are fadd, fsub and fmul instead of integer operators
};

// Returns a graph that VerifyAndSort accepts. Equal options and seeds give equal graphs. Every
// instruction reads at most two values of tile memories, one constant, and three values in all,
// also where results of loads arrive in memories. Whether there is a mapping is not considered.
ComputationGraph RandomGraph(const RandomGraphOptions& options, uint64_t seed);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_RANDOM_GRAPH_H_
