// The value of a computation graph by itself: what every machine that executes it must compute.
//
// A thread computes one vector of lanes for every node, from the vectors of the inputs. What a node
// reads:
//   - operand k is the value of the data edge with that number. Of the operands without an edge,
//     the first is the node's literal, if it has one; all others are 0.
//   - an edge of distance d gives thread t the value of thread t - d, and its `initial` in every
//     lane of the threads t < d.
//   - edges of kind order carry no value.
// In lanes where a predicate is 0, the result of the node is 0 for every operator, and a store
// does not happen.
//
// The operators, with a, b, c the operands 0, 1, 2, in every lane by itself:
//   const, variable   the literal; 0 without one
//   input             the thread's vector of this input
//   output, pass, br  a
//   mul, add, sub     a * b, a + b, a - b modulo 2^32
//   shl, shr, sra     a shifted by the low five bits of b: left, right with zeros, right with signs
//   and, or, xor      by bits
//   min, max, lt, eq  of signed numbers; lt and eq give 1 or 0
//   merge             a | b: the operand that is not predicated away
//   select            b where a is not 0, else c
//   fmul, fadd, fsub  binary32, rounded to nearest, ties to even, subnormals kept; every NaN result
//                     is 0x7fc00000
//   load              the memory's value at the address a
//   store             its operands are address and value. A store with one data edge has the value
//                     from it and the literal, or 0, as its address. Its result is the value.
#ifndef KILN_TARGETS_CGRA_GRAPH_EVALUATE_H_
#define KILN_TARGETS_CGRA_GRAPH_EVALUATE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/store_record.h"

namespace kiln::cgra {

using Vector = std::vector<int32_t>;  // by lane; floats as their bits

struct EvaluateOptions {
  int threads = 1;
  int lanes = 16;
  // Returns what a load reads at an address. Empty: MixedMemory. Loads do not see stores.
  std::function<int32_t(int32_t address)> memory = {};
  bool keep_values = false;  // whether Evaluation::values is filled
};

struct Evaluation {
  std::vector<std::vector<Vector>> outputs;  // by thread, by output (OutputsOf)
  std::vector<StoreRecord> stores;           // by thread, then in the order of nodes
  std::vector<std::vector<Vector>> values;   // by thread, by node; empty unless they are kept
};

// Returns the inputs, or the outputs, in the order of nodes.
std::vector<int> InputsOf(const ComputationGraph& graph);
std::vector<int> OutputsOf(const ComputationGraph& graph);

// Returns the value that a memory nobody describes has at an address: the low 32 bits of
// MixBits(address) (support/random.h), the address taken as unsigned.
int32_t MixedMemory(int32_t address);

// Returns the value of an operator of role kCompute or kControl for one lane; operands that it does
// not have are ignored.
int32_t ValueOf(Op op, int32_t a, int32_t b, int32_t c);

// Evaluates a graph that VerifyAndSort accepted. `inputs` has, by thread and by input (InputsOf), a
// vector of `lanes` elements.
Evaluation Evaluate(const ComputationGraph& graph, std::span<const std::vector<Vector>> inputs,
                    const EvaluateOptions& options = {});

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_EVALUATE_H_
