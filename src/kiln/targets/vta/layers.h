// Layers: what the compiler makes of a network before anything is tiled or has an address.
//
//   MatrixLayer   convolutions, dense layers, average pools: GEMM, then requantisation by the ALU
//   VectorLayer   element-wise operators, maximum pools and sums of windows, copies: the ALU alone, on codes loaded as
//                 accumulators
//   HostLayer     what the machine cannot run, in fp32 on the host
#ifndef KILN_TARGETS_VTA_LAYERS_H_
#define KILN_TARGETS_VTA_LAYERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/vta/feature_map.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/requantise.h"

namespace kiln::vta {

// Pixels of a feature map that a layer reads: pixel (y, x) is the map's (y0 + y * y_step, x0 + x * x_step).
struct MapView {
  int map = -1;
  int64_t y0 = 0, x0 = 0, y_step = 1, x_step = 1;
  int64_t height = 1, width = 1, channels = 1;
};

struct KernelSize {
  int64_t y = 1, x = 1;
  int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  int64_t top = 0, left = 0;  // padding before
  int64_t taps() const { return y * x; }
};

// Output block o sums over the input blocks [first, last).
struct BlockRange {
  int64_t first = 0, last = 0;
  int64_t count() const { return last - first; }
  bool operator==(const BlockRange&) const = default;
};

struct MatrixLayer {
  MapView input;
  KernelSize kernel;
  std::vector<BlockRange> reads;  // an output block each
  // A block_out x block_in element for every output block, every input block it reads, every tap: in this order. Or one
  // for all.
  std::vector<int8_t> weights;
  bool one_weight = false;
  Requantisation requantisation;
  std::optional<MapView> residual;
  int output = -1;  // map

  int64_t output_blocks() const { return std::ssize(reads); }
  // Steps of the GEMM unit for one output pixel.
  int64_t steps() const {
    int64_t blocks = 0;
    for (const BlockRange& range : reads) blocks += range.count();
    return blocks * kernel.taps();
  }
};

// One ALU operation on whole registers; a register is a tile of a map, or of a constant, on chip.
struct VectorStep {
  AluOp op = AluOp::kAdd;
  int destination = 0;
  enum class Operand { kImmediate, kRegister, kConstant } operand = Operand::kImmediate;
  int32_t value =
      0;  // the immediate, the register, or the number that all channels of the constant have
};

// A constant of 32 bits with the layer's channels, for each pixel or (1 x 1) for all of them.
struct ConstantOperand {
  int64_t height = 1, width = 1;
  std::vector<int32_t>
      numbers;  // [height][width][channels]; without channels: the same in all of them
};

struct VectorLayer {
  // Input i is loaded into register i. One that has one pixel where the output has more is the operand of every pixel;
  // the first never is.
  std::vector<MapView> inputs;
  std::vector<ConstantOperand>
      constants;  // registers behind the inputs; behind register 0 where there is a window
  std::vector<VectorStep> steps;
  // Register 0 is the result: what window_op (MAX or ADD) makes of a window of input 0, where there is one (then the
  // only input), else input 0 itself.
  std::optional<KernelSize> window;
  AluOp window_op = AluOp::kMax;
  int output = -1;  // map
};

// Where a tensor of the host's is found: a slot of a run (program.h), seen through strides.
struct HostView {
  int slot = -1;
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

struct HostLayer {
  std::shared_ptr<const Graph> graph;  // HostGraph of one node
  std::vector<HostView> inputs;        // by the graph's inputs
  std::vector<int> outputs;            // slots, by the graph's outputs
};

// A slot's numbers written to a map before a layer runs, or a map's read into a slot.
struct Transfer {
  bool to_map = true;
  int slot = -1, map = -1;
  ImageView image;             // to_map
  std::optional<Patch> patch;  // to_map
};

struct Layer {
  KernelInfo info;
  const Node* anchor =
      nullptr;  // the node that the layer is made for; of the graph that was lowered
  std::vector<Transfer> transfers;  // before it
  std::optional<MatrixLayer> matrix;
  std::optional<VectorLayer> vector;
  std::optional<HostLayer> host;
};

// A slot holds a dense tensor while an image is worked on.
struct Slot {
  std::string name;
  ElementType type = ElementType::kFloat32;
  Shape shape;
  std::optional<Quantisation> rounding;  // what a value that the host writes is rounded to
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

// Nodes that no code can be made for, found when it was to be made, and why.
using Refusals = std::unordered_map<const Node*, std::string>;

struct Network {
  int images_at_once = 1;  // that a run of the machine works on: rows of its elements
  std::vector<FeatureMap> maps;
  std::vector<Slot> slots;
  std::vector<Layer> layers;
  std::vector<Transfer> final_transfers;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LAYERS_H_
