// Shape rules of element-wise operators: the result has the operand's shape, or the shape to which
// the operands broadcast.
#include "kiln/ir/shape_rules.h"

namespace kiln::shape_rules {

// Operators with one operand: the result has its shape.
#define KILN_SAME_SHAPE(id) \
  Status Infer##id(Context& c) { return SameShape(c); }
KILN_SAME_SHAPE(Relu)
KILN_SAME_SHAPE(LeakyRelu)
KILN_SAME_SHAPE(Elu)
KILN_SAME_SHAPE(Sigmoid)
KILN_SAME_SHAPE(HardSigmoid)
KILN_SAME_SHAPE(HardSwish)
KILN_SAME_SHAPE(Tanh)
KILN_SAME_SHAPE(Erf)
KILN_SAME_SHAPE(Gelu)
KILN_SAME_SHAPE(Softplus)
KILN_SAME_SHAPE(Sqrt)
KILN_SAME_SHAPE(Reciprocal)
KILN_SAME_SHAPE(Neg)
KILN_SAME_SHAPE(Abs)
KILN_SAME_SHAPE(Exp)
KILN_SAME_SHAPE(Log)
KILN_SAME_SHAPE(Sin)
KILN_SAME_SHAPE(Cos)
KILN_SAME_SHAPE(Floor)
KILN_SAME_SHAPE(Ceil)
KILN_SAME_SHAPE(Round)
KILN_SAME_SHAPE(Sign)
KILN_SAME_SHAPE(Not)
KILN_SAME_SHAPE(Identity)
#undef KILN_SAME_SHAPE

// Operators with several operands: the result has the shape to which they broadcast.
#define KILN_BROADCAST(id) \
  Status Infer##id(Context& c) { return c.SetBroadcast(0, c.node().num_operands()); }
KILN_BROADCAST(Add)
KILN_BROADCAST(Sub)
KILN_BROADCAST(Mul)
KILN_BROADCAST(Div)
KILN_BROADCAST(Pow)
KILN_BROADCAST(Min)
KILN_BROADCAST(Max)
KILN_BROADCAST(Mean)
KILN_BROADCAST(Sum)
KILN_BROADCAST(Equal)
KILN_BROADCAST(Greater)
KILN_BROADCAST(GreaterOrEqual)
KILN_BROADCAST(Less)
KILN_BROADCAST(LessOrEqual)
KILN_BROADCAST(And)
KILN_BROADCAST(Or)
KILN_BROADCAST(Xor)
KILN_BROADCAST(Where)
#undef KILN_BROADCAST

// Result: the broadcast shape. Only the C remainder (fmod=1) is defined for floats.
Status InferMod(Context& c) {
  if (!c.Flag("fmod", false) && IsFloat(c.node().operand(0)->element())) {
    return c.Error("is an integer modulo of floats", "fmod=1 for floats");
  }
  return c.SetBroadcast(0, 2);
}

// Result: the shape of operand 0, to which the slope must broadcast.
Status InferPRelu(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const Shape* slope = c.ShapeOf(1);
  if (x != nullptr && slope != nullptr && !BroadcastsTo(*slope, *x)) {
    return c.Error(fmt::format("slope {} does not broadcast to the input {}", slope->ToString(),
                               x->ToString()),
                   "one slope, or one a channel as Cx1x1");
  }
  return SameShape(c);
}

// Result: the shape of operand 0; the bounds are scalars.
Status InferClip(Context& c) {
  for (int i = 1; i < 3; ++i) {
    const Shape* bound = c.ShapeOf(i);
    if (bound != nullptr && bound->IsKnown() && CheckedNumElements(*bound) != 1) {
      return c.Error(fmt::format("{} has shape {}", i == 1 ? "min" : "max", bound->ToString()),
                     "a scalar");
    }
  }
  return SameShape(c);
}

// Result: the shape of operand 0, with the element type of the attribute `to`.
Status InferCast(Context& c) {
  const int64_t code = c.Int("to", 0);
  const std::optional<ElementType> element = FindElementTypeByOnnxCode(code);
  if (!element.has_value()) {
    return c.Error(fmt::format("casts to ONNX element type {}, which Kiln does not hold", code),
                   "float, double, float16, bfloat16, bool, string, or an integer of 8 to 64 bits");
  }
  c.SetElement(0, *element);
  return SameShape(c);
}

// Results: operand 0 (dropout is the identity at inference) and its mask.
Status InferDropout(Context& c) {
  c.SetShape(1, c.ShapeOf(0));
  return SameShape(c);
}

}  // namespace kiln::shape_rules
