// The geometry of convolutions and pools, computed from attributes and shapes. Everything that a
// node leaves implicit (auto_pad, default strides, kernel sizes that only the weights show,
// ceil_mode) is a number here. Supports any number of spatial axes. Executors, importer, shape
// inference and compilers all use these functions.
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
// positions outside [0, input) are padding. Under ceil_mode the last window may extend beyond input
// + pad_end.
//
// Example: input 5, kernel 3, stride 2, pads 1 and 1 give output 3 (p is padding):
//   padded input   p 0 1 2 3 4 p
//   o = 0          p 0 1
//   o = 1              1 2 3
//   o = 2                  3 4 p
struct WindowAxis {
  // kUnknownDim if the shape does not determine it; `output` is then unknown too, and pads are 0
  // under SAME_*.
  int64_t input = 0;
  int64_t output = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  // Returns the distance from the first to the last position of a window, both included.
  int64_t Extent() const { return dilation * (kernel - 1) + 1; }
  // Returns the input position of kernel element k in the window of output position o.
  int64_t InputPosition(int64_t o, int64_t k) const {
    return o * stride - pad_begin + k * dilation;
  }
  // In ConvTranspose the roles are exchanged: input position i contributes to the output positions
  // i * stride - pad_begin + k * dilation.
  friend bool operator==(const WindowAxis&, const WindowAxis&) = default;
};

// The geometry of a convolution. Weights are [out_channels, in_channels / groups, kernel...], or
// [in_channels, out_channels / groups, kernel...] for ConvTranspose, under either layout of the
// activations.
struct ConvGeometry {
  // Whether activations are [batch, spatial..., channels] instead of [batch, channels, spatial...].
  bool nhwc = false;
  bool transposed = false;  // ConvTranspose
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;
  std::vector<WindowAxis> axes;  // outermost (height) first

  int rank() const { return static_cast<int>(axes.size()); }
  bool IsKnown() const;  // whether batch, input and output lengths are all known
  bool IsDepthwise() const { return groups > 1 && groups == in_channels; }
  bool IsPointwise() const;        // whether every axis has kernel 1, stride 1 and no padding
  int64_t KernelElements() const;  // product of the kernel lengths
  // Returns the shape of the result in the layout of the activations.
  Shape OutputShape() const;
};

// The geometry of a pool. The kernel of a global pool is the whole input.
struct PoolGeometry {
  bool nhwc = false;
  int64_t batch = 1;
  int64_t channels = 1;
  bool ceil_mode = false;
  bool count_include_pad = false;  // AveragePool: the divisor counts positions in the padding
  std::vector<WindowAxis> axes;

  int rank() const { return static_cast<int>(axes.size()); }
  bool IsKnown() const;
  Shape OutputShape() const;
};

// Resolves Conv, ConvTranspose, ConvInteger and QLinearConv for activations and weights of the
// given shapes, which need not be the declared ones: executors have shapes of their own. Spatial
// dimensions and batch may be unknown and then remain unknown; ranks, channels and kernel must be
// known. `source` is the file for messages. Follows ONNX Operators.md, Conv-11 and
// ConvTranspose-11. Errors: attributes of the wrong length or sign, channels that do not fit, a
// window larger than its padded input.
StatusOr<ConvGeometry> ResolveConv(const Node& node, const Shape& input, const Shape& weights,
                                   std::string_view source = "");
// Resolves a convolution with the shapes of its operand types, which must be present.
StatusOr<ConvGeometry> ResolveConv(const Node& node, std::string_view source = "");

// Resolves MaxPool, AveragePool, GlobalAveragePool and GlobalMaxPool. Follows ONNX Operators.md,
// AveragePool-19 and MaxPool-12; a last window that would start in the end padding is dropped.
StatusOr<PoolGeometry> ResolvePool(const Node& node, const Shape& input,
                                   std::string_view source = "");
StatusOr<PoolGeometry> ResolvePool(const Node& node, std::string_view source = "");

// The operand numbers of a convolution's activations, weights and bias (-1: none).
struct ConvOperands {
  int input, weights, bias;
};
// Returns the operand numbers of a convolution, or nullopt for other operators.
std::optional<ConvOperands> ConvOperandsOf(Op op);

// Returns whether the attribute `layout` is "nhwc".
bool IsNhwc(const Node& node);

}  // namespace kiln

#endif  // KILN_IR_WINDOW_H_
