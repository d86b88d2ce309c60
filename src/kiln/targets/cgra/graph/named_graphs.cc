// Builds the graphs of well-known kernels.

#include "kiln/targets/cgra/graph/named_graphs.h"

#include <absl/strings/numbers.h>

#include <optional>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/support/excerpt.h"

namespace kiln::cgra {
namespace {

// Adds nodes to a graph; operands are nodes that exist.
class KernelBuilder {
 public:
  explicit KernelBuilder(std::string name) {
    graph_.name = name;
    graph_.source = std::move(name);
  }

  int Value(Op op, const std::string& name, std::optional<int32_t> literal = std::nullopt) {
    graph_.nodes.push_back({name, op, "", literal});
    return static_cast<int>(graph_.nodes.size()) - 1;
  }
  int Input(const std::string& name) { return Value(Op::kInput, name); }
  int Variable(const std::string& name, int32_t value) { return Value(Op::kVariable, name, value); }

  // Adds an instruction; a literal is the operand after `operands`.
  int Add(Op op, const std::string& name, const std::vector<int>& operands,
          std::optional<int32_t> literal = std::nullopt) {
    const int node = Value(op, name, literal);
    for (size_t k = 0; k < operands.size(); ++k) {
      graph_.edges.push_back({operands[k], node, static_cast<int>(k)});
    }
    return node;
  }
  // Gives a node its own value, or another's, of the thread before as an operand.
  void Carry(int from, int to, int operand, int32_t initial) {
    graph_.edges.push_back(
        {.source = from, .target = to, .operand = operand, .distance = 1, .initial = initial});
  }
  void Output(const std::string& name, int node) { Add(Op::kOutput, name, {node}); }

  ComputationGraph Take() {
    const Status status = VerifyAndSort(&graph_);
    KILN_CHECK(status.ok());
    return std::move(graph_);
  }

 private:
  ComputationGraph graph_;
};

// The example of arXiv 2205.13675, Fig. 1: the square of the distance between a point and another.
// Seven instructions, of which the last multiplies and adds.
ComputationGraph Distance() {
  KernelBuilder b("distance");
  const int x = b.Input("x"), y = b.Input("y"), z = b.Input("z");
  const int x0 = b.Variable("x0", 3), y0 = b.Variable("y0", -4), z0 = b.Variable("z0", 5);
  const int dx = b.Add(Op::kSub, "dx", {x, x0});
  const int dy = b.Add(Op::kSub, "dy", {y, y0});
  const int dz = b.Add(Op::kSub, "dz", {z, z0});
  const int dx2 = b.Add(Op::kMul, "dx2", {dx, dx});
  const int dy2 = b.Add(Op::kMul, "dy2", {dy, dy});
  const int sum = b.Add(Op::kAdd, "sum", {dx2, dy2});
  const int dz2 = b.Add(Op::kMul, "dz2", {dz, dz});
  b.Output("distance", b.Add(Op::kAdd, "result", {dz2, sum}));
  return b.Take();
}

ComputationGraph VectorAdd() {
  KernelBuilder b("vector-add");
  const int x = b.Input("x"), y = b.Input("y");
  b.Output("z", b.Add(Op::kAdd, "sum", {x, y}));
  return b.Take();
}

ComputationGraph MultiplyAdd() {
  KernelBuilder b("multiply-add");
  const int x = b.Input("x"), y = b.Input("y"), z = b.Input("z");
  const int product = b.Add(Op::kMul, "product", {x, y});
  b.Output("w", b.Add(Op::kAdd, "sum", {product, z}));
  return b.Take();
}

// Radix-2 butterflies of complex numbers with 15 bits after the binary point:
//   t = (b * w) >> 15, c = a + t, d = a - t,
// and for the inverse with the conjugate of w, c and d halved. Real and imaginary parts of t begin
// separate flows; both read the parts of the twiddle factor w, so that rule 1 couples them.
ComputationGraph Butterflies(const std::string& name, int count, bool inverse) {
  constexpr int kPoint = 15;
  // exp(-i pi / 4 * k) times 2^15, rounded, for k = 0 to 3.
  constexpr int32_t kReal[] = {32768, 23170, 0, -23170};
  constexpr int32_t kImaginary[] = {0, -23170, -32768, -23170};
  KernelBuilder builder(name);
  for (int k = 0; k < count; ++k) {
    const auto called = [&](const char* what) { return fmt::format("{}{}", what, k); };
    const int ar = builder.Input(called("ar")), ai = builder.Input(called("ai"));
    const int br = builder.Input(called("br")), bi = builder.Input(called("bi"));
    const int wr = builder.Variable(called("wr"), kReal[k]);
    const int wi = builder.Variable(called("wi"), kImaginary[k]);
    const int rr = builder.Add(Op::kMul, called("rr"), {br, wr});
    const int ii = builder.Add(Op::kMul, called("ii"), {bi, wi});
    const int ri = builder.Add(Op::kMul, called("ri"), {br, wi});
    const int ir = builder.Add(Op::kMul, called("ir"), {bi, wr});
    const int sr = builder.Add(inverse ? Op::kAdd : Op::kSub, called("sr"), {rr, ii});
    const int si = builder.Add(inverse ? Op::kSub : Op::kAdd, called("si"), {ir, ri});
    const int tr = builder.Add(Op::kSra, called("tr"), {sr}, kPoint);
    const int ti = builder.Add(Op::kSra, called("ti"), {si}, kPoint);
    const std::pair<const char*, int> results[] = {
        {"cr", builder.Add(Op::kAdd, called("sum_r"), {ar, tr})},
        {"ci", builder.Add(Op::kAdd, called("sum_i"), {ai, ti})},
        {"dr", builder.Add(Op::kSub, called("difference_r"), {ar, tr})},
        {"di", builder.Add(Op::kSub, called("difference_i"), {ai, ti})}};
    for (const auto& [what, node] : results) {
      const int result = inverse ? builder.Add(Op::kSra, called(what) + "_half", {node}, 1) : node;
      builder.Output(called(what), result);
    }
  }
  return builder.Take();
}

// A filter in transposed form: y(t) = sum over k of h_k x(t - k).
ComputationGraph Fir(int taps) {
  KernelBuilder b(fmt::format("fir-{}", taps));
  const int x = b.Input("x");
  std::vector<int> products, sums;
  for (int k = 0; k < taps; ++k) {
    const int h = b.Variable(fmt::format("h{}", k), 2 * k + 1);
    products.push_back(b.Add(Op::kMul, fmt::format("product{}", k), {x, h}));
    const bool last = k == taps - 1;
    sums.push_back(last ? products.back()
                        : b.Add(Op::kAdd, fmt::format("sum{}", k), {products.back()}));
  }
  for (int k = 0; k + 1 < taps; ++k) {
    b.Carry(sums[static_cast<size_t>(k) + 1], sums[static_cast<size_t>(k)], 1, 0);
  }
  b.Output("y", sums[0]);
  return b.Take();
}

// What a softmax repeats for each of its elements, with 8 bits after the binary point: the running
// maximum, and, for a maximum that is known, the exponential and the running sum. The exponential
// is 2^(x log2 e) with 2^f taken as 1 + f between two powers.
ComputationGraph SoftmaxPieces() {
  KernelBuilder b("softmax-pieces");
  const int x = b.Input("x");
  const int greatest = b.Add(Op::kMax, "greatest", {x});
  b.Carry(greatest, greatest, 1, -(1 << 30));
  b.Output("running_maximum", greatest);
  const int e = b.Input("e"), maximum = b.Variable("maximum", 1024);
  const int below = b.Add(Op::kSub, "below", {e, maximum});    // at most 0
  const int scaled = b.Add(Op::kMul, "scaled", {below}, 369);  // log2 e with 8 bits
  const int power = b.Add(Op::kSra, "power", {scaled}, 8);     // 8 bits after the point
  const int fraction = b.Add(Op::kAnd, "fraction", {power}, 255);
  const int mantissa = b.Add(Op::kAdd, "mantissa", {fraction}, 256);
  const int whole = b.Add(Op::kSra, "whole", {power}, 8);
  const int zero = b.Add(Op::kSub, "shift", {b.Value(Op::kConst, "zero", 0), whole});
  const int shift = b.Add(Op::kMin, "shift_limited", {zero}, 31);
  const int exponential = b.Add(Op::kSra, "exponential", {mantissa, shift});
  b.Output("exponentials", exponential);
  const int sum = b.Add(Op::kAdd, "sum", {exponential});
  b.Carry(sum, sum, 1, 0);
  b.Output("running_sum", sum);
  return b.Take();
}

constexpr NamedGraph kNamedGraphs[] = {
    {"distance", "the square of the distance between two points in space", Distance},
    {"vector-add", "z = x + y", VectorAdd},
    {"multiply-add", "w = x * y + z", MultiplyAdd},
    {"fft", "a radix-2 butterfly of complex fixed-point numbers",
     [] { return Butterflies("fft", 1, false); }},
    {"fft-2", "two butterflies with different twiddle factors",
     [] { return Butterflies("fft-2", 2, false); }},
    {"fft-3", "three butterflies", [] { return Butterflies("fft-3", 3, false); }},
    {"fft-4", "four butterflies", [] { return Butterflies("fft-4", 4, false); }},
    {"ifft", "a butterfly of the inverse transform, with halved results",
     [] { return Butterflies("ifft", 1, true); }},
    {"ifft-2", "two butterflies of the inverse transform",
     [] { return Butterflies("ifft-2", 2, true); }},
    {"ifft-3", "three butterflies of the inverse transform",
     [] { return Butterflies("ifft-3", 3, true); }},
    {"ifft-4", "four butterflies of the inverse transform",
     [] { return Butterflies("ifft-4", 4, true); }},
    {"fir-4", "a filter of 4 taps; fir-N has N, 1 to 64", [] { return Fir(4); }},
    {"fir-8", "a filter of 8 taps", [] { return Fir(8); }},
    {"fir-16", "a filter of 16 taps", [] { return Fir(16); }},
    {"softmax-pieces", "running maximum, exponential and running sum of a softmax", SoftmaxPieces},
};

}  // namespace

std::span<const NamedGraph> NamedGraphs() { return kNamedGraphs; }

StatusOr<ComputationGraph> MakeNamedGraph(std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedGraph& row : kNamedGraphs) {
    if (row.name == name) return row.make();
    names.push_back(row.name);
  }
  constexpr std::string_view kFir = "fir-";
  int taps = 0;
  if (name.starts_with(kFir) && absl::SimpleAtoi(std::string(name.substr(kFir.size())), &taps) &&
      taps >= 1 && taps <= 64 && name.substr(kFir.size()) == std::to_string(taps)) {
    return Fir(taps);
  }
  return NotFoundAt("", "", fmt::format("there is no graph {}", QuotedExcerpt(name)),
                    "one of " + ListExcerpt(names, ", ", names.size()) + ", fir-1 to fir-64");
}

}  // namespace kiln::cgra
