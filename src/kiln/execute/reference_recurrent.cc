// Reference kernels of RNN, GRU and LSTM as ONNX defines them: a plain recurrence, one time step
// and one sequence at a time. Sums and activations are computed in binary64 without rounding; after
// each time step the states are rounded to the element type.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kiln/execute/reference_kernels.h"
#include "kiln/numerics/elementary.h"
#include "kiln/support/excerpt.h"

namespace kiln::reference {
namespace {

using Function = std::function<double(double)>;

// An activation function that the attribute `activations` can name.
struct FunctionInfo {
  std::string_view name;
  bool takes_alpha, takes_beta;
  double alpha, beta;  // defaults
  double (*apply)(double x, double alpha, double beta);
};

// Names are in lower case and compared so, because exporters write both "Tanh" and "tanh".
constexpr FunctionInfo kFunctions[] = {
    {"relu", false, false, 0, 0, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"tanh", false, false, 0, 0, [](double x, double, double) { return elementary::Tanh(x); }},
    {"sigmoid", false, false, 0, 0,
     [](double x, double, double) { return 1 / (1 + elementary::Exp(-x)); }},
    {"affine", true, true, 1, 0, [](double x, double a, double b) { return a * x + b; }},
    {"leakyrelu", true, false, 0.01, 0,
     [](double x, double a, double) { return x < 0 ? a * x : x; }},
    {"thresholdedrelu", true, false, 1, 0,
     [](double x, double a, double) { return x >= a ? x : 0; }},
    {"scaledtanh", true, true, 1, 1,
     [](double x, double a, double b) { return a * elementary::Tanh(b * x); }},
    {"hardsigmoid", true, true, 0.2, 0.5,
     [](double x, double a, double b) { return std::min(std::max(a * x + b, 0.0), 1.0); }},
    {"elu", true, false, 1, 0,
     [](double x, double a, double) { return x < 0 ? a * elementary::Expm1(x) : x; }},
    {"softsign", false, false, 0, 0,
     [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"softplus", false, false, 0, 0,
     [](double x, double, double) {
       return std::max(x, 0.0) + elementary::Log1p(elementary::Exp(-std::abs(x)));
     }},
};

// Returns a list attribute, or an empty list if it is absent.
template <typename T>
std::vector<T> ListAttribute(const KernelCall& call, std::string_view name) {
  for (const auto& [key, value] : call.attributes()) {
    if (key != name) continue;
    if (const auto* list = std::get_if<std::vector<T>>(&value)) return *list;
  }
  return {};
}

// Returns the activation functions of all directions, in the attribute's order. The numbers of
// activation_alpha and activation_beta are assigned, in order, to the functions that take them.
StatusOr<std::vector<Function>> ActivationsOf(const KernelCall& call,
                                              const std::vector<std::string>& defaults,
                                              int directions) {
  std::vector<std::string> names = ListAttribute<std::string>(call, "activations");
  const size_t wanted = defaults.size() * static_cast<size_t>(directions);
  if (names.empty()) {
    for (int d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != wanted) {
    return call.Error(fmt::format("{} activations", names.size()),
                      fmt::format("{}, for each direction", wanted));
  }
  const std::vector<float> alphas = ListAttribute<float>(call, "activation_alpha");
  const std::vector<float> betas = ListAttribute<float>(call, "activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Function> out;
  const double clip = call.attributes().Float("clip", 0);
  if (call.attributes().Has("clip") && !(clip >= 0))
    return call.Error(fmt::format("clip is {}", clip), "0 or more");
  for (const std::string& name : names) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const auto* info = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                    [&](const FunctionInfo& f) { return f.name == lower; });
    if (info == std::end(kFunctions)) {
      return call.Unsupported(fmt::format("activation {}", QuotedExcerpt(name)),
                              "one of ONNX's activation functions");
    }
    double alpha = info->alpha, beta = info->beta;
    if (info->takes_alpha && next_alpha < alphas.size()) alpha = alphas[next_alpha++];
    if (info->takes_beta && next_beta < betas.size()) beta = betas[next_beta++];
    const bool clips = call.attributes().Has("clip") && clip > 0;
    out.emplace_back([=](double x) {
      return info->apply(clips ? std::min(std::max(x, -clip), clip) : x, alpha, beta);
    });
  }
  return out;
}

// The sizes of a recurrence, and the offsets of rows of X, Y and the states in either layout.
struct Geometry {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1, gates = 1;
  bool batch_first = false;
  // Offsets of the rows of X, Y and the states: time step t, direction d, sequence b.
  int64_t XRow(int64_t t, int64_t b) const {
    return (batch_first ? b * steps + t : t * batch + b) * input;
  }
  int64_t YRow(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) *
           hidden;
  }
  int64_t StateRow(int64_t d, int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
  Shape YShape() const {
    return batch_first ? Shape{batch, steps, directions, hidden}
                       : Shape{steps, directions, batch, hidden};
  }
  Shape StateShape() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
};

// Returns an error unless operand i is absent or has this shape.
Status RequireShape(const KernelCall& call, int i, const Shape& shape) {
  if (!call.Has(i)) return OkStatus();
  if (call.operand(i).shape() == shape) return OkStatus();
  return call.Error(fmt::format("operand {} is {}", i, call.operand(i).shape().ToString()),
                    shape.ToString());
}

// Reads the sizes and checks the operands' shapes. `gates` is 1 for RNN, 3 for GRU, 4 for LSTM.
StatusOr<Geometry> GeometryOf(const KernelCall& call, int64_t gates) {
  Geometry g;
  g.gates = gates;
  const std::string direction = call.attributes().String("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return call.Error("direction is " + QuotedExcerpt(direction),
                      "forward, reverse or bidirectional");
  }
  const int64_t layout = call.attributes().Int("layout", 0);
  if (layout != 0 && layout != 1) return call.Error(fmt::format("layout is {}", layout), "0 or 1");
  g.directions = direction == "bidirectional" ? 2 : 1;
  g.batch_first = layout == 1;
  const Shape& x = call.operand(0).shape();
  const Shape& r = call.operand(2).shape();
  if (x.rank() != 3 || r.rank() != 3) {
    return call.Error(fmt::format("X is {} and R is {}", x.ToString(), r.ToString()),
                      "three axes each");
  }
  g.steps = x[g.batch_first ? 1 : 0];
  g.batch = x[g.batch_first ? 0 : 1];
  g.input = x[2];
  g.hidden = r[2];
  if (call.attributes().Has("hidden_size") && call.attributes().Int("hidden_size", 0) != g.hidden) {
    return call.Error(fmt::format("hidden_size is {}, R has {}",
                                  call.attributes().Int("hidden_size", 0), g.hidden),
                      "the same");
  }
  for (int i = 1; i < call.num_operands(); ++i) {
    if (call.Has(i) && i != 4) KILN_RETURN_IF_ERROR(call.RequireSameType(0, i));
  }
  KILN_RETURN_IF_ERROR(RequireShape(call, 1, {g.directions, gates * g.hidden, g.input}));
  KILN_RETURN_IF_ERROR(RequireShape(call, 2, {g.directions, gates * g.hidden, g.hidden}));
  KILN_RETURN_IF_ERROR(RequireShape(call, 3, {g.directions, 2 * gates * g.hidden}));
  KILN_RETURN_IF_ERROR(RequireShape(call, 4, {g.batch}));
  KILN_RETURN_IF_ERROR(RequireShape(call, 5, g.StateShape()));
  KILN_RETURN_IF_ERROR(RequireShape(call, 6, g.StateShape()));
  KILN_RETURN_IF_ERROR(RequireShape(call, 7, {g.directions, 3 * g.hidden}));
  return g;
}

// Returns the length of each sequence; the full number of time steps without sequence_lens.
StatusOr<std::vector<int64_t>> LengthsOf(const KernelCall& call, const Geometry& g) {
  std::vector<int64_t> lengths(static_cast<size_t>(g.batch), g.steps);
  if (!call.Has(4)) return lengths;
  if (call.operand(4).type() != ElementType::kInt32) return call.UnsupportedType(4);
  lengths = call.operand(4).ToInts();
  for (int64_t length : lengths) {
    if (length < 0 || length > g.steps) {
      return call.Error(fmt::format("sequence_lens holds {}", length),
                        fmt::format("0 to {}", g.steps));
    }
  }
  return lengths;
}

// The inputs of one time step of one sequence. Each gate is a row of `hidden` numbers.
template <typename T>
struct Step {
  const Geometry& g;
  const std::vector<Function>& functions;  // of all directions
  int64_t direction;
  const T *x, *w, *r, *b, *p;    // of this time step and direction; b and p may be null
  const std::vector<double>& h;  // the state after the previous time step
  std::vector<double>& c;        // LSTM: the cell, updated in place
  std::vector<double>* h_after;
  bool linear_before_reset, input_forget;

  // Returns an element of the bias of input (Wb) or recurrence (Rb).
  double Bias(int64_t gate, int64_t j, bool recurrent) const {
    return b == nullptr ? 0
                        : static_cast<double>(b[((recurrent ? g.gates : 0) + gate) * g.hidden + j]);
  }
  // Returns one element of Xt W + Wb.
  double FromInput(int64_t gate, int64_t j) const {
    const T* row = w + (gate * g.hidden + j) * g.input;
    double sum = Bias(gate, j, false);
    for (int64_t i = 0; i < g.input; ++i)
      sum += static_cast<double>(x[i]) * static_cast<double>(row[i]);
    return sum;
  }
  // Returns one element of state R + Rb. `state` is the previous state, or GRU's reset state.
  double FromState(int64_t gate, int64_t j, const std::vector<double>& state) const {
    const T* row = r + (gate * g.hidden + j) * g.hidden;
    double sum = Bias(gate, j, true);
    for (int64_t i = 0; i < g.hidden; ++i)
      sum += state[static_cast<size_t>(i)] * static_cast<double>(row[i]);
    return sum;
  }
  // Returns peephole weight i (order i, o, f) of hidden element j; 0 without peepholes.
  double Peephole(int64_t i, int64_t j) const {
    return p == nullptr ? 0 : static_cast<double>(p[i * g.hidden + j]);
  }
  // Applies activation `function` of this direction.
  double Apply(size_t function, double value) const {
    const size_t each = functions.size() / static_cast<size_t>(g.directions);
    return functions[static_cast<size_t>(direction) * each + function](value);
  }
};

// RNN: Ht = f(Xt W + Ht-1 R + Wb + Rb).
template <typename T>
void StepRnn(Step<T>& s) {
  for (int64_t j = 0; j < s.g.hidden; ++j) {
    (*s.h_after)[static_cast<size_t>(j)] = s.Apply(0, s.FromInput(0, j) + s.FromState(0, j, s.h));
  }
}

// GRU, with gates in the order z, r, h.
//   z = f(Xt Wz + Ht-1 Rz + b)     r = f(Xt Wr + Ht-1 Rr + b)
//   h = g(Xt Wh + Wbh + (r * Ht-1) Rh + Rbh), or with linear_before_reset
//   h = g(Xt Wh + Wbh + r * (Ht-1 Rh + Rbh))
//   Ht = (1 - z) * h + z * Ht-1
template <typename T>
void StepGru(Step<T>& s) {
  const size_t n = static_cast<size_t>(s.g.hidden);
  // All reset gates are needed before the candidate, whose recurrence reads the whole reset state.
  std::vector<double> z(n), reset(n), state(n);
  for (size_t j = 0; j < n; ++j) {
    const auto i = static_cast<int64_t>(j);
    z[j] = s.Apply(0, s.FromInput(0, i) + s.FromState(0, i, s.h));
    reset[j] = s.Apply(0, s.FromInput(1, i) + s.FromState(1, i, s.h));
    state[j] = reset[j] * s.h[j];
  }
  for (size_t j = 0; j < n; ++j) {
    const auto i = static_cast<int64_t>(j);
    const double from_state =
        s.linear_before_reset ? reset[j] * s.FromState(2, i, s.h) : s.FromState(2, i, state);
    const double candidate = s.Apply(1, s.FromInput(2, i) + from_state);
    (*s.h_after)[j] = (1 - z[j]) * candidate + z[j] * s.h[j];
  }
}

// LSTM, with gates in the order i, o, f, c and peepholes in the order i, o, f.
//   i = f(Xt Wi + Ht-1 Ri + Pi * Ct-1 + b)
//   f = f(Xt Wf + Ht-1 Rf + Pf * Ct-1 + b), or with input_forget 1 - i
//   c = g(Xt Wc + Ht-1 Rc + b)     Ct = f * Ct-1 + i * c
//   o = f(Xt Wo + Ht-1 Ro + Po * Ct + b)     Ht = o * h(Ct)
template <typename T>
void StepLstm(Step<T>& s) {
  for (int64_t i = 0; i < s.g.hidden; ++i) {
    const auto j = static_cast<size_t>(i);
    const double before = s.c[j];
    const double in =
        s.Apply(0, s.FromInput(0, i) + s.FromState(0, i, s.h) + s.Peephole(0, i) * before);
    const double forget =
        s.input_forget
            ? 1 - in
            : s.Apply(0, s.FromInput(2, i) + s.FromState(2, i, s.h) + s.Peephole(2, i) * before);
    const double cell = s.Apply(1, s.FromInput(3, i) + s.FromState(3, i, s.h));
    s.c[j] = forget * before + in * cell;
    const double out =
        s.Apply(0, s.FromInput(1, i) + s.FromState(1, i, s.h) + s.Peephole(1, i) * s.c[j]);
    (*s.h_after)[j] = out * s.Apply(2, s.c[j]);
  }
}

// Runs all sequences in all directions. Results: Y, Y_h and, for LSTM, Y_c. Rows of Y after a
// sequence's end are 0; the states are those after its last time step, which in reverse direction
// is its first element.
template <typename T, typename StepFunction>
KernelResult Recur(const KernelCall& call, const Geometry& g,
                   const std::vector<Function>& functions, StepFunction step) {
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, LengthsOf(call, g));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(call.operand(0).type(), g.YShape()));
  Tensor y_h(y.type(), g.StateShape()), y_c(y.type(), g.StateShape());
  // The second direction of a bidirectional operator also runs backwards.
  const bool reverse_only = call.attributes().String("direction", "forward") == "reverse";
  std::vector<double> h(static_cast<size_t>(g.hidden)), c(h), next(h);
  for (int64_t d = 0; d < g.directions; ++d) {
    for (int64_t b = 0; b < g.batch; ++b) {
      const auto initial = [&](int i, std::vector<double>& state) {
        std::fill(state.begin(), state.end(), 0.0);
        if (!call.Has(i)) return;
        const T* from = Elements<T>(call.operand(i)) + g.StateRow(d, b);
        for (size_t j = 0; j < state.size(); ++j) state[j] = static_cast<double>(from[j]);
      };
      initial(5, h);
      initial(6, c);
      const int64_t length = lengths[static_cast<size_t>(b)];
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = reverse_only || d == 1 ? length - 1 - i : i;
        const auto rows = [&](int operand, int64_t each) {
          return call.Has(operand) ? Elements<T>(call.operand(operand)) + d * each : nullptr;
        };
        Step<T> s{.g = g,
                  .functions = functions,
                  .direction = d,
                  .x = Elements<T>(call.operand(0)) + g.XRow(t, b),
                  .w = rows(1, g.gates * g.hidden * g.input),
                  .r = rows(2, g.gates * g.hidden * g.hidden),
                  .b = rows(3, 2 * g.gates * g.hidden),
                  .p = rows(7, 3 * g.hidden),
                  .h = h,
                  .c = c,
                  .h_after = &next,
                  .linear_before_reset = call.attributes().Int("linear_before_reset", 0) != 0,
                  .input_forget = call.attributes().Int("input_forget", 0) != 0};
        step(s);
        // Between time steps, states are held in the element type.
        T* row = Elements<T>(y) + g.YRow(t, d, b);
        for (size_t j = 0; j < h.size(); ++j) {
          row[j] = static_cast<T>(next[j]);
          h[j] = static_cast<double>(row[j]);
          c[j] = static_cast<double>(static_cast<T>(c[j]));
        }
      }
      T* last_h = Elements<T>(y_h) + g.StateRow(d, b);
      T* last_c = Elements<T>(y_c) + g.StateRow(d, b);
      for (size_t j = 0; j < h.size(); ++j) {
        last_h[j] = static_cast<T>(h[j]);
        last_c[j] = static_cast<T>(c[j]);
      }
    }
  }
  std::vector<Tensor> results = One(std::move(y));
  results.push_back(std::move(y_h));
  if (call.node.op() == Op::kLSTM) results.push_back(std::move(y_c));
  return results;
}

}  // namespace

// The kernels give the gates' number, the default activations and the step function.
KernelResult RNNKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const Geometry g, GeometryOf(call, 1));
  KILN_ASSIGN_OR_RETURN(const auto functions,
                        ActivationsOf(call, {"Tanh"}, static_cast<int>(g.directions)));
  return VisitFloat(call, 0, [&](auto zero) {
    using T = decltype(zero);
    return Recur<T>(call, g, functions, StepRnn<T>);
  });
}

KernelResult GRUKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const Geometry g, GeometryOf(call, 3));
  KILN_ASSIGN_OR_RETURN(const auto functions,
                        ActivationsOf(call, {"Sigmoid", "Tanh"}, static_cast<int>(g.directions)));
  return VisitFloat(call, 0, [&](auto zero) {
    using T = decltype(zero);
    return Recur<T>(call, g, functions, StepGru<T>);
  });
}

KernelResult LSTMKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const Geometry g, GeometryOf(call, 4));
  KILN_ASSIGN_OR_RETURN(const auto functions, ActivationsOf(call, {"Sigmoid", "Tanh", "Tanh"},
                                                            static_cast<int>(g.directions)));
  return VisitFloat(call, 0, [&](auto zero) {
    using T = decltype(zero);
    return Recur<T>(call, g, functions, StepLstm<T>);
  });
}

}  // namespace kiln::reference
