// The folding problem of a pipeline with one hardware stage per layer: the folds of each layer, the
// streams between layers, the limits of the device, and the measures of one choice of folds.
//
// The problem is independent of networks and of hardware. A caller computes the candidates of each
// layer; the searches of this folder (exact.h, ilp.h, brute_force.h, finn_rule.h, samo.h) choose
// among them.
//
// Quantities. A fold's `cycles` C is the number of cycles that the layer needs for one frame, its
// `latency` D the cycles from its first input to its first output. The slowest layer paces the
// pipeline: L_max = max C, and L_sum = sum(L_max - C) is the idle time per frame. A layer v starts
// when the first word of each input has arrived:
//   start(v) = max over edges (u, v) of start(u) + D(u);   0 without inputs.
// The slack of an edge (u, v) is z = start(v) - start(u) - D(u); its FIFO has to hold the elements
// that arrive meanwhile, ceil(z * N / L_max) + burst, with N elements per frame.
//
// Source: the folding problem of Origami (A. Pradels et al.) in the form of integer programs with a
// finite set of periods, extended by several resources and by the FIFOs of joins.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_PROBLEM_H_
#define KILN_TARGETS_DATAFLOW_FOLD_PROBLEM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::dataflow {

// The kinds of resources, as indices of Resources.
inline constexpr int kDsp = 0, kBram = 1, kUram = 2, kLut = 3, kPorts = 4, kResourceKinds = 5;

// Amounts of DSP slices, RAMB18 (halves of a block RAM), URAM blocks, LUTs, and ports of the memory
// from which weights are streamed.
using Resources = std::array<int64_t, kResourceKinds>;

// A limit or a target that does not limit anything.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Returns "DSP", "RAMB18", "URAM", "LUT" or "memory ports".
std::string_view ResourceName(int kind);

// Adds `more` to `sum`, kind by kind.
void AddTo(Resources& sum, const Resources& more);
// Returns whether each amount is at most its limit.
bool Fits(const Resources& amounts, const Resources& limits);

// One fold of one layer.
struct Candidate {
  int in_lanes = 1;       // channels that the stage reads per word (a)
  int out_lanes = 1;      // channels that it writes per word (b)
  int64_t cycles = 1;     // per frame, at least 1
  int64_t latency = 0;    // cycles from the first input to the first output
  Resources resources{};  // of the stage with its weights and line buffers
  int tag = 0;            // the caller's own number, for example the kind of weight memory
};

// One stage of the pipeline and the folds that it may have.
struct Layer {
  std::string name;
  std::vector<Candidate> candidates;
  double operations = 0;  // per frame, for figures of work; the searches do not use it
};

// How the lanes of the producer (b) and of the consumer (a) must fit together.
enum class Coupling {
  kNextMultiple,  // a is a multiple of b (Origami)
  kTwoWay,        // a is a multiple of b or b is a multiple of a (width converters)
  kEqual,         // a = b
  kNone,          // any two
};

// Returns whether a stream from `out_lanes` to `in_lanes` satisfies the coupling.
bool Couples(Coupling coupling, int out_lanes, int in_lanes);

// One way to build a FIFO.
struct FifoOption {
  Resources resources{};
  int tag = 0;  // the kind of memory; different for each option of one FIFO
};

// Returns the ways to build a FIFO that holds at least `elements` elements in words of `lanes`
// elements; empty if there is none. A function of its arguments only. The searches rely on this: an
// option (a tag) that exists for some number of elements exists for every smaller number too, and
// needs no more of any resource there.
using FifoCost = std::function<std::vector<FifoOption>(int64_t elements, int lanes)>;

// The FIFO of an edge. Its word is `in_lanes` of the consumer.
struct Fifo {
  int64_t elements_per_frame = 0;
  int64_t burst = 0;  // elements beyond the slack, for producers that write in bursts
  FifoCost cost;
};

// A stream from layer `from` to layer `to`.
struct Edge {
  int from = 0, to = 0;
  Coupling coupling = Coupling::kNextMultiple;
  std::optional<Fifo> fifo;  // absent: the edge needs no FIFO that counts
  int64_t bits = 0;          // per frame, over a link between devices (split.h)
};

// A pipeline and the device that it must fit. The edges form a directed acyclic graph; parallel
// edges and several inputs or outputs are allowed.
struct FoldProblem {
  std::vector<Layer> layers;
  std::vector<Edge> edges;
  Resources limits = {kUnlimited, kUnlimited, kUnlimited, kUnlimited, kUnlimited};
};

// Limits of a problem. Sums over all layers stay exact in 64 bits within them.
inline constexpr int64_t kMaxLayers = 1 << 12, kMaxEdges = 1 << 14;
inline constexpr int64_t kMaxCandidates = 1 << 20;         // of all layers together
inline constexpr int64_t kMaxCycles = int64_t{1} << 38;    // also of a latency
inline constexpr int64_t kMaxAmount = int64_t{1} << 31;    // of one resource, lanes too
inline constexpr int64_t kMaxElements = int64_t{1} << 40;  // per frame, also of a burst
inline constexpr int64_t kMaxFifosOfLayer = 12, kMaxFifoOptions = 16;

// Checks a problem. Errors name the layer: no layers, no candidates, an index out of range, a cycle
// in the graph, a value that is not positive or beyond the limits above.
Status CheckProblem(const FoldProblem& problem);

// Returns the layers so that producers precede consumers; among the layers that may follow, the one
// of lowest index. The graph must be acyclic.
std::vector<int> TopologicalOrder(const FoldProblem& problem);

// One choice for each layer, and for each edge whose FIFO must hold elements.
struct Fold {
  std::vector<int> choice;       // per layer: index into its candidates
  std::vector<int> fifo_option;  // per edge: index into the result of its cost function, or -1;
                                 // empty if no edge has a FIFO
  bool operator==(const Fold&) const = default;
};

// The measures of a fold.
struct FoldMetrics {
  int64_t l_max = 0;              // cycles per frame of the slowest layer
  int64_t l_sum = 0;              // cycles, sum(L_max - C)
  int64_t latency = 0;            // cycles from the first input of the pipeline to its last
                                  // output's first word
  Resources resources{};          // of layers and FIFOs
  std::vector<int64_t> slack;     // per edge: cycles (z)
  std::vector<int64_t> elements;  // per edge: elements that its FIFO must hold; 0 without a FIFO
};

// Returns the elements that the FIFO of an edge must hold at a slack (cycles) and a period (cycles
// per frame); at most 2^60.
int64_t FifoElements(const Fifo& fifo, int64_t slack, int64_t period);

// Returns the options of a FIFO for `elements` elements in words of `lanes`, amounts cut off at
// 2^40.
std::vector<FifoOption> OptionsOf(const Fifo& fifo, int64_t elements, int lanes);

// Computes the measures of a fold. All indices of `fold` must be in range; a FIFO that must hold
// elements and has no option (-1) counts as no resources.
FoldMetrics Evaluate(const FoldProblem& problem, const Fold& fold);

// As Evaluate, with FIFOs that are sized for `period` cycles per frame instead of L_max; 0
// stands for L_max.
FoldMetrics EvaluateAt(const FoldProblem& problem, const Fold& fold, int64_t period);

// Returns every rule that a fold violates, one line each, by layer: an index out of range, a
// coupling, a FIFO without memory, a limit that is exceeded. Empty if the fold is valid.
std::vector<std::string> Violations(const FoldProblem& problem, const Fold& fold);

// A fold with a choice of FIFO options, and whether it meets all limits.
struct FifoChoice {
  Fold fold;
  bool fits = false;
};

// Adds an option for each FIFO that must hold elements to a choice of candidates: options that fit
// the limits if it finds any, with the least sum of the shares of the limits. It considers the best
// 64 combinations at a time, so that it can miss a combination that fits where there are many
// FIFOs.
FifoChoice ChooseFifos(const FoldProblem& problem, std::vector<int> choice);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_PROBLEM_H_
