// Lowers a graph to kernels: decides which nodes run together on which unit, as instructions
// without addresses and tilings. Expects a graph that went through the standard and layout
// pipelines (passes/pipeline.h).
//
//   matrix or depthwise   convolutions and products, with constant bias, residual, activation, ...
//   vector                pools, reductions, soft-max, layer normalisation, element-wise chains
//   a view, or a copy     transposition, slice, reshape, ...: strides if they suffice
//   the host, in fp32     everything else, with the reason
//
// A value inside a kernel is not rounded to its annotation; only a value that leaves a kernel is.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/buffer.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/compile/view.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// A memory region that has no address yet.
struct Buffer {
  std::string name;
  int64_t bytes = 0;
  bool constant = false;
  LargeBytes data;  // of a constant
};

// The target of an instruction's address.
struct Place {
  int buffer = -1;
  int64_t offset = 0;
};

// Constant weights as codes in memory: [batches][taps * channels][out_channels], where taps and
// channels are in the order (ky, kx, c). Depthwise: [taps][channels].
struct WeightCodes {
  int64_t batches = 1, rows = 1, columns = 1;
  int64_t channels = 1;  // of the reduction: rows = taps * channels
  int bytes = 1;         // of a code
  // The fewest bits of a code in packed rows; 0 if they cannot be packed.
  int packed_bits = 0;
  LargeBytes codes;
  // Block scales along the channels, as codes in memory: [batches][taps][blocks of a
  // tap][out_channels]. Empty if there are no block scales.
  int block_size = 0, scale_bytes = 1;
  LargeBytes scales;

  bool blocked() const { return !scales.empty(); }
  int64_t blocks() const { return (channels + block_size - 1) / block_size; }  // of one tap
};

// An instruction whose addresses are not known yet, and the locations that they will refer to.
struct Work {
  Instruction instruction;
  bool orders_timed = false;         // kVector: all loop orders have been timed, and these loops
                                     // are the fastest; not if another objective chose them
  Place input, weights, parameters;  // matrix, depthwise
  // The ranges of the integer operands that the array sums: of an input, of a weight if weights are
  // not constants, and the count of the number zero.
  CodeRange input_counts, weight_counts;
  int32_t input_zero = 0;
  // Constant weights before tiling; codegen tiles them and sets `weights`.
  std::shared_ptr<const WeightCodes> codes;
  std::vector<Place> operands;
  Place output;
  // Locations of the block scales of streams that have them; codegen sets those of constant
  // weights.
  Place input_scales, weight_scales, output_scales;
  std::vector<Place> operand_scales;  // one for each operand
};

// The nodes that one host step runs.
struct HostWork {
  std::shared_ptr<const Graph> graph;
  std::vector<View> inputs, outputs;
};

// A kernel, which runs either on the accelerator or on the host.
struct Kernel {
  KernelInfo info;
  std::vector<Work> works;              // on the accelerator
  std::unique_ptr<HostWork> host_work;  // on the host
  // A lower bound over all ways to compute the kernel, if it is less than the bound that `works`
  // prove: `works` are then one of several ways, each with its own work.
  std::optional<double> least_cycles;
};

// The result of lowering a graph.
struct Lowered {
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;  // in order
  std::vector<View> inputs, outputs;
  std::vector<std::string> input_names, output_names;
};

// Lowers a graph. Errors: an unknown shape, an annotation that the family cannot hold; with
// options.host_fallback false, the first node that the host would have to run.
StatusOr<Lowered> Lower(const Graph& graph, const Config& config, const CompileOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_H_
