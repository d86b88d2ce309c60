// Shape rules of Einsum and of the recurrent operators RNN, GRU and LSTM.
#include "kiln/ir/checked_math.h"
#include "kiln/ir/einsum.h"
#include "kiln/ir/shape_rules.h"

namespace kiln::shape_rules {
namespace {

// One dimension that several operands determine; they must agree.
class Dimension {
 public:
  Dimension(const Context& c, std::string_view what) : c_(c), what_(what) {}
  // Records that the dimension is `length` according to `where`. Errors: another length is known.
  Status Is(int64_t length, std::string_view where) {
    if (length < 0) return OkStatus();
    if (length_ >= 0 && length_ != length) {
      return c_.Error(fmt::format("{} has {} of {}, others have {}", where, what_, length, length_),
                      "the same");
    }
    length_ = length;
    return OkStatus();
  }
  int64_t length() const { return length_; }

 private:
  const Context& c_;
  std::string_view what_;
  int64_t length_ = kUnknownDim;
};

// Checks that operand i, if its shape is known, has the given rank.
Status RequireRank(const Context& c, int i, std::string_view what, int rank) {
  const Shape* shape = c.ShapeOf(i);
  if (shape == nullptr || shape->rank() == rank) return OkStatus();
  return c.Error(fmt::format("{} is {}", what, shape->ToString()), fmt::format("{} axes", rank));
}

// Infers RNN, GRU and LSTM, which differ in the number of gates. Operands: X [steps, batch, input],
// W [directions, gates * hidden, input], R [directions, gates * hidden, hidden], B [directions, 2 *
// gates * hidden], sequence_lens [batch], initial_h [directions, batch, hidden], and for LSTM
// initial_c (as initial_h) and P [directions, 3 * hidden]. Layout 1 has the batch axis first in X
// and in the states.
Status InferRecurrent(Context& c, int64_t gates) {
  const std::string direction = c.String("direction", "forward");
  const int64_t layout = c.Int("layout", 0);
  if (layout != 0 && layout != 1) return c.Error(fmt::format("layout is {}", layout), "0 or 1");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  constexpr std::string_view kNames[] = {"X",         "W",         "R", "B", "sequence_lens",
                                         "initial_h", "initial_c", "P"};
  constexpr int kRanks[] = {3, 3, 3, 2, 1, 3, 3, 2};
  for (int i = 0; i < 8; ++i) KILN_RETURN_IF_ERROR(RequireRank(c, i, kNames[i], kRanks[i]));
  Dimension steps(c, "steps"), batch(c, "a batch"), input(c, "an input size"),
      hidden(c, "a hidden size");
  if (c.node().attributes().Has("hidden_size")) {
    if (c.Int("hidden_size", 0) < 1)
      return c.Error(fmt::format("hidden_size is {}", c.Int("hidden_size", 0)), "1 or more");
    KILN_RETURN_IF_ERROR(hidden.Is(c.Int("hidden_size", 0), "the attribute"));
  }
  // Checks that an axis of operand i counts the directions.
  const auto directions_of = [&](int i, int axis) -> Status {
    const Shape* shape = c.ShapeOf(i);
    if (shape == nullptr || (*shape)[axis] < 0 || (*shape)[axis] == directions) return OkStatus();
    return c.Error(
        fmt::format("{} is {}", kNames[i], shape->ToString()),
        fmt::format("{} along axis {}, for the direction is {}", directions, axis, direction));
  };
  // Checks that an axis of operand i is `multiple` * hidden.
  const auto hidden_of = [&](int i, int axis, int64_t multiple) -> Status {
    const Shape* shape = c.ShapeOf(i);
    if (shape == nullptr || (*shape)[axis] < 0) return OkStatus();
    if ((*shape)[axis] % multiple != 0) {
      return c.Error(fmt::format("{} is {}", kNames[i], shape->ToString()),
                     fmt::format("a multiple of {} along axis {}", multiple, axis));
    }
    return hidden.Is((*shape)[axis] / multiple, kNames[i]);
  };
  if (const Shape* x = c.ShapeOf(0)) {
    KILN_RETURN_IF_ERROR(steps.Is((*x)[layout == 0 ? 0 : 1], "X"));
    KILN_RETURN_IF_ERROR(batch.Is((*x)[layout == 0 ? 1 : 0], "X"));
    KILN_RETURN_IF_ERROR(input.Is((*x)[2], "X"));
  }
  for (int i : {1, 2, 3, 7}) KILN_RETURN_IF_ERROR(directions_of(i, 0));
  if (const Shape* w = c.ShapeOf(1)) KILN_RETURN_IF_ERROR(input.Is((*w)[2], "W"));
  KILN_RETURN_IF_ERROR(hidden_of(1, 1, gates));
  KILN_RETURN_IF_ERROR(hidden_of(2, 1, gates));
  KILN_RETURN_IF_ERROR(hidden_of(2, 2, 1));
  KILN_RETURN_IF_ERROR(hidden_of(3, 1, 2 * gates));
  if (const Shape* lengths = c.ShapeOf(4))
    KILN_RETURN_IF_ERROR(batch.Is((*lengths)[0], "sequence_lens"));
  for (int i : {5, 6}) {
    const Shape* state = c.ShapeOf(i);
    if (state == nullptr) continue;
    KILN_RETURN_IF_ERROR(directions_of(i, layout == 0 ? 0 : 1));
    KILN_RETURN_IF_ERROR(batch.Is((*state)[layout == 0 ? 1 : 0], kNames[i]));
    KILN_RETURN_IF_ERROR(hidden_of(i, 2, 1));
  }
  KILN_RETURN_IF_ERROR(hidden_of(7, 1, 3));
  // Y, then Y_h and, for LSTM, Y_c.
  const int64_t s = steps.length(), b = batch.length(), h = hidden.length();
  c.SetShape(0, layout == 0 ? Shape{s, directions, b, h} : Shape{b, s, directions, h});
  for (int i : {1, 2})
    c.SetShape(i, layout == 0 ? Shape{directions, b, h} : Shape{b, directions, h});
  return OkStatus();
}

}  // namespace

Status InferRNN(Context& c) { return InferRecurrent(c, 1); }
Status InferGRU(Context& c) { return InferRecurrent(c, 3); }
Status InferLSTM(Context& c) { return InferRecurrent(c, 4); }

// Result: the length of each label of the equation's result. Unknown if an operand's rank is
// unknown.
Status InferEinsum(Context& c) {
  std::vector<Shape> shapes;
  for (int i = 0; i < c.node().num_operands(); ++i) {
    const Shape* shape = c.ShapeOf(i);
    if (shape == nullptr) return OkStatus();
    shapes.push_back(*shape);
  }
  const StatusOr<EinsumEquation> equation = ParseEinsum(c.String("equation", ""), shapes);
  if (!equation.ok())
    return c.Error(MessageOf(equation.status()), "an equation that fits the operands");
  Ints out;
  for (int label : equation->result) out.push_back(equation->sizes[static_cast<size_t>(label)]);
  c.SetShape(0, Shape(std::move(out)));
  return OkStatus();
}

}  // namespace kiln::shape_rules
