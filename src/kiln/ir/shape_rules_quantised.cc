// Shape rules of operators in already quantised networks: ONNX's QDQ and integer operators, QONNX,
// and Kiln's Quantise.
#include "kiln/ir/shape_rules.h"
#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/support/excerpt.h"

namespace kiln::shape_rules {
namespace {

// Checks the scale of QuantizeLinear and DequantizeLinear, and the zero point if there is one: one
// number, one per index of `axis`, or one per block of `block_size` elements along it.
Status CheckScale(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const Shape* scale = c.ShapeOf(1);
  const Shape* zero = c.ShapeOf(2);
  if (scale != nullptr && zero != nullptr && scale->IsKnown() && zero->IsKnown() &&
      *scale != *zero) {
    return c.Error(fmt::format("scale {} and zero point {} differ in shape", scale->ToString(),
                               zero->ToString()),
                   "");
  }
  const int64_t block = c.Int("block_size", 0);
  if (block < 0) return c.Error(fmt::format("block_size is {}", block), "0 or more");
  if (x == nullptr || scale == nullptr || !scale->IsKnown()) return OkStatus();
  const bool one = scale->rank() == 0 || (scale->rank() == 1 && (*scale)[0] == 1);
  if (one && block == 0) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 1), x->rank()));
  if (block == 0) {
    if (scale->rank() == 1 && ((*x)[axis] < 0 || (*x)[axis] == (*scale)[0])) return OkStatus();
    return c.Error(
        fmt::format("the scale has shape {}", scale->ToString()),
        fmt::format("one number, or one for each of axis {} of {}", axis, x->ToString()));
  }
  bool fits = scale->rank() == x->rank();
  for (int i = 0; fits && i < x->rank(); ++i) {
    const int64_t dim = (*x)[i];
    fits = dim < 0 || (*scale)[i] == (i == axis ? dim / block + (dim % block != 0 ? 1 : 0) : dim);
  }
  if (fits) return OkStatus();
  return c.Error(
      fmt::format("the scale has shape {}", scale->ToString()),
      fmt::format("one number a block of {} along axis {} of {}", block, axis, x->ToString()));
}

// Checks that operands 1 to `count` broadcast to operand 0, and gives result 0 its shape.
Status CheckBroadcastToInput(Context& c, int count) {
  const Shape* x = c.ShapeOf(0);
  for (int i = 1; i <= count; ++i) {
    const Shape* operand = c.ShapeOf(i);
    // A list of one number counts as a scalar.
    if (x == nullptr || operand == nullptr || CheckedNumElements(*operand) == 1 ||
        BroadcastsTo(*operand, *x))
      continue;
    return c.Error(fmt::format("operand {} of shape {} does not broadcast to {}", i,
                               operand->ToString(), x->ToString()),
                   "one number, or dimensions that fit from the last axis");
  }
  return SameShape(c);
}

}  // namespace

// Result: operand 0's shape, with the element type of the zero point, else of output_dtype, else
// u8.
Status InferQuantizeLinear(Context& c) {
  ElementType element = ElementType::kUint8;
  const int64_t code = c.Int("output_dtype", 0);
  if (code != 0) {
    const auto asked = FindElementTypeByOnnxCode(code);
    if (!asked.has_value() || !IsInteger(*asked) || SizeOf(*asked) > 2) {
      return c.Error(fmt::format("output_dtype is {}", code), "an integer type of 8 or 16 bits");
    }
    element = *asked;
  }
  if (c.Has(2)) {
    const ElementType zero = c.node().operand(2)->element();
    if (code != 0 && zero != element) {
      return c.Error(fmt::format("output_dtype {} differs from the zero point's {}",
                                 NameOf(element), NameOf(zero)),
                     "");
    }
    element = zero;
  }
  c.SetElement(0, element);
  KILN_RETURN_IF_ERROR(CheckScale(c));
  return SameShape(c);
}

Status InferDequantizeLinear(Context& c) {
  KILN_RETURN_IF_ERROR(CheckScale(c));
  return SameShape(c);
}

// Results: the codes with the shape of operand 0, a scalar scale, and a scalar zero point.
Status InferDynamicQuantizeLinear(Context& c) {
  c.SetShape(1, Shape{});
  c.SetShape(2, Shape{});
  return SameShape(c);
}

Status InferQuant(Context& c) { return CheckBroadcastToInput(c, 3); }
Status InferBipolarQuant(Context& c) { return CheckBroadcastToInput(c, 1); }

// Result: the shape of operand 0, for which the annotation in the attribute `type` must be valid.
Status InferQuantise(Context& c) {
  KILN_RETURN_IF_ERROR(SameShape(c));
  const std::string text = c.node().attributes().String("type", "");
  const auto q = ParseQuantisation(text, "");
  if (!q.ok())
    return c.Error(fmt::format("type is {}: {}", QuotedExcerpt(text), MessageOf(q.status())),
                   "an annotation");
  const Status fits = VerifyQuantisation(*q, c.node().operand(0)->type(), "", "");
  return fits.ok() ? fits : c.Error(MessageOf(fits), "");
}

Status InferTrunc(Context& c) { return CheckBroadcastToInput(c, 4); }

}  // namespace kiln::shape_rules
