// Shape rules of normalisations and softmax: the result has the shape of operand 0.
#include "kiln/ir/shape_rules.h"

namespace kiln::shape_rules {
namespace {

// Checks that each of the operands [first, last] is a list with one number per channel (axis 1 of
// operand 0).
Status CheckPerChannel(Context& c, int first, int last) {
  const Shape* x = c.ShapeOf(0);
  if (x != nullptr && x->rank() < 2)
    return c.Error("the input has shape " + x->ToString(), "batch, channels, ...");
  for (int i = first; i <= last; ++i) {
    const Shape* list = c.ShapeOf(i);
    if (list == nullptr) continue;
    const bool fits = list->rank() == 1 &&
                      (x == nullptr || (*x)[1] < 0 || (*list)[0] < 0 || (*list)[0] == (*x)[1]);
    if (!fits) {
      return c.Error(fmt::format("operand {} has shape {}", i, list->ToString()),
                     x != nullptr
                         ? fmt::format("one number for each of the channels of {}", x->ToString())
                         : std::string("one number a channel"));
    }
  }
  return OkStatus();
}

// Gives result 0 the shape of operand 0. If the number of channels is unknown there, it is taken
// from the per-channel operands [first, last].
Status SameShapeWithChannels(Context& c, int first, int last) {
  KILN_RETURN_IF_ERROR(CheckPerChannel(c, first, last));
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr || (*x)[1] >= 0) return SameShape(c);
  Ints dims = x->dims();
  for (int i = first; i <= last && dims[1] < 0; ++i) {
    if (const Shape* list = c.ShapeOf(i)) dims[1] = (*list)[0];
  }
  c.SetShape(0, Shape(std::move(dims)));
  return OkStatus();
}

// Gives result 0 the shape of operand 0 and checks the attribute `axis`.
Status CheckAxisOfInput(Context& c, int64_t fallback) {
  if (const Shape* x = c.ShapeOf(0)) {
    const auto axis = c.Axis(c.Int("axis", fallback), x->rank());
    if (!axis.ok()) return axis.status();
  }
  return SameShape(c);
}

}  // namespace

// Operands: x, scale, bias, mean, variance; training mode has other results and is rejected.
Status InferBatchNormalization(Context& c) {
  if (c.Flag("training_mode", false))
    return c.Error("is in training mode", "a network exported for inference");
  return SameShapeWithChannels(c, 1, 4);
}

Status InferInstanceNormalization(Context& c) { return SameShapeWithChannels(c, 1, 2); }

// Scale and bias have one number per channel (opset 21), and channels form num_groups groups.
Status InferGroupNormalization(Context& c) {
  KILN_RETURN_IF_ERROR(CheckPerChannel(c, 1, 2));
  const int64_t groups = c.Int("num_groups", 0);
  if (groups < 1) return c.Error(fmt::format("num_groups is {}", groups), "1 or more");
  const Shape* x = c.ShapeOf(0);
  if (x != nullptr && (*x)[1] >= 0 && (*x)[1] % groups != 0) {
    return c.Error(fmt::format("{} channels do not split into {} groups", (*x)[1], groups));
  }
  return SameShape(c);
}

// Results: operand 0's shape; mean and inverse standard deviation, with length 1 on all axes from
// `axis`. Scale and bias broadcast to operand 0.
Status InferLayerNormalization(Context& c) {
  c.SetElement(1, ElementType::kFloat32);
  c.SetElement(2, ElementType::kFloat32);
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", -1), x->rank()));
  const Shape normalised(Ints(x->dims().begin() + axis, x->dims().end()));
  for (int i = 1; i < 3; ++i) {
    const Shape* operand = c.ShapeOf(i);
    if (operand != nullptr && !BroadcastsTo(*operand, *x)) {
      return c.Error(fmt::format("{} {} does not fit the input {}", i == 1 ? "scale" : "bias",
                                 operand->ToString(), x->ToString()),
                     "shape " + normalised.ToString());
    }
  }
  Ints statistics = x->dims();
  for (size_t i = static_cast<size_t>(axis); i < statistics.size(); ++i) statistics[i] = 1;
  c.SetShape(1, Shape(statistics));
  c.SetShape(2, Shape(statistics));
  return SameShape(c);
}

// Result: the shape of operand 0, to which the scale broadcasts.
Status InferRmsNormalization(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_RETURN_IF_ERROR(c.Axis(c.Int("axis", -1), x->rank()).status());
  const Shape* scale = c.ShapeOf(1);
  if (scale != nullptr && !BroadcastsTo(*scale, *x)) {
    return c.Error(
        fmt::format("scale {} does not fit the input {}", scale->ToString(), x->ToString()),
        "a shape that broadcasts to the input's");
  }
  return SameShape(c);
}

Status InferSoftmax(Context& c) { return CheckAxisOfInput(c, -1); }
Status InferLogSoftmax(Context& c) { return CheckAxisOfInput(c, -1); }

}  // namespace kiln::shape_rules
