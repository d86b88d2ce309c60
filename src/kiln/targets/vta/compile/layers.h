// Layers: the form of a network between lowering and code generation, before anything is tiled or
// has an address.
//
//   MatrixLayer   convolutions, dense layers, average pools: GEMM, then requantisation by the ALU
//   VectorLayer   element-wise operators, maximum pools and sums of windows, copies: the ALU alone,
//                 on codes that are loaded as accumulators
//   HostLayer     operators that the machine cannot run, computed in fp32 by the host
#ifndef KILN_TARGETS_VTA_COMPILE_LAYERS_H_
#define KILN_TARGETS_VTA_COMPILE_LAYERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/vta/compile/feature_map.h"
#include "kiln/targets/vta/compile/requantise.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// The pixels of a feature map that a layer reads: pixel (y, x) is the map's (y0 + y * y_step, x0 +
// x * x_step).
struct MapView {
  int map = -1;
  int64_t y0 = 0, x0 = 0, y_step = 1, x_step = 1;
  int64_t height = 1, width = 1, channels = 1;
};

// The kernel size, strides, dilations and padding of a convolution or pool, in pixels.
struct KernelSize {
  int64_t y = 1, x = 1;
  int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  int64_t top = 0, left = 0;  // padding before the first row and column
  int64_t taps() const { return y * x; }
};

// The range [first, last) of input blocks that an output block sums over.
struct BlockRange {
  int64_t first = 0, last = 0;
  int64_t count() const { return last - first; }
  bool operator==(const BlockRange&) const = default;
};

// A layer of the GEMM unit.
struct MatrixLayer {
  MapView input;
  KernelSize kernel;
  std::vector<BlockRange> reads;  // by output block
  // One block_out x block_in element for every output block, every input block that it reads, and
  // every tap, in this order; or, with one_weight, a single element for all of them.
  std::vector<int8_t> weights;
  bool one_weight = false;
  Requantisation requantisation;
  std::optional<MapView> residual;
  int output = -1;  // map

  int64_t output_blocks() const { return std::ssize(reads); }
  // Returns the steps of the GEMM unit for one output pixel.
  int64_t steps() const {
    int64_t blocks = 0;
    for (const BlockRange& range : reads) blocks += range.count();
    return blocks * kernel.taps();
  }
};

// One ALU operation on whole registers. A register holds a tile of a map or of a constant on chip.
struct VectorStep {
  AluOp op = AluOp::kAdd;
  int destination = 0;
  enum class Operand { kImmediate, kRegister, kConstant } operand = Operand::kImmediate;
  int32_t value =
      0;  // the immediate, the register, or the constant, which is the same for all channels
};

// A 32-bit constant operand with the layer's channels. It has a value for each pixel, or one for
// all pixels (1 x 1).
struct ConstantOperand {
  int64_t height = 1, width = 1;
  // [height][width][channels], or [height][width] if all channels are the same.
  std::vector<int32_t> numbers;
};

// A layer of the ALU.
struct VectorLayer {
  // Input i is loaded into register i. An input with a single pixel is the operand of every output
  // pixel; the first input is never one of these.
  std::vector<MapView> inputs;
  // In the registers after the inputs, or after register 0 if there is a window.
  std::vector<ConstantOperand> constants;
  std::vector<VectorStep> steps;
  // Register 0 holds the result. Before the steps it holds input 0 or, if there is a window, the
  // reduction of each window of input 0 (then the only input) by window_op (MAX or ADD).
  std::optional<KernelSize> window;
  AluOp window_op = AluOp::kMax;
  int output = -1;  // map
};

// The location of a host tensor's elements in a slot of a run (program.h).
struct HostView {
  int slot = -1;
  StridedView elements;
};

// A layer of the host.
struct HostLayer {
  std::shared_ptr<const Graph> graph;  // HostGraph of the nodes
  std::vector<HostView> inputs;        // in the order of the graph's inputs
  std::vector<int> outputs;            // slots, in the order of the graph's outputs
};

// A copy before a layer runs: from a slot to a map (`to_map`), or from a map to a slot.
struct Transfer {
  bool to_map = true;
  int slot = -1, map = -1;
  ImageView image;             // to_map only
  std::optional<Patch> patch;  // to_map only
};

// A layer of one of the three kinds.
struct Layer {
  KernelInfo info;
  const Node* anchor =
      nullptr;  // the node that the layer is made for, in the graph that was lowered
  std::vector<Transfer> transfers;  // executed before the layer
  std::optional<MatrixLayer> matrix;
  std::optional<VectorLayer> vector;
  std::optional<HostLayer> host;
};

// A host tensor of a run: holds a dense tensor while an image is processed.
struct Slot {
  std::string name;
  ElementType type = ElementType::kFloat32;
  Shape shape;
  std::optional<Quantisation> rounding;  // values that the host writes are rounded to this
};

struct GraphInput {
  std::string name;
  int slot = -1;
};

struct GraphOutput {
  std::string name;
  Shape shape;
  HostView view;
};

// Nodes for which code generation found that no code can be made, with the reason.
using Refusals = std::unordered_map<const Node*, std::string>;

// A lowered network.
struct Network {
  int images_at_once = 1;  // images that a run of the machine processes: rows of its elements
  std::vector<FeatureMap> maps;
  std::vector<Slot> slots;
  std::vector<Layer> layers;
  std::vector<Transfer> final_transfers;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_LAYERS_H_
