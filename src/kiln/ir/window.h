// Geometry of convolutions and pools, resolved from attributes and shapes: what a node leaves implicit (auto_pad,
// default strides, kernel sizes that stand only in the weights, ceil_mode) is a number here. Any number of spatial
// axes; executor, importer, shape inference and the compilers all read windows from here.
#ifndef KILN_IR_WINDOW_H_
#define KILN_IR_WINDOW_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// One spatial axis of a sliding window. Output position o covers the input positions
//   o * stride - pad_begin + k * dilation,  k in [0, kernel);
// positions outside [0, input) are padding. Under ceil_mode the last window may reach beyond input + pad_end.
struct WindowAxis {
  int64_t input =
      0;  // kUnknownDim where the shape does not say; then output is unknown, and pads are 0 under SAME_*
  int64_t output = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  // Positions from the first to the last that one window covers.
  int64_t Extent() const { return dilation * (kernel - 1) + 1; }
  int64_t InputPosition(int64_t o, int64_t k) const {
    return o * stride - pad_begin + k * dilation;
  }
  // For ConvTranspose, where the parts are reversed: input position i adds to the output positions
  // i * stride - pad_begin + k * dilation.
  friend bool operator==(const WindowAxis&, const WindowAxis&) = default;
};

// A convolution. Weights are [out_channels, in_channels / groups, kernel...] (ConvTranspose: [in_channels,
// out_channels / groups, kernel...]) under either layout of the activations.
struct ConvGeometry {
  bool nhwc =
      false;  // activations [batch, spatial..., channels]; else [batch, channels, spatial...]
  bool transposed = false;
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;
  std::vector<WindowAxis> axes;  // outermost (height) first

  int rank() const { return static_cast<int>(axes.size()); }
  bool IsKnown() const;  // no unknown dimension among batch, inputs and outputs
  bool IsDepthwise() const { return groups > 1 && groups == in_channels; }
  bool IsPointwise() const;  // kernel 1, stride 1, no padding on every axis
  int64_t KernelElements() const;
  // The result's shape in the activations' layout.
  Shape OutputShape() const;
};

// A pool. Global pools have the whole input as kernel.
struct PoolGeometry {
  bool nhwc = false;
  int64_t batch = 1;
  int64_t channels = 1;
  bool ceil_mode = false;
  bool count_include_pad =
      false;  // AveragePool: divide by all window positions within the padded input
  std::vector<WindowAxis> axes;

  int rank() const { return static_cast<int>(axes.size()); }
  bool IsKnown() const;
  Shape OutputShape() const;
};

// Resolves Conv, ConvTranspose, ConvInteger and QLinearConv for activations and weights of the given shapes (not
// necessarily those declared in the graph: an executor has shapes of its own). Unknown spatial dimensions and batch are
// allowed and stay unknown; ranks, channels and kernel must be known. `source` is the file for error messages.
//   errors  attributes of the wrong length or sign, channels that do not fit, a window larger than its padded input
//   source  ONNX Operators.md, Conv-11, ConvTranspose-11
StatusOr<ConvGeometry> ResolveConv(const Node& node, const Shape& input, const Shape& weights,
                                   std::string_view source = "");
// The same with the shapes of the node's operand types, which must be there.
StatusOr<ConvGeometry> ResolveConv(const Node& node, std::string_view source = "");

// Resolves MaxPool, AveragePool, GlobalAveragePool and GlobalMaxPool.
//   source  ONNX Operators.md, AveragePool-19, MaxPool-12; a last window that would start in the end padding is dropped
StatusOr<PoolGeometry> ResolvePool(const Node& node, const Shape& input,
                                   std::string_view source = "");
StatusOr<PoolGeometry> ResolvePool(const Node& node, std::string_view source = "");

// Which operands of a convolution are its activations, weights and bias (-1: takes none).
struct ConvOperands {
  int input, weights, bias;
};
std::optional<ConvOperands> ConvOperandsOf(Op op);

// The attribute `layout` read: true for "nhwc", false for "nchw" or absent.
bool IsNhwc(const Node& node);

}  // namespace kiln

#endif  // KILN_IR_WINDOW_H_
