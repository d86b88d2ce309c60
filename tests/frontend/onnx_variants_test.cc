// Tests every row of onnx_rules.def on a small model of an opset that the row covers. Expected
// values are computed here from the formulas of ONNX's Operators.md and Changelog.md, so no test
// data needs to be installed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

constexpr int kFloatType = 1, kUint8Type = 2, kInt32Type = 6, kInt64Type = 7, kBoolType = 9,
              kDoubleType = 11;

// One node of an operator at an opset. Its operand 0 is the graph's input 'x'.
struct Case {
  std::string op_type;
  int opset;
  std::string text;  // initialisers and further inputs
  std::string more;  // further operands and attributes of the node
  Tensor x;
  Shape shape;  // of the result
  std::vector<double> expected;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.op_type << " of opset " << c.opset << " " << c.more;
}

Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor::Of<float>(std::move(shape), values);
}

// start, start + step, ...
std::string TextAttribute(const std::string& name, const std::string& value) {
  return fmt::format("attribute {{ name: '{}' type: STRING s: '{}' }} ", name, value);
}
std::string FloatsAttribute(const std::string& name, const std::vector<float>& values) {
  return fmt::format("attribute {{ name: '{}' type: FLOATS floats: [{}] }} ", name,
                     fmt::join(values, ", "));
}
std::string IntsText(const std::string& name, const std::vector<int64_t>& values,
                     int type = kInt64Type) {
  const char* field = type == kInt64Type ? "int64_data" : "int32_data";
  return fmt::format("initializer {{ name: '{}' data_type: {} dims: {} {}: [{}] }} ", name, type,
                     values.size(), field, fmt::join(values, ", "));
}
std::string Operands(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += "input: '" + name + "' ";
  return text;
}

int ElementCode(const Tensor& x) {
  switch (x.type()) {
    case ElementType::kFloat32:
      return kFloatType;
    case ElementType::kUint8:
      return kUint8Type;
    case ElementType::kInt32:
      return kInt32Type;
    case ElementType::kInt64:
      return kInt64Type;
    case ElementType::kBool:
      return kBoolType;
    default:
      return kDoubleType;
  }
}

Tensor ResultOf(const Case& c) {
  std::vector<std::string> dims;
  for (const int64_t d : c.x.shape().dims()) dims.push_back(std::to_string(d));
  std::string text = InputText("x", dims, ElementCode(c.x)) + c.text + NodeToY(c.op_type, c.more);
  const auto add_results = [&](const std::string& names) {
    const std::string result = "output: 'y' }";
    text.replace(text.find(result), result.size(), "output: 'y' " + names + "}");
  };
  if (c.op_type == "DynamicQuantizeLinear") add_results("output: 'scale' output: 'zero' ");
  if (c.op_type == "TopK") add_results("output: 'indices' ");
  return OutputOf(Import(c.opset, text), {c.x});
}

// -------------------------------------------------------------------------------------------------
// upgrades

// Elementwise operators of one operand, whose form before opset 6 had the attribute
// consumed_inputs.
std::vector<Case> UnaryCases() {
  const Tensor any = Floats({5}, {-2, -0.75f, 0.25f, 1, 3}),
               positive = Floats({4}, {0.25f, 1, 2, 7});
  const auto make = [](std::string op_type, const Tensor& x, const std::string& more,
                       const std::function<double(double)>& f) {
    Case c{std::move(op_type), 5, "", more + IntsAttribute("consumed_inputs", {0}), x,
           x.shape(),          {}};
    for (int64_t i = 0; i < x.size(); ++i) c.expected.push_back(f(x.ValueAt(i)));
    return c;
  };
  return {
      make("Abs", any, "", [](double v) { return std::abs(v); }),
      make("Ceil", any, "", [](double v) { return std::ceil(v); }),
      make("Floor", any, "", [](double v) { return std::floor(v); }),
      make("Neg", any, "", [](double v) { return -v; }),
      make("Exp", any, "", [](double v) { return std::exp(v); }),
      make("Log", positive, "", [](double v) { return std::log(v); }),
      make("Sqrt", positive, "", [](double v) { return std::sqrt(v); }),
      make("Reciprocal", positive, "", [](double v) { return 1 / v; }),
      make("Relu", any, "", [](double v) { return std::max(v, 0.0); }),
      make("Tanh", any, "", [](double v) { return std::tanh(v); }),
      make("Sigmoid", any, "", [](double v) { return 1 / (1 + std::exp(-v)); }),
      // Defaults: alpha 1; alpha 0.2 and beta 0.5; alpha 0.01.
      make("Elu", any, "", [](double v) { return v < 0 ? std::expm1(v) : v; }),
      make("Elu", any, FloatAttribute("alpha", 3),
           [](double v) { return v < 0 ? 3 * std::expm1(v) : v; }),
      make("HardSigmoid", any, "", [](double v) { return std::clamp(0.2 * v + 0.5, 0.0, 1.0); }),
      make("HardSigmoid", any, FloatAttribute("alpha", 0.5) + FloatAttribute("beta", 0.25),
           [](double v) { return std::clamp(0.5 * v + 0.25, 0.0, 1.0); }),
      make("LeakyRelu", any, "", [](double v) { return v < 0 ? 0.01 * v : v; }),
      make("LeakyRelu", any, FloatAttribute("alpha", 0.5),
           [](double v) { return v < 0 ? 0.5 * v : v; }),
      // Selu's defaults had four digits before opset 6.
      make("Selu", any, "", [](double v) { return 1.0507 * (v > 0 ? v : 1.6732 * std::expm1(v)); }),
      make("Clip", any, FloatAttribute("min", -1) + FloatAttribute("max", 2),
           [](double v) { return std::clamp(v, -1.0, 2.0); }),
      make("Clip", any, FloatAttribute("min", -1), [](double v) { return std::max(v, -1.0); }),
  };
}

// Elementwise operators of several operands of one shape.
std::vector<Case> VariadicCases() {
  const Tensor x = Floats({3}, {-1, 2, 5});
  const std::string text = FloatsText("b", {3}, {4, -3, 5}) + FloatsText("c", {3}, {0, 1, 8});
  const std::string more = Operands({"b", "c"}) + IntsAttribute("consumed_inputs", {0, 0, 0});
  return {{"Max", 5, text, more, x, {3}, {4, 2, 8}},
          {"Min", 5, text, more, x, {3}, {-1, -3, 5}},
          {"Sum", 5, text, more, x, {3}, {3, 0, 18}},
          {"Mean", 5, text, more, x, {3}, {1, 0, 6}}};
}

// Binary operators of opset 6: the second operand's axes begin at `axis` of the first one's.
std::vector<Case> BroadcastCases() {
  std::vector<Case> cases;
  const std::string attributes = IntAttribute("broadcast", 1) + IntAttribute("axis", 1);
  const auto add = [&](const std::string& op_type, const Tensor& x, const std::string& text,
                       const std::vector<double>& c,
                       const std::function<double(double, double)>& f) {
    Case one{op_type, 6, text, "input: 'c' " + attributes, x, x.shape(), {}};
    for (int64_t i = 0; i < x.size(); ++i) {
      one.expected.push_back(f(x.ValueAt(i), c[static_cast<size_t>(i / 2 % 2)]));  // x is 2 x 2 x 2
    }
    cases.push_back(one);
  };
  const Tensor floats = Floats({2, 2, 2}, {1, 2, 3, 4, 2.5f, 0.5f, 3, 1});
  const std::string two_three = FloatsText("c", {2}, {2, 3});
  add("Add", floats, two_three, {2, 3}, [](double a, double b) { return a + b; });
  add("Sub", floats, two_three, {2, 3}, [](double a, double b) { return a - b; });
  add("Mul", floats, two_three, {2, 3}, [](double a, double b) { return a * b; });
  add("Div", floats, two_three, {2, 3}, [](double a, double b) { return a / b; });
  add("Pow", floats, two_three, {2, 3}, [](double a, double b) { return std::pow(a, b); });
  add("Greater", floats, two_three, {2, 3}, [](double a, double b) { return a > b ? 1 : 0; });
  add("Less", floats, two_three, {2, 3}, [](double a, double b) { return a < b ? 1 : 0; });
  const Tensor integers = Tensor::Of<int32_t>({2, 2, 2}, {1, 2, 3, 4, 2, 0, 3, 3});
  add("Equal", integers, IntsText("c", {2, 3}, kInt32Type), {2, 3},
      [](double a, double b) { return a == b ? 1 : 0; });
  Tensor truths(ElementType::kBool, {2, 2, 2});
  for (const int i : {0, 3, 5, 6}) truths.mutable_bytes()[i] = std::byte{1};
  const std::string false_true = IntsText("c", {0, 1}, kBoolType);
  add("And", truths, false_true, {0, 1},
      [](double a, double b) { return a != 0 && b != 0 ? 1 : 0; });
  add("Or", truths, false_true, {0, 1},
      [](double a, double b) { return a != 0 || b != 0 ? 1 : 0; });
  add("Xor", truths, false_true, {0, 1}, [](double a, double b) { return a != b ? 1 : 0; });
  // A negative axis counts from the end; without `axis` the last axes are matched.
  cases.push_back({"Add",
                   6,
                   two_three,
                   "input: 'c' " + IntAttribute("broadcast", 1) + IntAttribute("axis", -3),
                   Ramp({2, 1, 2}),
                   {2, 1, 2},
                   {2, 3, 5, 6}});
  cases.push_back({"Sub",
                   6,
                   two_three,
                   "input: 'c' " + IntAttribute("broadcast", 1),
                   Ramp({2, 2}),
                   {2, 2},
                   {-2, -2, 0, 0}});
  return cases;
}

// The slopes of PRelu belong to channels before opset 7, and are broadcast from the last axis from
// then on.
std::vector<Case> SlopeCases() {
  const Tensor x = Floats({1, 2, 2}, {-1, 2, -3, -4});
  const std::string slopes = FloatsText("c", {2}, {0.5, 0.25});
  const std::string consumed = IntsAttribute("consumed_inputs", {0, 0});
  return {
      {"PRelu", 5, slopes, "input: 'c' " + consumed, x, {1, 2, 2}, {-0.5, 2, -0.75, -1}},
      {"PRelu", 6, slopes, "input: 'c' ", x, {1, 2, 2}, {-0.5, 2, -0.75, -1}},
      {"PRelu", 6, FloatsText("c", {1}, {0.5}), "input: 'c' ", x, {1, 2, 2}, {-0.5, 2, -1.5, -2}},
      {"PRelu", 7, slopes, "input: 'c' ", x, {1, 2, 2}, {-0.5, 2, -1.5, -1}}};
}

std::vector<Case> NormalisationCases() {
  const Tensor x = Floats({1, 2, 2}, {1, 3, 2, 6});
  const std::string text = FloatsText("s", {2}, {2, 1}) + FloatsText("b", {2}, {1, -1}) +
                           FloatsText("m", {2}, {1, 4}) + FloatsText("v", {2}, {4, 1});
  const std::string operands = Operands({"s", "b", "m", "v"}) + FloatAttribute("epsilon", 0);
  // scale * (x - mean) / sqrt(variance) + bias
  const std::vector<double> batch = {1, 3, -3, 1};
  // Mean 2, deviation 1; mean 4, deviation 2.
  const std::vector<double> instance = {-1, 3, -2, 0};
  const std::string consumed = IntsAttribute("consumed_inputs", {0, 0, 0, 1, 1});
  return {
      {"BatchNormalization",
       5,
       text,
       operands + IntAttribute("is_test", 1) + consumed,
       x,
       {1, 2, 2},
       batch},
      {"BatchNormalization", 6, text, operands + IntAttribute("is_test", 1), x, {1, 2, 2}, batch},
      {"BatchNormalization", 8, text, operands + IntAttribute("spatial", 1), x, {1, 2, 2}, batch},
      {"BatchNormalization", 15, text, operands, x, {1, 2, 2}, batch},
      {"InstanceNormalization",
       5,
       text,
       Operands({"s", "b"}) + FloatAttribute("epsilon", 0) + IntsAttribute("consumed_inputs", {0}),
       x,
       {1, 2, 2},
       instance},
      {"InstanceNormalization",
       6,
       text,
       Operands({"s", "b"}) + FloatAttribute("epsilon", 0),
       x,
       {1, 2, 2},
       instance},
      // Two groups of one channel each, first with a scale a group, then with one a channel.
      {"GroupNormalization",
       18,
       text,
       Operands({"s", "b"}) + FloatAttribute("epsilon", 0) + IntAttribute("num_groups", 2),
       x,
       {1, 2, 2},
       instance},
      {"GroupNormalization",
       20,
       FloatsText("s", {1}, {2}) + FloatsText("b", {1}, {1}),
       Operands({"s", "b"}) + FloatAttribute("epsilon", 0) + IntAttribute("num_groups", 1),
       Floats({1, 2, 2}, {0, 2, 2, 0}),
       {1, 2, 2},
       {-1, 3, 3, -1}},
  };
}

std::vector<Case> MovingCases() {
  const Tensor matrix = Ramp({2, 3});
  const auto reduce = [&](const std::string& op_type, int opset, bool as_operand,
                          std::vector<double> expected) {
    const std::string axes = as_operand ? Operands({"axes"}) : IntsAttribute("axes", {1});
    return Case{op_type,
                opset,
                as_operand ? IntsText("axes", {1}) : "",
                axes + IntAttribute("keepdims", 0),
                Ramp({2, 3}, 1, 1),
                {2},
                std::move(expected)};
  };
  std::vector<Case> cases = {
      // The numbers of the types of TensorProto.DataType, and their names before opset 6.
      {"Cast", 5, "", TextAttribute("to", "INT32"), Floats({2}, {1.75f, -2.5f}), {2}, {1, -2}},
      {"Cast",
       5,
       "",
       TextAttribute("to", "double"),
       Floats({2}, {1.75f, -2.5f}),
       {2},
       {1.75, -2.5}},
      {"Cast", 6, "", IntAttribute("to", 6), Floats({2}, {1.75f, -2.5f}), {2}, {1, -2}},
      // Axis 1 where none is named.
      {"Concat",
       3,
       FloatsText("c", {2, 1}, {7, 8}),
       "input: 'c' ",
       Ramp({2, 1}),
       {2, 2},
       {0, 7, 1, 8}},
      {"Concat",
       4,
       FloatsText("c", {2, 1}, {7, 8}),
       "input: 'c' " + IntAttribute("axis", 0),
       Ramp({2, 1}),
       {4, 1},
       {0, 1, 7, 8}},
      {"Gemm",
       6,
       FloatsText("b", {3, 1}, {1, 2, 3}) + FloatsText("c", {1}, {10}),
       Operands({"b", "c"}) + IntAttribute("broadcast", 1),
       matrix,
       {2, 1},
       {18, 36}},
      {"Gemm",
       7,
       FloatsText("b", {3, 1}, {1, 2, 3}) + FloatsText("c", {1}, {10}),
       Operands({"b", "c"}) + FloatAttribute("alpha", 0.5) + FloatAttribute("beta", 2),
       matrix,
       {2, 1},
       {24, 33}},
      {"Dropout",
       6,
       "",
       IntAttribute("is_test", 1) + FloatAttribute("ratio", 0.5),
       matrix,
       {2, 3},
       {0, 1, 2, 3, 4, 5}},
      {"Dropout", 7, "", FloatAttribute("ratio", 0.5), matrix, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"Dropout", 11, "", FloatAttribute("ratio", 0.5), matrix, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"Dropout",
       12,
       FloatsText("ratio", {}, {0.5}),
       "input: 'ratio' ",
       matrix,
       {2, 3},
       {0, 1, 2, 3, 4, 5}},
      // Pads: all begins, then all ends.
      {"Pad",
       1,
       "",
       IntsAttribute("paddings", {0, 1, 1, 0}) + FloatAttribute("value", 9),
       Ramp({1, 2}),
       {2, 3},
       {9, 0, 1, 9, 9, 9}},
      {"Pad",
       10,
       "",
       IntsAttribute("pads", {0, 1, 1, 0}) + FloatAttribute("value", 9),
       Ramp({1, 2}),
       {2, 3},
       {9, 0, 1, 9, 9, 9}},
      {"Pad",
       10,
       "",
       IntsAttribute("pads", {0, 2, 0, 1}) + TextAttribute("mode", "reflect"),
       Ramp({1, 3}),
       {1, 6},
       {2, 1, 0, 1, 2, 1}},
      {"Pad",
       11,
       IntsText("pads", {0, 2, 0, 1}),
       Operands({"pads"}) + TextAttribute("mode", "edge"),
       Ramp({1, 3}),
       {1, 6},
       {0, 0, 0, 1, 2, 2}},
      {"Pad",
       18,
       IntsText("pads", {1, 0}) + FloatsText("nine", {}, {9}) + IntsText("axes", {1}),
       Operands({"pads", "nine", "axes"}),
       Ramp({1, 2}),
       {1, 3},
       {9, 0, 1}},
      {"Reshape", 4, "", IntsAttribute("shape", {3, -1}), matrix, {3, 2}, {0, 1, 2, 3, 4, 5}},
      {"Reshape",
       5,
       IntsText("shape", {0, -1, 1}),
       Operands({"shape"}),
       matrix,
       {2, 3, 1},
       {0, 1, 2, 3, 4, 5}},
      {"Tile",
       5,
       FloatsText("tiles", {1}, {2}) + FloatsText("axis", {1}, {1}),
       Operands({"tiles", "axis"}),
       Ramp({2, 2}),
       {2, 4},
       {0, 1, 0, 1, 2, 3, 2, 3}},
      {"Tile",
       6,
       IntsText("repeats", {2, 1}),
       Operands({"repeats"}),
       Ramp({2, 2}),
       {4, 2},
       {0, 1, 2, 3, 0, 1, 2, 3}},
      {"Clip", 10, "", FloatAttribute("max", 2), matrix, {2, 3}, {0, 1, 2, 2, 2, 2}},
      {"Clip",
       11,
       FloatsText("low", {}, {3}),
       Operands({"low"}),
       matrix,
       {2, 3},
       {3, 3, 3, 3, 4, 5}},
      {"Slice",
       9,
       "",
       IntsAttribute("starts", {1, 0}) + IntsAttribute("ends", {2, -1}),
       matrix,
       {1, 2},
       {3, 4}},
      {"Slice",
       9,
       "",
       IntsAttribute("starts", {-2}) + IntsAttribute("ends", {1000}) + IntsAttribute("axes", {1}),
       matrix,
       {2, 2},
       {1, 2, 4, 5}},
      {"Slice",
       10,
       IntsText("s", {2}) + IntsText("e", {-4}) + IntsText("a", {1}) + IntsText("by", {-1}),
       Operands({"s", "e", "a", "by"}),
       matrix,
       {2, 3},
       {2, 1, 0, 5, 4, 3}},
      {"Squeeze", 12, "", IntsAttribute("axes", {0}), Ramp({1, 2, 1}), {2, 1}, {0, 1}},
      {"Squeeze", 13, IntsText("axes", {-1}), Operands({"axes"}), Ramp({1, 2, 1}), {1, 2}, {0, 1}},
      {"Unsqueeze", 12, "", IntsAttribute("axes", {0, 2}), Ramp({2}), {1, 2, 1}, {0, 1}},
      {"Unsqueeze", 13, IntsText("axes", {-1}), Operands({"axes"}), Ramp({2}), {2, 1}, {0, 1}},
  };
  for (const int opset : {1, 11, 13, 17, 18}) {
    const bool as_operand = opset >= 18;
    cases.push_back(reduce("ReduceMax", opset, as_operand, {3, 6}));
    cases.push_back(reduce("ReduceMin", opset, as_operand, {1, 4}));
    cases.push_back(reduce("ReduceMean", opset, as_operand, {2, 5}));
    cases.push_back(reduce("ReduceProd", opset, as_operand, {6, 120}));
    cases.push_back(reduce("ReduceSum", opset, opset >= 13, {6, 15}));
  }
  return cases;
}

// A matrix of all axes before `axis` times all from it on, where opset 12 and before name one that
// is not the last.
std::vector<Case> SoftmaxCases() {
  const Tensor x = Ramp({2, 2, 3}, 0.25f);
  const auto over = [&](int64_t run, int64_t step, bool logarithm) {
    // Groups of `run` elements `step` apart, for the 12 elements of x.
    std::vector<double> result(12);
    for (int64_t i = 0; i < 12; ++i) {
      const int64_t first = i / (run * step) * run * step + i % step;
      double sum = 0;
      for (int64_t k = 0; k < run; ++k) sum += std::exp(x.ValueAt(first + k * step));
      const double share = std::exp(x.ValueAt(i)) / sum;
      result[static_cast<size_t>(i)] = logarithm ? std::log(share) : share;
    }
    return result;
  };
  std::vector<Case> cases;
  // Axes of one element behind the named one change nothing, others do.
  const auto shared = [](int64_t count) {
    double sum = 0;
    std::vector<double> shares;
    for (int64_t i = 0; i < count; ++i) sum += std::exp(0.25 * static_cast<double>(i));
    for (int64_t i = 0; i < count; ++i)
      shares.push_back(std::exp(0.25 * static_cast<double>(i)) / sum);
    return shares;
  };
  cases.push_back(
      {"Softmax", 12, "", IntAttribute("axis", 0), Ramp({2, 1, 3}, 0.25f), {2, 1, 3}, shared(6)});
  cases.push_back(
      {"Softmax", 12, "", IntAttribute("axis", 1), Ramp({1, 4, 1}, 0.25f), {1, 4, 1}, shared(4)});
  cases.push_back({"Softmax",
                   12,
                   "",
                   IntAttribute("axis", 1),
                   Ramp({1, 2, 1, 3}, 0.25f),
                   {1, 2, 1, 3},
                   shared(6)});
  for (const bool logarithm : {false, true}) {
    const std::string op_type = logarithm ? "LogSoftmax" : "Softmax";
    cases.push_back({op_type, 12, "", "", x, {2, 2, 3}, over(6, 1, logarithm)});  // axis 1
    cases.push_back(
        {op_type, 1, "", IntAttribute("axis", 0), x, {2, 2, 3}, over(12, 1, logarithm)});
    cases.push_back(
        {op_type, 11, "", IntAttribute("axis", 2), x, {2, 2, 3}, over(3, 1, logarithm)});
    cases.push_back({op_type, 13, "", "", x, {2, 2, 3}, over(3, 1, logarithm)});  // the last axis
    cases.push_back(
        {op_type, 13, "", IntAttribute("axis", 1), x, {2, 2, 3}, over(2, 3, logarithm)});
  }
  return cases;
}

// Resize by opset. Output position o shows input position o / scale (opset 10, and "asymmetric"),
// or (o + 1/2) / scale
// - 1/2 ("half_pixel", the default from opset 11 on), and others.
std::vector<Case> ResizeCases() {
  const auto scales = [](float scale) { return FloatsText("scales", {2}, {1, scale}); };
  const std::string of_10 = Operands({"scales"}), of_11 = Operands({"", "scales"}),
                    sizes = Operands({"", "", "sizes"});
  const std::string linear = TextAttribute("mode", "linear"),
                    cubic = TextAttribute("mode", "cubic");
  const auto mapped = [](const char* mode) {
    return TextAttribute("coordinate_transformation_mode", mode);
  };
  const auto nearest = [](const char* mode) { return TextAttribute("nearest_mode", mode); };
  const Tensor two = Floats({1, 2}, {0, 10}), four = Floats({1, 4}, {0, 10, 20, 30});
  const Tensor eight = Ramp({1, 8});
  std::vector<Case> cases = {
      // Opset 10: floor(o / scale). Positions 0, 1/2.., 1, 3/2 by 2; half_pixel rounded would begin
      // at -1/4.
      {"Resize", 10, scales(2), of_10, two, {1, 4}, {0, 0, 10, 10}},
      // o / 3 is 0, 1/3, 2/3, 1, 4/3, 5/3; half_pixel rounded would be 0, 0, 0, 1, 1, 1 as well,
      // but not by 1.5:
      // o / 1.5 is 0, 2/3, 4/3, 2, 8/3, 10/3, while (o + 1/2) / 1.5 - 1/2 rounded is 0, 0 (1/2), 1,
      // 2, 2 (5/2), 3.
      {"Resize", 10, scales(3), of_10, two, {1, 6}, {0, 0, 0, 10, 10, 10}},
      {"Resize", 10, scales(1.5f), of_10, four, {1, 6}, {0, 0, 10, 20, 20, 30}},
      // By 3/8 positions are 0, 8/3, 16/3 (opset 10), or 5/6, 7/2, 37/6 less nothing:
      // 0.83, 3.5, 6.17.
      {"Resize", 10, scales(0.375f), of_10, eight, {1, 3}, {0, 2, 5}},
      {"Resize", 10, scales(2), of_10 + linear, two, {1, 4}, {0, 5, 10, 10}},
      {"Resize", 10, scales(0.5f), of_10 + linear, four, {1, 2}, {0, 20}},
      // Opset 11: half_pixel and round_prefer_floor.
      {"Resize", 11, scales(0.375f), of_11, eight, {1, 3}, {1, 3, 6}},
      {"Resize", 11, scales(2), of_11 + linear, two, {1, 4}, {0, 2.5, 7.5, 10}},
      {"Resize", 11, scales(0.5f), of_11 + linear, four, {1, 2}, {5, 25}},
      {"Resize",
       11,
       scales(0.375f),
       of_11 + nearest("round_prefer_ceil"),
       eight,
       {1, 3},
       {1, 4, 6}},
      {"Resize", 11, scales(0.375f), of_11 + nearest("floor"), eight, {1, 3}, {0, 3, 6}},
      {"Resize", 11, scales(0.375f), of_11 + nearest("ceil"), eight, {1, 3}, {1, 4, 7}},
      {"Resize",
       11,
       scales(0.375f),
       of_11 + mapped("asymmetric") + nearest("floor"),
       eight,
       {1, 3},
       {0, 2, 5}},
      {"Resize", 13, scales(2), of_11 + linear + mapped("asymmetric"), two, {1, 4}, {0, 5, 10, 10}},
      {"Resize",
       13,
       scales(2),
       of_11 + linear + mapped("align_corners"),
       two,
       {1, 4},
       {0, 10.0 / 3, 20.0 / 3, 10}},
      {"Resize",
       13,
       IntsText("sizes", {1, 4}),
       sizes + linear + mapped("align_corners"),
       two,
       {1, 4},
       {0, 10.0 / 3, 20.0 / 3, 10}},
      // pytorch_half_pixel is half_pixel but where one element is left: then position 0.
      {"Resize", 13, scales(0.25f), of_11 + linear, four, {1, 1}, {15}},
      {"Resize",
       13,
       scales(0.25f),
       of_11 + linear + mapped("pytorch_half_pixel"),
       four,
       {1, 1},
       {0}},
      // Opset 18: axes; opset 19: half_pixel_symmetric (length 3.2 of which 3 are left: 0.2 / 2 /
      // 0.8 further).
      {"Resize",
       18,
       IntsText("sizes", {4}),
       sizes + linear + IntsAttribute("axes", {1}),
       two,
       {1, 4},
       {0, 2.5, 7.5, 10}},
      {"Resize",
       19,
       scales(0.8f),
       of_11 + linear + mapped("half_pixel_symmetric"),
       four,
       {1, 3},
       {2.5, 15, 27.5}},
      // Keys' cubic with a = -3/4 at 1/4 and 3/4 between the second and third of four points 0, 10,
      // 20, 30.
      {"Resize", 13, scales(2), of_11 + cubic, four, {1, 8}, {}},
  };
  const double a = -0.75;
  const auto near = [a](double d) { return (a + 2) * d * d * d - (a + 3) * d * d + 1; };
  const auto far = [a](double d) { return a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a; };
  for (int o = 0; o < 8; ++o) {
    const double at = (o + 0.5) / 2 - 0.5;
    const int below = static_cast<int>(std::floor(at));
    double sum = 0;
    for (int k = below - 1; k <= below + 2; ++k) {
      const double d = std::abs(at - k);
      sum += 10 * std::clamp(k, 0, 3) * (d <= 1 ? near(d) : far(d));
    }
    cases.back().expected.push_back(sum);
  }
  return cases;
}

std::vector<Case> UpsampleCases() {
  const Tensor image = Ramp({1, 1, 1, 2}, 10);
  const std::string scales = FloatsAttribute("scales", {1, 1, 1, 2}),
                    linear = TextAttribute("mode", "linear");
  return {
      {"Upsample",
       1,
       "",
       FloatAttribute("height_scale", 1) + FloatAttribute("width_scale", 2),
       image,
       {1, 1, 1, 4},
       {0, 0, 10, 10}},
      {"Upsample",
       1,
       "",
       FloatAttribute("height_scale", 2) + FloatAttribute("width_scale", 1) +
           TextAttribute("mode", "bilinear"),
       image,
       {1, 1, 2, 2},
       {0, 10, 0, 10}},
      {"Upsample", 7, "", scales + linear, image, {1, 1, 1, 4}, {0, 5, 10, 10}},
      {"Upsample",
       9,
       FloatsText("scales", {4}, {1, 1, 1, 1.5}),
       Operands({"scales"}),
       Ramp({1, 1, 1, 4}),
       {1, 1, 1, 6},
       {0, 0, 1, 2, 2, 3}},
  };
}

// -------------------------------------------------------------------------------------------------
// compositions

std::vector<Case> ComposedCases() {
  const Tensor any = Floats({5}, {-3, -0.4f, 0, 0.4f, 3});
  std::vector<Case> cases;
  const auto unary = [&](const std::string& op_type, int opset, const std::string& more,
                         const std::function<double(double)>& f, const Tensor& x) {
    Case c{op_type, opset, "", more, x, x.shape(), {}};
    for (int64_t i = 0; i < x.size(); ++i) c.expected.push_back(f(x.ValueAt(i)));
    cases.push_back(c);
  };
  unary("Celu", 12, "", [](double v) { return v > 0 ? v : std::expm1(v); }, any);
  unary(
      "Celu", 12, FloatAttribute("alpha", 2),
      [](double v) { return v > 0 ? v : 2 * std::expm1(v / 2); }, any);
  unary("Cosh", 9, "", [](double v) { return std::cosh(v); }, any);
  unary("Sinh", 9, "", [](double v) { return std::sinh(v); }, any);
  unary("Tan", 7, "", [](double v) { return std::tan(v); }, any);
  unary("Mish", 18, "", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }, any);
  unary("Softsign", 1, "", [](double v) { return v / (1 + std::abs(v)); }, any);
  unary(
      "Selu", 6, "",
      [](double v) {
        return 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * std::expm1(v));
      },
      any);
  unary(
      "Selu", 6, FloatAttribute("alpha", 3) + FloatAttribute("gamma", 2),
      [](double v) { return 2 * (v > 0 ? v : 3 * std::expm1(v)); }, any);
  const auto shrink = [](double lambda, double bias) {
    return [=](double v) { return v < -lambda ? v + bias : v > lambda ? v - bias : 0; };
  };
  unary("Shrink", 9, "", shrink(0.5, 0), any);
  unary("Shrink", 9, FloatAttribute("lambd", 0.25) + FloatAttribute("bias", 0.125),
        shrink(0.25, 0.125), any);
  unary("Shrink", 9, "", shrink(0.5, 0), Floats({2}, {-0.75f, 0.75f}));
  // At the threshold itself nothing is left: x > alpha, |x| > lambd.
  const Tensor edge = Floats({3}, {-1, 0.5f, 1});
  unary("Shrink", 9, FloatAttribute("lambd", 0.5), shrink(0.5, 0), edge);
  unary("ThresholdedRelu", 10, "", [](double v) { return v > 1 ? v : 0; }, edge);
  unary(
      "ThresholdedRelu", 10, FloatAttribute("alpha", 0.4), [](double v) { return v > 0.5 ? v : 0; },
      Floats({3}, {-1, 0.25f, 3}));
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor special = Floats({4}, {-inf, 1, inf, nan});
  const auto one = [&](const std::string& op_type, int opset, const std::string& text,
                       const std::string& more, const Tensor& x, Shape shape,
                       std::vector<double> expected) {
    cases.push_back({op_type, opset, text, more, x, std::move(shape), std::move(expected)});
  };
  one("IsInf", 10, "", "", special, {4}, {1, 0, 1, 0});
  one("IsInf", 10, "", IntAttribute("detect_negative", 0), special, {4}, {0, 0, 1, 0});
  one("IsInf", 20, "", IntAttribute("detect_positive", 0), special, {4}, {1, 0, 0, 0});
  one("IsInf", 20, "", IntAttribute("detect_positive", 0) + IntAttribute("detect_negative", 0),
      special, {4}, {0, 0, 0, 0});
  one("IsNaN", 9, "", "", special, {4}, {0, 0, 0, 1});

  const Tensor rows = Floats({2, 3}, {3, -1, -1, 0, 4, 4});
  one("ArgMin", 11, "", IntAttribute("axis", 1) + IntAttribute("keepdims", 0), rows, {2}, {1, 0});
  one("ArgMin", 1, "", "", rows, {1, 3}, {1, 0, 0});
  one("ArgMin", 12, "", IntAttribute("axis", 1) + IntAttribute("select_last_index", 1), rows,
      {2, 1}, {2, 0});
  one("Hardmax", 13, "", "", rows, {2, 3}, {1, 0, 0, 0, 1, 0});
  one("Hardmax", 13, "", IntAttribute("axis", 0), rows, {2, 3}, {1, 0, 0, 0, 1, 1});
  one("Hardmax", 11, "", "", rows, {2, 3}, {1, 0, 0, 0, 1, 0});
  one("CastLike", 15, IntsText("like", {0}, kInt32Type), Operands({"like"}),
      Floats({2}, {1.75f, -1.75f}), {2}, {1, -1});
  one("EyeLike", 9, "", "", rows, {2, 3}, {1, 0, 0, 0, 1, 0});
  one("EyeLike", 9, "", IntAttribute("k", 1) + IntAttribute("dtype", kInt64Type), rows, {2, 3},
      {0, 1, 0, 0, 0, 1});
  one("EyeLike", 9, "", IntAttribute("k", -1), rows, {2, 3}, {0, 0, 0, 1, 0, 0});
  const Tensor square = Ramp({3, 3}, 1, 1);
  one("Trilu", 14, "", "", square, {3, 3}, {1, 2, 3, 0, 5, 6, 0, 0, 9});
  one("Trilu", 14, "", IntAttribute("upper", 0), square, {3, 3}, {1, 0, 0, 4, 5, 0, 7, 8, 9});
  const std::string by_one = "initializer { name: 'k' data_type: 7 int64_data: 1 } ";
  one("Trilu", 14, by_one, Operands({"k"}), square, {3, 3}, {0, 2, 3, 0, 0, 6, 0, 0, 0});
  one("Trilu", 14, by_one, Operands({"k"}) + IntAttribute("upper", 0), square, {3, 3},
      {1, 2, 0, 4, 5, 6, 7, 8, 9});

  // x / (1 + 1e-4 / 3 * sum)^0.75, and with every attribute; squares of channels 1, 4, 9.
  const Tensor channels = Floats({1, 3, 1}, {1, 2, 3});
  const auto lrn = [](double x, double sum, double alpha, double beta, double bias, double size) {
    return x / std::pow(bias + alpha / size * sum, beta);
  };
  one("LRN", 1, "", IntAttribute("size", 3) + FloatAttribute("alpha", 0.9), channels, {1, 3, 1},
      {lrn(1, 5, 0.9, 0.75, 1, 3), lrn(2, 14, 0.9, 0.75, 1, 3), lrn(3, 13, 0.9, 0.75, 1, 3)});
  // Of an even size the greater half lies behind.
  one("LRN", 13, "",
      IntAttribute("size", 2) + FloatAttribute("alpha", 0.5) + FloatAttribute("beta", 0.5) +
          FloatAttribute("bias", 2),
      channels, {1, 3, 1},
      {lrn(1, 5, 0.5, 0.5, 2, 2), lrn(2, 13, 0.5, 0.5, 2, 2), lrn(3, 9, 0.5, 0.5, 2, 2)});
  // Mean and deviation over batch and places: of 1, 3, 5, 7 they are 4 and sqrt(5).
  const double deviation = std::sqrt(5.0);
  one("MeanVarianceNormalization", 13, "", "", Floats({2, 1, 1, 2}, {1, 3, 5, 7}), {2, 1, 1, 2},
      {-3 / deviation, -1 / deviation, 1 / deviation, 3 / deviation});
  one("MeanVarianceNormalization", 9, "", IntsAttribute("axes", {3}),
      Floats({2, 1, 1, 2}, {1, 3, 5, 9}), {2, 1, 1, 2}, {-1, 1, -1, 1});

  // Reductions of rows 3, -1, -1 and 0, 4, 4.
  const std::string axis_1 = IntsAttribute("axes", {1}) + IntAttribute("keepdims", 0);
  const std::string axes_text = IntsText("axes", {1}),
                    axes_1 = Operands({"axes"}) + IntAttribute("keepdims", 0);
  struct Reduction {
    const char* op_type;
    Tensor x;
    std::vector<double> by_row;
    double all;
  };
  const Tensor some = Ramp({2, 3}, 1, 1);
  const double row_0 = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  const double row_1 = std::exp(4.0) + std::exp(5.0) + std::exp(6.0);
  for (const Reduction& r :
       {Reduction{"ReduceL1", rows, {5, 8}, 13},
        Reduction{"ReduceL2", rows, {std::sqrt(11.0), std::sqrt(32.0)}, std::sqrt(43.0)},
        Reduction{"ReduceSumSquare", rows, {11, 32}, 43},
        Reduction{"ReduceLogSum", some, {std::log(6.0), std::log(15.0)}, std::log(21.0)},
        Reduction{"ReduceLogSumExp",
                  some,
                  {std::log(row_0), std::log(row_1)},
                  std::log(row_0 + row_1)}}) {
    one(r.op_type, 1, "", axis_1, r.x, {2}, r.by_row);
    one(r.op_type, 17, "", IntsAttribute("axes", {-1}), r.x, {2, 1}, r.by_row);
    one(r.op_type, 18, axes_text, axes_1, r.x, {2}, r.by_row);
    one(r.op_type, 18, "", "", r.x, {1, 1}, {r.all});
  }
  return cases;
}

// Operators whose form has not changed, or that newer opsets brought.
std::vector<Case> CurrentCases() {
  std::vector<Case> cases;
  const Tensor any = Floats({5}, {-4, -0.5f, 0, 0.5f, 4});
  const auto unary = [&](const std::string& op_type, int opset, const std::string& more,
                         const std::function<double(double)>& f) {
    Case c{op_type, opset, "", more, any, any.shape(), {}};
    for (int64_t i = 0; i < any.size(); ++i) c.expected.push_back(f(any.ValueAt(i)));
    cases.push_back(c);
  };
  unary("HardSwish", 14, "", [](double v) { return v * std::clamp(v / 6 + 0.5, 0.0, 1.0); });
  unary("Erf", 13, "", [](double v) { return std::erf(v); });
  unary("Gelu", 20, "", [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); });
  unary("Gelu", 20, TextAttribute("approximate", "tanh"), [](double v) {
    return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  });
  unary("Softplus", 1, "", [](double v) { return std::log1p(std::exp(v)); });
  unary("Sin", 7, "", [](double v) { return std::sin(v); });
  unary("Cos", 7, "", [](double v) { return std::cos(v); });
  unary("Sign", 13, "", [](double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; });
  unary("Identity", 13, "", [](double v) { return v; });
  const auto one = [&](const std::string& op_type, int opset, const std::string& text,
                       const std::string& more, const Tensor& x, Shape shape,
                       std::vector<double> expected) {
    cases.push_back({op_type, opset, text, more, x, std::move(shape), std::move(expected)});
  };
  const std::string bounds = FloatsText("b", {3}, {1, 2, 3});
  one("GreaterOrEqual", 16, bounds, "input: 'b' ", Floats({3}, {0, 2, 4}), {3}, {0, 1, 1});
  one("LessOrEqual", 12, bounds, "input: 'b' ", Floats({3}, {0, 2, 4}), {3}, {1, 1, 0});
  const Tensor image = Ramp({1, 2, 2, 2}, 1, 1);
  one("GlobalAveragePool", 1, "", "", image, {1, 2, 1, 1}, {2.5, 6.5});
  one("GlobalMaxPool", 1, "", "", image, {1, 2, 1, 1}, {4, 8});
  one("Flatten", 13, "", "", image, {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
  one("Flatten", 13, "", IntAttribute("axis", 0), Ramp({2, 2}), {1, 4}, {0, 1, 2, 3});
  one("Flatten", 11, "", IntAttribute("axis", -1), Ramp({2, 1, 2}), {2, 2}, {0, 1, 2, 3});
  one("Shape", 13, "", "", Ramp({2, 3}), {2}, {2, 3});
  one("Shape", 15, "", IntAttribute("start", 1) + IntAttribute("end", -1), Ramp({2, 3, 4}), {1},
      {3});
  // Depth is block rows, block columns, channels (DCR), or channels first (CRD, from opset 11 on).
  const Tensor depth = Ramp({1, 8, 1, 1});
  one("DepthToSpace", 1, "", IntAttribute("blocksize", 2), depth, {1, 2, 2, 2},
      {0, 2, 4, 6, 1, 3, 5, 7});
  one("DepthToSpace", 11, "", IntAttribute("blocksize", 2) + TextAttribute("mode", "CRD"), depth,
      {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  // Full result 1, 10, 102, 20, 203, 30, 300, less one place at its begin, or at its end.
  const std::string taps = FloatsText("w", {1, 1, 3}, {1, 10, 100}),
                    by_two = IntsAttribute("strides", {2});
  const Tensor three = Floats({1, 1, 3}, {1, 2, 3});
  one("ConvTranspose", 11, taps, "input: 'w' " + by_two + IntsAttribute("pads", {1, 0}), three,
      {1, 1, 6}, {10, 102, 20, 203, 30, 300});
  one("ConvTranspose", 1, taps, "input: 'w' " + by_two + IntsAttribute("pads", {0, 1}), three,
      {1, 1, 6}, {1, 10, 102, 20, 203, 30});
  one("ConvTranspose", 11, taps, "input: 'w' " + by_two + IntsAttribute("output_padding", {1}),
      three, {1, 1, 8}, {1, 10, 102, 20, 203, 30, 300, 0});
  one("ConvTranspose", 11, taps, "input: 'w' " + by_two + TextAttribute("auto_pad", "SAME_UPPER"),
      three, {1, 1, 6}, {1, 10, 102, 20, 203, 30});
  one("ConvTranspose", 11, taps, "input: 'w' " + by_two + TextAttribute("auto_pad", "SAME_LOWER"),
      three, {1, 1, 6}, {10, 102, 20, 203, 30, 300});
  // Steps of 2 from -1 on, and a window of 3 over 4 places: what is left over, and with ceil_mode
  // one window more.
  const Tensor row = Floats({1, 1, 5}, {1, 2, 3, 4, 5});
  const std::string window = IntsAttribute("kernel_shape", {3}) + IntsAttribute("strides", {2});
  one("AveragePool", 7, "", window + IntsAttribute("pads", {1, 1}), row, {1, 1, 3}, {1.5, 3, 4.5});
  one("AveragePool", 7, "",
      window + IntsAttribute("pads", {1, 1}) + IntAttribute("count_include_pad", 1), row, {1, 1, 3},
      {1, 3, 3});
  one("MaxPool", 12, "", IntsAttribute("kernel_shape", {2}) + IntsAttribute("strides", {2}), row,
      {1, 1, 2}, {2, 4});
  one("MaxPool", 10, "",
      IntsAttribute("kernel_shape", {2}) + IntsAttribute("strides", {2}) +
          IntAttribute("ceil_mode", 1),
      row, {1, 1, 3}, {2, 4, 5});
  one("MaxPool", 10, "", IntsAttribute("kernel_shape", {2}) + IntsAttribute("dilations", {3}), row,
      {1, 1, 2}, {4, 5});
  // Codes of u8 less the zero points 1 and 2; weights 1 and 3.
  const Tensor codes = Tensor::Of<uint8_t>({1, 1, 3}, {2, 4, 6});
  const std::string weights =
      "initializer { name: 'w' data_type: 2 dims: [1, 1, 2] int32_data: [3, 5] } ";
  const std::string zeros =
      "initializer { name: 'xz' data_type: 2 int32_data: 1 } "
      "initializer { name: 'wz' data_type: 2 int32_data: 2 } ";
  one("ConvInteger", 10, weights + zeros, Operands({"w", "xz", "wz"}), codes, {1, 1, 2},
      {1 * 1 + 3 * 3, 3 * 1 + 5 * 3});
  // The same with scales 1/2 and 1/4 of operands and 1/8 of the result, whose zero point is 7: 10
  // and 18 codes.
  const std::string scales = FloatsText("xs", {}, {0.5}) + FloatsText("ws", {}, {0.25}) +
                             FloatsText("ys", {}, {0.125}) +
                             "initializer { name: 'yz' data_type: 2 int32_data: 7 } ";
  one("QLinearConv", 10, weights + zeros + scales,
      Operands({"xs", "xz", "w", "ws", "wz", "ys", "yz"}), codes, {1, 1, 2}, {7 + 10, 7 + 18});
  // Range -1 to 2 in 255 steps: zero is code 85, 1 is 85 more.
  one("DynamicQuantizeLinear", 11, "", "", Floats({4}, {-1, 0, 1, 2}), {4}, {0, 85, 170, 255});
  return cases;
}

double Logistic(double v) { return 1 / (1 + std::exp(-v)); }

// Two steps of one number each through one hidden unit, by the equations of Operators.md. Weights
// stand in the order of the standard: z, r, h of GRU; i, o, f, c of LSTM.
std::vector<Case> RecurrentCases() {
  const std::vector<float> steps = {0.5, -1};
  std::vector<Case> cases;
  const auto add = [&](const std::string& op_type, int opset, const std::vector<float>& w,
                       const std::vector<float>& r, const std::string& text,
                       const std::string& more, const std::vector<double>& expected) {
    const auto gates = static_cast<int64_t>(w.size());
    cases.push_back({op_type,
                     opset,
                     FloatsText("w", {1, gates, 1}, w) + FloatsText("r", {1, gates, 1}, r) + text,
                     Operands({"w", "r"}) + more + IntAttribute("hidden_size", 1),
                     Floats({2, 1, 1}, steps),
                     {2, 1, 1, 1},
                     expected});
  };
  const auto rnn = [&](double bias) {
    std::vector<double> states;
    double state = 0;
    for (const float x : steps) states.push_back(state = std::tanh(2 * x + 3 * state + bias));
    return states;
  };
  add("RNN", 1, {2}, {3}, "", IntAttribute("output_sequence", 1), rnn(0));
  add("RNN", 7, {2}, {3}, FloatsText("b", {1, 2}, {0.5, 0.25}), Operands({"b"}), rnn(0.75));
  // An empty list of lengths is none.
  add("RNN", 14, {2}, {3}, IntsText("lengths", {}, 6), Operands({"", "lengths"}), rnn(0));
  std::vector<double> states;
  double state = 0, cell = 0;
  for (const float x : steps) {
    const double z = Logistic(x + 2 * state), r = Logistic(-x + 3 * state);
    state = (1 - z) * std::tanh(2 * x + 4 * (r * state)) + z * state;
    states.push_back(state);
  }
  add("GRU", 7, {1, -1, 2}, {2, 3, 4}, "", "", states);
  states.clear();
  state = 0;
  for (const float x : steps) {
    const double i = Logistic(x + 2 * state), o = Logistic(-x + 3 * state),
                 f = Logistic(3 * x + state);
    cell = f * cell + i * std::tanh(2 * x - state);
    states.push_back(state = o * std::tanh(cell));
  }
  add("LSTM", 7, {1, -1, 3, 2}, {2, 3, 1, -1}, "", "", states);
  return cases;
}

// Operators that took another form, or another name.
std::vector<Case> IndexCases() {
  return {{"TopK", 1, "", IntAttribute("k", 2), Floats({1, 4}, {3, 7, 1, 5}), {1, 2}, {7, 5}},
          {"TopK",
           9,
           "",
           IntAttribute("k", 1) + IntAttribute("axis", 0),
           Floats({2, 2}, {3, 7, 4, 5}),
           {1, 2},
           {4, 7}},
          {"Scatter",
           9,
           IntsText("at", {2, 0}) + FloatsText("updates", {2}, {20, 10}),
           Operands({"at", "updates"}),
           Ramp({3}),
           {3},
           {10, 1, 20}}};
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto& cases :
       {UnaryCases(), VariadicCases(), BroadcastCases(), SlopeCases(), NormalisationCases(),
        MovingCases(), SoftmaxCases(), ResizeCases(), UpsampleCases(), ComposedCases(),
        CurrentCases(), RecurrentCases(), IndexCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

class OnnxVariant : public testing::TestWithParam<Case> {};

TEST_P(OnnxVariant, GivesTheValuesOfTheStandard) {
  const Case& c = GetParam();
  const Tensor y = ResultOf(c);
  EXPECT_EQ(y.shape(), c.shape) << y.shape().ToString();
  ASSERT_EQ(y.size(), static_cast<int64_t>(c.expected.size()));
  for (size_t i = 0; i < c.expected.size(); ++i) {
    EXPECT_NEAR(y.ValueAt(static_cast<int64_t>(i)), c.expected[i],
                1e-5 * std::max(1.0, std::abs(c.expected[i])))
        << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OnnxVariant, testing::ValuesIn(AllCases()), [](const auto& suite) {
  return fmt::format("{}_{}_{}", suite.param.op_type, suite.param.opset, suite.index);
});

// Split has several results: sizes as an attribute, as an operand, by the number of results, by an
// attribute.
TEST(OnnxVariants, SplitOfEveryOpset) {
  const auto run = [](int opset, const std::string& text, const std::string& more) {
    return OutputOf(
        Import(opset, InputText("x", {"5"}) + text + "node { op_type: 'Split' input: 'x' " + more +
                          "output: 'a' output: 'y' } output { name: 'y' }"),
        {Ramp({5})});
  };
  EXPECT_EQ(run(2, "", IntsAttribute("split", {1, 4})), Floats({4}, {1, 2, 3, 4}));
  EXPECT_EQ(run(12, "", IntsAttribute("split", {3, 2})), Floats({2}, {3, 4}));
  EXPECT_EQ(run(13, IntsText("split", {3, 2}), Operands({"split"})), Floats({2}, {3, 4}));
  EXPECT_EQ(run(18, IntsText("split", {3, 2}), Operands({"split"})), Floats({2}, {3, 4}));
  // From opset 18 on the last part may be shorter.
  EXPECT_EQ(run(18, "", IntAttribute("num_outputs", 2)), Floats({2}, {3, 4}));
  const auto equal = Import(17, InputText("x", {"6"}) +
                                    "node { op_type: 'Split' input: 'x' output: 'a' output: 'y' } "
                                    "output { name: 'y' }");
  EXPECT_EQ(OutputOf(equal, {Ramp({6})}), Floats({3}, {3, 4, 5}));
}

// Every row has a case at an opset that it covers.
TEST(OnnxVariants, EveryRowHasACase) {
  std::set<std::pair<std::string, int>> covered = {
      {"Split", 2}, {"Split", 12}, {"Split", 13}, {"Split", 17}};
  for (const Case& c : AllCases()) covered.emplace(c.op_type, c.opset);
  const auto has = [&](const std::string& op_type, int first, int last) {
    return std::any_of(covered.begin(), covered.end(), [&](const auto& at) {
      return at.first == op_type && at.second >= first && at.second <= last;
    });
  };
#define KILN_ONNX_UPGRADE(name, first, last, function) \
  EXPECT_TRUE(has(#name, first, last)) << #name << " of opset " << (first) << " to " << (last);
#define KILN_ONNX_COMPOSITION(name, function) EXPECT_TRUE(has(#name, 1, 21)) << #name;
#include "kiln/frontend/onnx_rules.def"
#undef KILN_ONNX_UPGRADE
#undef KILN_ONNX_COMPOSITION
}

}  // namespace
}  // namespace kiln
