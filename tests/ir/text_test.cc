// Tests of the text form of graphs: round trips, errors with line and column, and damaged texts.
#include "kiln/ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>

#include "fmt/format.h"
#include "kiln/ir/base64.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

// Prints, parses and prints again: the texts are equal, and the graph is as far as text can tell.
void ExpectRoundTrip(const Graph& graph, const ParseOptions& options = {}) {
  const std::string text = PrintGraph(graph);
  const auto parsed = ParseGraph(text, "net.kir", options);
  ASSERT_TRUE(parsed.ok()) << MessageOf(parsed.status()) << "\n" << text;
  EXPECT_EQ(PrintGraph(*parsed), text);
  ASSERT_EQ(parsed->Constants().size(), graph.Constants().size());
  for (size_t i = 0; i < graph.Constants().size(); ++i) {
    EXPECT_EQ(parsed->Constants()[i]->constant(), graph.Constants()[i]->constant())
        << graph.Constants()[i]->name();
  }
  ASSERT_EQ(parsed->num_nodes(), graph.num_nodes());
  for (size_t i = 0; i < graph.NodeList().size(); ++i) {
    EXPECT_EQ(parsed->NodeList()[i]->attributes(), graph.NodeList()[i]->attributes());
  }
}

TEST(Text, RandomGraphsRoundTrip) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    ExpectRoundTrip(RandomGraph(seed, {.allow_nhwc = true}));
    if (HasFailure()) return;
  }
}

constexpr std::string_view kGolden = R"(graph "golden" {
  metadata "kiln.mean" = "0.5\n"
  input %image : f32[?x3x8x8] quant int8 per_tensor scale=[0.0078125] zero=[-3]
  const %w : f32[4x3x1x1] quant int4 per_channel symmetric axis=0 scale=[0.5, 0.25, 0.125, 1] = [0, 0.1, 0.2, -0.3, 1, -1, 1e-10, 2, 3, 4, 5, 6]
  const %"odd \"name\"\\ \x01\xc3\xa9" : i64[2] = [0, -1]
  %1 = conv %image, %w, _ {kernel_shape=[1, 1], layout="nchw"} "first" region "stem" : f32[?x4x8x8]
  %2, _ = max_pool %1 {kernel_shape=[2, 2], strides=[2, 2]} "pool" : f32[?x4x4x4]
  %flat = reshape %2, %"odd \"name\"\\ \x01\xc3\xa9" : f32[?x64]
  %3 = clip %flat, _, _ : f32[?x64]
  output %3
  output %2
}
)";

TEST(Text, GoldenTextParsesAndPrintsTheSame) {
  const auto graph = ParseGraph(kGolden, "golden.kir");
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(PrintGraph(*graph), kGolden);
  EXPECT_EQ(graph->source(), "golden.kir");
  const Node* conv = graph->NodeList()[0];
  EXPECT_EQ(conv->name(), "first");
  EXPECT_EQ(conv->region(), "stem");
  EXPECT_EQ(conv->num_operands(), 3);
  EXPECT_EQ(conv->operand(2), nullptr);
  EXPECT_EQ(graph->NodeList()[1]->num_results(), 2);
  EXPECT_EQ(graph->NodeList()[1]->result(1), nullptr);
  EXPECT_EQ(graph->inputs()[0]->quantisation()->zero_points, std::vector<int32_t>{-3});
  EXPECT_FALSE(graph->inputs()[0]->quantisation()->type.symmetric);
  EXPECT_EQ(graph->metadata().at("kiln.mean"), "0.5\n");
  EXPECT_EQ(PrintNode(*conv),
            "%1 = conv %image, %w, _ {kernel_shape=[1, 1], layout=\"nchw\"} \"first\" region "
            "\"stem\" : f32[?x4x8x8]");
}

TEST(Text, AnnotationsRoundTrip) {
  constexpr std::string_view kTexts[] = {
      "int8 per_tensor scale=[0.5] zero=[-3]",
      "int8 per_tensor symmetric scale=[0.5]",
      "int4 per_channel symmetric axis=1 scale=[1, 2]",
      "int32 none symmetric",
      "e4m3 none",
      "posit8_1 per_tensor scale_format=e8m0 scale=[0.25]",
      "fixed8_6 per_block axis=3 block=32 scale_format=e8m0",
      "nf4 per_block axis=0 block=2 scale=[1, 0.1, 0.3333333]",
      "int4.toward_zero.wrap per_tensor symmetric scale=[1]",
  };
  for (std::string_view text : kTexts) {
    const auto q = ParseQuantisation(text, "");
    ASSERT_TRUE(q.ok()) << text << ": " << q.status();
    EXPECT_EQ(PrintQuantisation(*q), text);
    EXPECT_EQ(*ParseQuantisation(PrintQuantisation(*q), ""), *q);
  }
  EXPECT_TRUE(ParseQuantisation("e4m3 none", "")->type.symmetric);
  EXPECT_FALSE(ParseQuantisation("int8 none", "")->type.symmetric);
  EXPECT_EQ(ParseQuantisation("fixed8_6 per_block axis=3 block=32 scale_format=e8m0", "")->type,
            FindQuantType("mxint8").value());
}

TEST(Text, AnnotationErrors) {
  EXPECT_EQ(MessageOf(ParseQuantisation("int8 per_tensor scale=[1] more", "x").status()),
            "x: line 1, column 27: found 'more'; expected the end of the annotation");
  EXPECT_THAT(MessageOf(ParseQuantisation("int99 none", "x").status()),
              HasSubstr("x: line 1, column 1: "));
  EXPECT_THAT(MessageOf(ParseQuantisation("int8 per_row", "x").status()), HasSubstr("per_row"));
  EXPECT_THAT(MessageOf(ParseQuantisation("e2m1 per_block scale_format=x9", "x").status()),
              HasSubstr("x9"));
}

TEST(Text, ACodebookIsItsPath) {
  const std::string path = testing::TempDir() + "my-code.yaml";
  std::ofstream(path) << "name: my_code\nbits: 2\nvalues: [-1, 0, 1, 3]\n";
  const auto format = FindFormat(path);
  ASSERT_TRUE(format.ok()) << format.status();
  const Quantisation q{.type = {.format = *format, .scheme = Scheme::kNone}};
  EXPECT_EQ(PrintQuantisation(q), path + " none");
  const auto back = ParseQuantisation(PrintQuantisation(q), "");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, q);
  EXPECT_EQ(back->type.format.codebook->values, (std::vector<float>{-1, 0, 1, 3}));
  EXPECT_TRUE(VerifyQuantisation(q, {ElementType::kFloat32, Shape{3}}, "", "").ok());
}

TEST(Text, TypesLeftOutAreInferred) {
  const auto graph = ParseGraph(
      R"(graph "" { input %x : f32[2x3]  %y = transpose %x  %z = shape %y output %z })", "");
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->FindValue("y")->shape(), Shape({3, 2}));
  EXPECT_EQ(graph->FindValue("z")->element(), ElementType::kInt64);
}

TEST(Text, EveryElementTypeRoundTrips) {
  Random random(1);
  for (int t = 0; t <= static_cast<int>(ElementType::kBool); ++t) {
    const auto type = static_cast<ElementType>(t);
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 0, 3}, Shape{5}, Shape{7, 9}}) {
      Graph graph("types");
      graph.AddConstant("c", RandomTensor(random, type, shape, IsFloat(type) ? -3 : 0,
                                          type == ElementType::kBool ? 2 : 100));
      ExpectRoundTrip(graph);
    }
  }
  Graph graph("strings");
  graph.AddConstant("s", Tensor::OfStrings(Shape{3}, {"", "a\"\\b", std::string("\0\xff\n", 3)}));
  ExpectRoundTrip(graph);
}

TEST(Text, IntegersAtTheirLimitsRoundTrip) {
  Graph graph("limits");
  graph.AddConstant("i64", Tensor::Of<int64_t>(Shape{2}, {INT64_MIN, INT64_MAX}));
  graph.AddConstant("u64", Tensor::Of<uint64_t>(Shape{2}, {0, UINT64_MAX}));
  graph.AddConstant("i8", Tensor::Of<int8_t>(Shape{2}, {-128, 127}));
  graph.AddConstant("u8", Tensor::Of<uint8_t>(Shape{2}, {0, 255}));
  ExpectRoundTrip(graph);
}

TEST(Text, FloatBitsRoundTrip) {
  const std::vector<uint32_t> bits = {0,          0x80000000, 1,          0x007fffff, 0x00800000,
                                      0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
                                      0x7f800001, 0x7fc12345, 0x3dcccccd};
  std::vector<float> floats;
  std::vector<double> doubles;
  for (uint32_t b : bits) {
    floats.push_back(std::bit_cast<float>(b));
    doubles.push_back(std::bit_cast<double>(static_cast<uint64_t>(b) << 32 | b));
  }
  Graph graph("bits");
  graph.AddConstant("f", Tensor::Of<float>(Shape{static_cast<int64_t>(floats.size())}, floats));
  graph.AddConstant("d", Tensor::Of<double>(Shape{static_cast<int64_t>(doubles.size())}, doubles));
  ExpectRoundTrip(graph);
  // All 16-bit patterns, in small lists.
  for (ElementType type : {ElementType::kFloat16, ElementType::kBfloat16}) {
    Graph halves("halves");
    for (int begin = 0; begin < 65536; begin += 16) {
      Tensor tensor(type, Shape{16});
      for (int i = 0; i < 16; ++i)
        tensor.data<uint16_t>()[static_cast<size_t>(i)] = static_cast<uint16_t>(begin + i);
      halves.AddConstant("", tensor);
    }
    ExpectRoundTrip(halves);
  }
}

TEST(Text, EveryAttributeKindRoundTrips) {
  Graph graph("attributes");
  Value* x = graph.AddInput("x", {});
  Node* node = graph.AddNode(Op::kRelu, "", {x}, {"y"});
  Attributes& a = node->attributes();
  a.Set("int", INT64_MIN);
  a.Set("float", 1.0f);
  a.Set("negative", -0.0f);
  a.Set("big", 3e38f);
  a.Set("infinite", -INFINITY);
  a.Set("string", std::string("a{}\"=,%\n"));
  a.Set("ints", Ints{1, -2});
  a.Set("no ints", Ints{});
  a.Set("floats", std::vector<float>{1, 2.5f, INFINITY});
  a.Set("no floats", std::vector<float>{});
  a.Set("strings", std::vector<std::string>{"", "]"});
  a.Set("no strings", std::vector<std::string>{});
  a.Set("tensor", Tensor::Of<double>(Shape{2}, {0.1, 5e-324}));
  a.Set("big tensor", Tensor(ElementType::kInt8, Shape{100}));
  a.Set("text tensor", Tensor::OfStrings(Shape{}, {"t"}));
  a.Set("", int64_t{0});
  ExpectRoundTrip(graph, {.verify = false});
  // Another bit pattern of NaN, which compares unequal to itself.
  a.Set("nan", std::bit_cast<float>(0xffc00001u));
  EXPECT_THAT(PrintGraph(graph), HasSubstr("nan=nan(ffc00001)"));
  EXPECT_EQ(PrintGraph(*ParseGraph(PrintGraph(graph), "", {.verify = false})), PrintGraph(graph));
}

TEST(Text, ElidedConstants) {
  Graph graph("net");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 8}});
  Value* w = graph.AddConstant("w", Tensor(ElementType::kFloat32, Shape{8, 4}));
  Value* b = graph.AddConstant("b", Tensor(ElementType::kFloat32, Shape{4}));
  Node* node = graph.AddNode(Op::kGemm, "fc", {x, w, b}, {"y"});
  ASSERT_TRUE(InferNode(graph, *node).ok());
  graph.MarkOutput(node->result());
  const std::string text = PrintGraph(graph, {.elide_constants = true});
  EXPECT_THAT(text,
              HasSubstr("const %w : f32[8x4] = elided\n  const %b : f32[4] = [0, 0, 0, 0]\n"));
  EXPECT_EQ(
      MessageOf(ParseGraph(text, "net.kir").status()),
      "net.kir: line 3, column 25: the elements of %w were elided; a text printed without elision");
  const auto shapes = ParseGraph(text, "net.kir", {.elided_as_inputs = true});
  ASSERT_TRUE(shapes.ok());
  ASSERT_EQ(shapes->inputs().size(), 2u);
  EXPECT_EQ(shapes->inputs()[1]->name(), "w");
  EXPECT_EQ(shapes->FindValue("y")->shape(), Shape({1, 4}));
}

struct Bad {
  std::string text;
  std::string message;
};

TEST(Text, ErrorsNameLineAndColumn) {
  const auto in_graph = [](std::string body) { return "graph \"g\" {\n" + body + "\n}\n"; };
  const std::vector<Bad> cases = {
      {"", "net.kir: line 1, column 1: found the end of the text; expected graph"},
      {"graph g {}", "line 1, column 7: found 'g'; expected a string in double quotes"},
      {"graph \"g\" {", "line 1, column 12: found the end of the text; expected metadata"},
      {"graph \"g\" {} x", "line 1, column 14: found 'x'; expected the end of the text"},
      {in_graph("  input image : f32[1]"), "line 2, column 9: found 'image'; expected '%'"},
      {in_graph("input %x : f33[1]"), "line 2, column 12: found 'f33'; expected an element type"},
      {in_graph("input %x : f32[1x]"), "a dimension is missing"},
      {in_graph("input %x : f32[x1]"), "a dimension is missing"},
      {in_graph("input %x : f32[1?]"), "line 2, column 17: found '?'; expected 'x' or ']'"},
      {in_graph("input %x : f32[-1]"), "the dimension -1 is negative"},
      {in_graph("input %x : f32[99999999999999999999]"), "is out of range"},
      {in_graph("input %x : f32[8589934592x2]"), "is too large; at most 16 axes"},
      {in_graph("input %x : f32[1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1]"), "is too large"},
      {in_graph("input %x : f32[1]\ninput %x : f32[1]"), "line 3, column 8: the name %x is taken"},
      {in_graph("input %\"\" : f32[1]"), "a value has an empty name"},
      {in_graph("%y = relu %x"), "line 2, column 12: no value %x is defined before this"},
      {in_graph("output %x"), "no value %x is defined before this"},
      {in_graph("output _"), "expected a value"},
      {in_graph("%y = rely"), "line 2, column 6: found 'rely'; expected an operator"},
      {in_graph("const %c : f32[2] = [1, 2, 3]"), "3 elements for a tensor of shape 2; 2"},
      {in_graph("const %c : f32[8589934592] = [1]"), "1 elements for a tensor of shape 8589934592"},
      {in_graph("const %c : f32[?] = [1]"), "a constant of unknown shape"},
      {in_graph("const %c : i8[1] = [128]"), "the number 128 is out of range; -128 to 127"},
      {in_graph("const %c : i8[1] = [1.5]"), "found '1.5'; expected an integer"},
      {in_graph("const %c : f32[1] = [1e99]"), "expected a number in range"},
      {in_graph("const %c : f32[1] = [nan(0)]"), "expected the bits of a NaN"},
      {in_graph("const %c : f32[1] = [nanx]"), "expected a number"},
      {in_graph("const %c : bool[1] = [2]"), "expected 0 or 1"},
      {in_graph("const %c : f32[1] = base64 \"AAAA\""), "3 bytes for a tensor that takes 4"},
      {in_graph("const %c : f32[1] = base64 \"A\""), "faulty base64"},
      {in_graph("const %c : string[1] = base64 \"\""), "strings in base64"},
      {in_graph("input %x : f32[1]\n%y = relu %x {a=[1, 2.0]}"), "a list of several kinds"},
      {in_graph("input %x : f32[1]\n%y = relu %x {a=1, a=2}"), "the attribute a occurs twice"},
      {in_graph("input %x : f32[1]\n%y, %y = relu %x"), "the name %y is taken"},
      {in_graph("input %x : f32[1] quant int99 per_tensor"), "unknown format 'int99'"},
      {in_graph("input %x : f32[1] quant int8 per_row"), "unknown scheme 'per_row'"},
      {in_graph("input %\"x : f32[1]"), "a string that does not end on its line"},
      {in_graph("input %\"\\q\" : f32[1]"), "unknown escape \\q"},
      {in_graph("input %\"\\x1\" : f32[1]"), "an escape \\x without two hexadecimal digits"},
      {in_graph("\x01"), "line 2, column 1: found the byte 0x01"},
      {in_graph("input %x : f32[2]\n%y = add %x, %x : f32[3]\noutput %y"),
       "node '' (Add): result 'y' has type f32[3]"},
      {in_graph("input %x : f32[2]\n%y = matmul %x"), "has 1 operands"},
  };
  for (const Bad& c : cases) {
    const auto graph = ParseGraph(c.text, "net.kir");
    ASSERT_FALSE(graph.ok()) << c.text;
    EXPECT_THAT(MessageOf(graph.status()), HasSubstr("net.kir: ")) << c.text;
    EXPECT_THAT(MessageOf(graph.status()), HasSubstr(c.message)) << c.text;
  }
}

// Texts that are almost right: bytes of a good one changed, removed and doubled. Whatever parses
// must verify.
TEST(Text, DamagedTextsNeverCrash) {
  int parsed = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::string text =
        seed % 3 == 0 ? std::string(kGolden) : PrintGraph(RandomGraph(seed % 20, {.max_steps = 5}));
    for (int64_t i = random.Between(1, 4); i > 0; --i) {
      const size_t at = random.Below(text.size());
      switch (random.Below(4)) {
        case 0:
          text[at] = static_cast<char>(random.Below(256));
          break;
        case 1:
          text.erase(at, random.Below(8));
          break;
        case 2:
          text.insert(at, text.substr(random.Below(text.size()), random.Below(30)));
          break;
        default:
          text[at] = "0123456789x?[]{}%_\"-=,"[random.Below(22)];
      }
      if (text.empty()) text = "graph";
    }
    const auto graph = ParseGraph(text, "damaged");
    if (!graph.ok()) continue;
    ++parsed;
    ASSERT_TRUE(Verify(*graph).ok());
    const std::string again = PrintGraph(*graph);
    const auto reparsed = ParseGraph(again, "");
    ASSERT_TRUE(reparsed.ok()) << MessageOf(reparsed.status()) << "\n" << again;
    ASSERT_EQ(PrintGraph(*reparsed), again);
  }
  EXPECT_GT(parsed, 30);
}

TEST(Base64, KnownTextsAndFaults) {
  const auto encode = [](std::string_view s) {
    return EncodeBase64(std::as_bytes(std::span(s.data(), s.size())));
  };
  // The test vectors of RFC 4648, section 10.
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
  for (std::string_view text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"}) {
    const auto bytes = DecodeBase64(encode(text));
    ASSERT_TRUE(bytes.has_value());
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()), text);
  }
  for (std::string_view bad :
       {"Z", "Zg", "Zg=", "Z===", "Zg==Zg==", "Zh==", "Zm9=", "Zm9v Zg=", "Zg=a", "===="}) {
    EXPECT_FALSE(DecodeBase64(bad).has_value()) << bad;
  }
}

TEST(Text, NodesAtTheBudget) {
  std::string text = "graph \"g\" {\n  input %v0 : f32[1]\n";
  for (int i = 0; i < 5; ++i) text += fmt::format("  %v{} = relu %v{}\n", i + 1, i);
  text += "  output %v5\n}\n";
  EXPECT_TRUE(ParseGraph(text, "g.kir", {.most_nodes = 5}).ok());
  EXPECT_EQ(MessageOf(ParseGraph(text, "g.kir", {.most_nodes = 4}).status()),
            "g.kir: line 7, column 3: the graph has too many nodes; at most 4");
  EXPECT_EQ(ParseOptions().most_nodes, budgets::kGraphTextNodes);
}

// The output does not exist, so that reading stops after the nodes.
TEST(Text, NodesAtTheBudgetOfTheTable) {
  const auto error = [](int64_t nodes) {
    std::string text = "graph \"g\" {\n  input %x : f32[1]\n";
    for (int64_t i = 1; i <= nodes; ++i) text += "  %v" + std::to_string(i) + " = relu %x\n";
    return MessageOf(ParseGraph(text + "  output %none\n}\n", "g.kir").status());
  };
  EXPECT_THAT(error(budgets::kGraphTextNodes), testing::HasSubstr("none"));
  EXPECT_EQ(error(budgets::kGraphTextNodes + 1),
            "g.kir: line 1048579, column 3: the graph has too many nodes; at most 1048576");
}

}  // namespace
}  // namespace kiln
