// Shape rules of convolutions and pools. ir/window.h computes the geometry.
#include "kiln/ir/shape_rules.h"
#include "kiln/ir/window.h"

namespace kiln::shape_rules {
namespace {

// Result: the output shape of the convolution. If the weights' shape is unknown only the rank is
// known.
Status InferConvolution(Context& c) {
  const ConvOperands operands = *ConvOperandsOf(c.node().op());
  const Shape* input = c.ShapeOf(operands.input);
  const Shape* weights = c.ShapeOf(operands.weights);
  if (input == nullptr || weights == nullptr) return OkStatus();
  if (!weights->IsKnown()) {
    c.SetShape(0, UnknownShape(input->rank()));
    return OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(const ConvGeometry geometry,
                        ResolveConv(c.node(), *input, *weights, c.source()));
  const Shape* bias = operands.bias < 0 ? nullptr : c.ShapeOf(operands.bias);
  if (bias != nullptr && bias->IsKnown() && *bias != Shape({geometry.out_channels})) {
    return c.Error(fmt::format("the bias has shape {}", bias->ToString()),
                   fmt::format("{}, one number an output channel", geometry.out_channels));
  }
  c.SetShape(0, geometry.OutputShape());
  return OkStatus();
}

// Results: the output shape of the pool, for MaxPool's indices as well.
Status InferPool(Context& c) {
  const Shape* input = c.ShapeOf(0);
  if (input == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const PoolGeometry geometry, ResolvePool(c.node(), *input, c.source()));
  c.SetShape(0, geometry.OutputShape());
  c.SetShape(1, geometry.OutputShape());  // MaxPool's indices
  return OkStatus();
}

}  // namespace

Status InferConv(Context& c) { return InferConvolution(c); }
Status InferConvTranspose(Context& c) { return InferConvolution(c); }
Status InferConvInteger(Context& c) { return InferConvolution(c); }
Status InferQLinearConv(Context& c) { return InferConvolution(c); }

Status InferMaxPool(Context& c) { return InferPool(c); }
Status InferAveragePool(Context& c) { return InferPool(c); }
Status InferGlobalAveragePool(Context& c) { return InferPool(c); }
Status InferGlobalMaxPool(Context& c) { return InferPool(c); }

}  // namespace kiln::shape_rules
