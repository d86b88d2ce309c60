// Tests of 8-bit floats, 4-bit integers and scales per block in models that Kiln did not export:
// written here as protobuf text, with results by hand from ONNX's definition of the operators.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kiln/execute/codes.h"
#include "kiln/passes/pipeline.h"
#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr int kE4m3 = 17, kE4m3Fnuz = 18, kE5m2 = 19, kUint4 = 21, kInt4 = 22;

// An initialiser whose bytes are entries of int32_data, as ONNX stores narrow types there.
std::string CodesText(const std::string& name, int type, const std::vector<int64_t>& dims,
                      const std::vector<int>& bytes) {
  return fmt::format("initializer {{ name: '{}' data_type: {} dims: [{}] int32_data: [{}] }} ",
                     name, type, fmt::join(dims, ", "), fmt::join(bytes, ", "));
}
std::string DequantiseText(const std::string& attributes, const std::string& zero = "") {
  return fmt::format(
      "node {{ op_type: 'DequantizeLinear' input: ['codes', 'scale'{}] output: 'w' "
      "{} }} ",
      zero.empty() ? "" : ", '" + zero + "'", attributes);
}
std::string ProductText() {
  return "node { op_type: 'MatMul' input: ['x', 'w'] output: 'y' } output { name: 'y' } ";
}

std::vector<float> OutputOn(const Graph& graph, const Tensor& x) {
  auto executor = ReferenceExecutor::Create(graph);
  EXPECT_TRUE(executor.ok()) << MessageOf(executor.status());
  auto outputs = (*executor)->Run(std::vector<Tensor>{x});
  EXPECT_TRUE(outputs.ok()) << MessageOf(outputs.status());
  return (*outputs)[0].ToFloats();
}

// Returns the annotated network, as an accelerator sees it.
Graph AsAccelerators(const Graph& graph) {
  Graph annotated = graph.Clone();
  PassContext context;
  EXPECT_TRUE(RunPasses(annotated, StandardPipeline(), context).ok());
  EXPECT_TRUE(RunPasses(annotated, AnnotationPipeline(), context).ok());
  return annotated;
}

// The only constant of more than one element.
const Value& Weights(const Graph& graph) {
  for (const Value* value : graph.Constants()) {
    if (value->constant().size() > 1) return *value;
  }
  ADD_FAILURE() << "no weights";
  return *graph.Constants()[0];
}

// Codes 7, -8, 1, -1, 0, 3, -4, 5, the first of two in the low half of a byte. Of the first column,
// 0.5 * (7 * 1 + 1 * 2 + 0 * 3 - 4 * 4) = -3.5; of the second, 0.25 * (-8 - 2 + 9 + 20) = 4.75.
TEST(NarrowImport, Int4PerChannel) {
  const auto graph = Import(21, InputText("x", {"1", "4"}) +
                                    CodesText("codes", kInt4, {4, 2}, {0x87, 0xf1, 0x30, 0x5c}) +
                                    FloatsText("scale", {2}, {0.5f, 0.25f}) +
                                    DequantiseText(IntAttribute("axis", 1)) + ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Tensor x = Tensor::Of<float>({1, 4}, {1, 2, 3, 4});
  EXPECT_THAT(OutputOn(*graph, x), ElementsAre(-3.5f, 4.75f));
  const Graph annotated = AsAccelerators(*graph);
  EXPECT_THAT(OutputOn(annotated, x), ElementsAre(-3.5f, 4.75f));
  const Value& weights = Weights(annotated);
  ASSERT_TRUE(weights.quantisation().has_value());
  EXPECT_EQ(weights.quantisation()->type.format.name, "int4");
  EXPECT_THAT(weights.quantisation()->scales, ElementsAre(0.5f, 0.25f));
  EXPECT_EQ(QuantiseTensor(weights.constant(), *weights.quantisation()),
            Tensor::Of<int8_t>({4, 2}, {7, -8, 1, -1, 0, 3, -4, 5}));
}

// Codes 0, 15, 8, 3 with zero points 8 and 2 in one byte: -8 * 1, 13 * 2, 0, 1 * 2; an odd number
// of codes leaves the last half byte empty.
TEST(NarrowImport, Uint4WithZeroPoints) {
  const auto graph =
      Import(21, InputText("x", {"1", "2"}) + CodesText("codes", kUint4, {2, 2}, {0xf0, 0x38}) +
                     FloatsText("scale", {2}, {1, 2}) + CodesText("zero", kUint4, {2}, {0x28}) +
                     DequantiseText(IntAttribute("axis", -1), "zero") + ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Graph annotated = AsAccelerators(*graph);
  const Value& weights = Weights(annotated);
  EXPECT_THAT(weights.constant().ToFloats(), ElementsAre(-8, 26, 0, 2));
  EXPECT_EQ(weights.quantisation()->type.format.name, "uint4");
  EXPECT_THAT(weights.quantisation()->zero_points, ElementsAre(8, 2));
  EXPECT_THAT(OutputOn(*graph, Tensor::Of<float>({1, 2}, {1, 10})), ElementsAre(-8, 46));
}

// A channel of zeros often has the scale 0, which no annotation has.
TEST(NarrowImport, E4m3WithAScaleOfZero) {
  const auto graph = Import(19, InputText("x", {"1", "2"}) +
                                    CodesText("codes", kE4m3, {2, 2}, {0x38, 0, 0x7e, 0x30}) +
                                    FloatsText("scale", {2}, {0, 2}) +
                                    DequantiseText(IntAttribute("axis", 1)) + ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(OutputOn(*graph, Tensor::Of<float>({1, 2}, {1, 10})), ElementsAre(0, 10));
}
TEST(NarrowImport, Int4WithAScaleOfZero) {
  const auto graph =
      Import(21, InputText("x", {"1", "2"}) + CodesText("codes", kInt4, {2, 2}, {0x10, 0x70}) +
                     FloatsText("scale", {2}, {0, 2}) + DequantiseText(IntAttribute("axis", 1)) +
                     ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(OutputOn(*graph, Tensor::Of<float>({1, 2}, {1, 10})), ElementsAre(0, 142));
}

// Blocks of 2 along the rows, the last one shorter, with scales that no rule finds, as rounding by
// other tools leaves them. Accelerators see plain constants, which a recipe may quantise.
TEST(NarrowImport, Int4PerBlock) {
  const auto graph = Import(
      21, InputText("x", {"1", "3"}) + CodesText("codes", kInt4, {3, 2}, {0x21, 0x43, 0x65}) +
              FloatsText("scale", {2, 2}, {0.5f, 0.25f, 2, 1.5f}) +
              DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", 2)) +
              ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Tensor x = Tensor::Of<float>({1, 3}, {1, 10, 100});
  // 0.5 * 1 + 0.5 * 3 * 10 + 2 * 5 * 100; 0.25 * 2 + 0.25 * 4 * 10 + 1.5 * 6 * 100.
  EXPECT_THAT(OutputOn(*graph, x), ElementsAre(1015.5f, 910.5f));
  const Graph annotated = AsAccelerators(*graph);
  EXPECT_EQ(annotated.num_nodes(), 1);
  EXPECT_FALSE(Weights(annotated).quantisation().has_value());
  EXPECT_THAT(OutputOn(annotated, x), ElementsAre(1015.5f, 910.5f));
}

// Zero points per block as well: (code - zero) * scale.
TEST(NarrowImport, Uint4PerBlockWithZeroPoints) {
  const auto graph = Import(
      21, InputText("x", {"1", "2"}) + CodesText("codes", kUint4, {2, 2}, {0x21, 0x43}) +
              FloatsText("scale", {1, 2}, {0.5f, 3}) + CodesText("zero", kUint4, {1, 2}, {0x18}) +
              DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", 2), "zero") +
              ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  // 0.5 * (1 - 8) + 0.5 * (3 - 8) * 10; 3 * (2 - 1) + 3 * (4 - 1) * 10.
  EXPECT_THAT(OutputOn(*graph, Tensor::Of<float>({1, 2}, {1, 10})), ElementsAre(-28.5f, 93));
}

// Scales that the rule of MX finds become mxint8: 64 and -127 under 2^-2 times 64 / 64.
TEST(NarrowImport, Int8PerBlockOfPowersOfTwo) {
  const auto graph =
      Import(21, InputText("x", {"1", "4"}) + CodesText("codes", 3, {4, 1}, {64, -127, 3, 100}) +
                     FloatsText("scale", {2, 1}, {0.25f, 8}) +
                     DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", 2)) +
                     ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Graph annotated = AsAccelerators(*graph);
  const Value& weights = Weights(annotated);
  ASSERT_TRUE(weights.quantisation().has_value());
  const QuantType& type = weights.quantisation()->type;
  EXPECT_EQ(type.format.name, "fixed8_6");
  EXPECT_EQ(type.scale_format.name, "e8m0");
  EXPECT_EQ(type.block_size, 2);
  EXPECT_EQ(weights.quantisation()->axis, 0);
  EXPECT_THAT(weights.constant().ToFloats(), ElementsAre(16, -31.75f, 24, 800));
  EXPECT_EQ(QuantiseBlocks(weights.constant(), *weights.quantisation()).codes,
            Tensor::Of<int8_t>({4, 1}, {64, -127, 3, 100}));
}

// Values of E4M3FN: 0x7e is 448, 0x01 is 2^-9, 0x08 is 2^-6, 0xb8 is -1; a block's scale of 2 is
// the rule's, because 448 is at the top of the format.
TEST(NarrowImport, E4m3PerBlock) {
  const auto graph = Import(
      21, InputText("x", {"1", "4"}) + CodesText("codes", kE4m3, {4, 1}, {0x7e, 0x01, 0x78, 0xb8}) +
              FloatsText("scale", {2, 1}, {2, 1}) +
              DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", 2)) +
              ProductText());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Graph annotated = AsAccelerators(*graph);
  const Value& weights = Weights(annotated);
  EXPECT_THAT(weights.constant().ToFloats(), ElementsAre(896, 0x1p-8f, 256, -1));
  ASSERT_TRUE(weights.quantisation().has_value());
  EXPECT_EQ(weights.quantisation()->type.format.name, "e4m3");
  EXPECT_EQ(weights.quantisation()->type.scale_format.name, "e8m0");
}

// A block may be longer than its axis, of any size.
TEST(NarrowImport, BlocksLongerThanTheAxis) {
  for (const int64_t block : {int64_t{32}, std::numeric_limits<int64_t>::max()}) {
    SCOPED_TRACE(block);
    for (const int type : {3, kInt4, kE4m3}) {
      const std::vector<int> codes = type == 3       ? std::vector<int>{1, 64}
                                     : type == kInt4 ? std::vector<int>{0x71}
                                                     : std::vector<int>{0x38, 0x7e};
      const auto graph = Import(
          21, InputText("x", {"1", "2"}) + CodesText("codes", type, {2, 1}, codes) +
                  FloatsText("scale", {1, 1}, {0.5f}) +
                  DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", block)) +
                  ProductText());
      ASSERT_TRUE(graph.ok()) << graph.status();
      const Tensor x = Tensor::Of<float>({1, 2}, {1, 10});
      const float second = type == 3 ? 64.0f : type == kInt4 ? 7.0f : 448.0f;
      EXPECT_THAT(OutputOn(*graph, x), ElementsAre(0.5f + 5 * second));
      EXPECT_THAT(OutputOn(AsAccelerators(*graph), x), ElementsAre(0.5f + 5 * second));
    }
  }
}

std::string RoundTripText(int type, const std::string& attributes = "") {
  return FloatsText("scale", {}, {1}) + CodesText("zero", type, {}, {0}) +
         fmt::format(
             "node {{ op_type: 'QuantizeLinear' input: ['x', 'scale', 'zero'] output: 'q' "
             "{} }} node {{ op_type: 'DequantizeLinear' input: ['q', 'scale', 'zero'] "
             "output: 'y' }} output {{ name: 'y' }} ",
             attributes);
}

// The rounding and the saturation of ONNX's Cast to 8-bit floats with saturate = 1: beyond the
// greatest value, infinity included, comes the greatest value; NaN stays. E4M3FN has 3 mantissa
// bits and values up to 448 in steps of 32 there; E5M2 has 2 bits, up to 57344. Halves go to even.
TEST(NarrowImport, FloatsSaturateAsOnnxSays) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::Of<float>(
      {1, 10}, {0.1f, 17, 19, 464, 480, -1e9f, inf, -inf, 0x1p-10f, 3 * 0x1p-10f});
  const auto e4m3 = Import(19, InputText("x", {"1", "10"}) + RoundTripText(kE4m3));
  ASSERT_TRUE(e4m3.ok()) << e4m3.status();
  // 0.1 is between 0.09375 and 0.1015625; 17 and 19 are halfway between 16, 18 and 20.
  EXPECT_THAT(OutputOn(*e4m3, x), ElementsAreArray({0.1015625f, 16.0f, 20.0f, 448.0f, 448.0f,
                                                    -448.0f, 448.0f, -448.0f, 0.0f, 0x1p-8f}));
  const auto e5m2 = Import(19, InputText("x", {"1", "10"}) + RoundTripText(kE5m2));
  ASSERT_TRUE(e5m2.ok()) << e5m2.status();
  EXPECT_THAT(OutputOn(*e5m2, x),
              ElementsAreArray({0.09375f, 16.0f, 20.0f, 448.0f, 512.0f, -57344.0f, 57344.0f,
                                -57344.0f, 0x1p-10f, 3 * 0x1p-10f}));
  const Tensor nan = Tensor::Of<float>({1, 10}, std::vector<float>(10, std::nanf("")));
  EXPECT_TRUE(std::isnan(OutputOn(*e4m3, nan)[0]));
  EXPECT_TRUE(std::isnan(OutputOn(*e5m2, nan)[0]));
}

TEST(NarrowImport, NamesWhatIsRefused) {
  const auto error = [](const std::string& text, int opset = 21) {
    return MessageOf(Import(opset, InputText("x", {"1", "4"}) + text).status());
  };
  EXPECT_THAT(error(RoundTripText(kE4m3, IntAttribute("saturate", 0))),
              HasSubstr("quantises to e4m3 without saturation; saturate=1"));
  EXPECT_THAT(error(RoundTripText(kE4m3Fnuz)),
              HasSubstr("initialiser 'zero': element type float8e4m3fnuz is not supported"));
  const std::string codes = CodesText("codes", kE4m3, {4, 1}, {1, 2, 3, 4});
  EXPECT_THAT(error(codes + FloatsText("scale", {3, 1}, {1, 1, 1}) +
                    DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", 2)) +
                    ProductText()),
              HasSubstr("has scales of 3x1 for a tensor of 4x1; scales of 2x1"));
  // As many scales as there are blocks, in another shape.
  EXPECT_THAT(error(codes + FloatsText("scale", {1, 2}, {1, 1}) +
                    DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", 2)) +
                    ProductText()),
              HasSubstr("has scales of 1x2 for a tensor of 4x1; scales of 2x1"));
  EXPECT_THAT(error(CodesText("codes", kInt4, {4, 1}, {0x21, 0x43}) +
                    FloatsText("scale", {3, 1}, {1, 1, 1}) +
                    DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", 2)) +
                    ProductText()),
              HasSubstr("one number a block of 2 along axis 0 of 4x1"));
  EXPECT_THAT(error(codes + FloatsText("scale", {1, 1}, {1}) +
                    DequantiseText(IntAttribute("axis", 0) + IntAttribute("block_size", -1)) +
                    ProductText()),
              HasSubstr("block_size is -1; 0 or more"));
  EXPECT_THAT(error(CodesText("codes", kInt4, {4, 1}, {0x21}) + FloatsText("scale", {}, {1}) +
                    DequantiseText("") + ProductText()),
              HasSubstr("initialiser 'codes': holds 1 elements where shape 2 of u8 needs 2"));
}

}  // namespace
}  // namespace kiln
