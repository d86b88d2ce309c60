// From a graph to kernels: which nodes run together on which unit, as instructions that have no addresses and no tiling
// yet. Expects a graph that went through the standard and layout pipelines (passes/pipeline.h).
//
//   convolution, product   + constant bias + residual + activation ... in one matrix or depthwise instruction
//   pool, reduction, soft-max, layer normalisation, element-wise chains   vector instructions
//   transposition, slice, reshape, ...   strides where they suffice, copies where not
//   everything else   the host, in fp32, with the reason
//
// A value inside a kernel is never rounded to its annotation: only what leaves a kernel is.
#ifndef KILN_TARGETS_SYSTOLIC_LOWER_H_
#define KILN_TARGETS_SYSTOLIC_LOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/numerics/quantise.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/view.h"

namespace kiln::systolic {

// A stretch of memory, not placed yet.
struct Buffer {
  std::string name;
  int64_t bytes = 0;
  bool constant = false;
  std::vector<uint8_t> data;  // of a constant
};

// Where an address of an instruction points to.
struct Place {
  int buffer = -1;
  int64_t offset = 0;
};

// Constant weights as codes in memory: [batches][taps * channels][out_channels], taps and channels in the order (ky,
// kx, c). Depthwise: [taps][channels].
struct WeightCodes {
  int64_t batches = 1, rows = 1, columns = 1;
  int64_t channels = 1;  // of the reduction: rows = taps * channels
  int bytes = 1;         // of a code
  std::vector<uint8_t> codes;
  // Block scales along the channels, as codes in memory: [batches][taps][blocks of a tap][out_channels]; empty: none.
  int block_size = 0, scale_bytes = 1;
  std::vector<uint8_t> scales;

  bool blocked() const { return !scales.empty(); }
  int64_t blocks() const { return (channels + block_size - 1) / block_size; }  // of a tap
};

// An instruction before its addresses are known, with what its addresses stand for.
struct Work {
  Instruction instruction;
  bool orders_timed = false;         // kVector: its loops are the best of all their orders
  Place input, weights, parameters;  // matrix, depthwise
  // What integer sums may count for an input; for a weight, where weights are no constants; and for a zero.
  CodeRange input_counts, weight_counts;
  int32_t input_zero = 0;
  std::shared_ptr<const WeightCodes>
      codes;  // constant weights, to be tiled; then `weights` is set by the codegen
  std::vector<Place> operands;
  Place output;
  // Of block scales, where the stream has them; those of constant weights are set by the codegen.
  Place input_scales, weight_scales, output_scales;
  std::vector<Place> operand_scales;  // one an operand
};

struct HostWork {
  std::shared_ptr<const Graph> graph;
  std::vector<View> inputs, outputs;
};

struct Kernel {
  KernelInfo info;
  std::vector<Work> works;              // on the accelerator
  std::unique_ptr<HostWork> host_work;  // else
  // Nothing that computes the kernel takes fewer cycles, where that is less than `works` prove: they are one of several
  // ways, with work of their own.
  std::optional<double> least_cycles;
};

struct Lowered {
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;  // in order
  std::vector<View> inputs, outputs;
  std::vector<std::string> input_names, output_names;
};

// Errors: an unknown shape, an annotation that the family cannot hold; with options.host_fallback false, the first node
// that the host would have to run.
StatusOr<Lowered> Lower(const Graph& graph, const Config& config, const CompileOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_LOWER_H_
