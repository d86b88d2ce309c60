// Tests of every shape rule with hand-written cases, and on random and meaningless graphs.
#include "kiln/ir/shape_inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kiln/ir/indexing.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/signature.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

using ::testing::HasSubstr;

// Statements of the text form; the results of the last node are what is looked at.
struct Case {
  std::string body;
  std::string expected;  // "f32[1x2]", results joined by ", "; or a part of the error message
};

std::string ResultTypes(const Graph& graph) {
  const std::string line = PrintNode(*graph.NodeList().back());
  const size_t colon = line.rfind(" : ");
  return colon == std::string::npos ? "" : line.substr(colon + 3);
}

std::string InGraph(std::string_view body) { return "graph \"\" {\n" + std::string(body) + "\n}"; }

void ExpectTypes(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto graph = ParseGraph(InGraph(c.body), "", {.elided_as_inputs = true});
    ASSERT_TRUE(graph.ok()) << c.body << "\n" << MessageOf(graph.status());
    EXPECT_EQ(ResultTypes(*graph), c.expected) << c.body;
  }
}

void ExpectErrors(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto graph = ParseGraph(InGraph(c.body), "net.kir", {.elided_as_inputs = true});
    ASSERT_FALSE(graph.ok()) << c.body << "\nwas accepted as " << ResultTypes(*graph);
    EXPECT_THAT(MessageOf(graph.status()), HasSubstr("net.kir: node ")) << c.body;
    EXPECT_THAT(MessageOf(graph.status()), HasSubstr(c.expected)) << c.body;
  }
}

std::vector<Case> ConvolutionsAndPoolsCases() {
  return {
      {"input %x : f32[1x3x9x8] const %w : f32[16x3x3x5] = elided %y = conv %x, %w",
       "f32[1x16x7x4]"},
      {"input %x : f32[?x3x?x8] const %w : f32[16x3x3x5] = elided %y = conv %x, %w",
       "f32[?x16x?x4]"},
      {"input %x : f32[*] const %w : f32[16x3x3x5] = elided %y = conv %x, %w", "f32[*]"},
      {"input %x : f32[1x3x9x8] input %w : f32[*] %y = conv %x, %w", "f32[*]"},
      {"input %x : f32[1x3x9x8] input %w : f32[?x3x3x3] %y = conv %x, %w", "f32[?x?x?x?]"},
      {"input %x : f64[1x9x8x3] const %w : f64[4x3x3x3] = elided %y = conv %x, %w "
       "{layout=\"nhwc\"}",
       "f64[1x7x6x4]"},
      // 2 * (3 - 1) + 1 + 3 = 8 and 2 * 2 + 0 + 3 = 7.
      {"input %x : f32[1x1x3x3] const %w : f32[1x2x3x3] = elided "
       "%y = conv_transpose %x, %w {strides=[2, 2], output_padding=[1, 0]}",
       "f32[1x2x8x7]"},
      {"input %x : f32[1x1x3x3] const %w : f32[1x2x3x3] = elided "
       "%y = conv_transpose %x, %w {strides=[3, 2], output_shape=[10, 8]}",
       "f32[1x2x10x8]"},
      {"input %x : u8[1x1x7x7] input %s : f32[] input %z : u8[] const %w : i8[1x1x1x1] = [0] input "
       "%wz : i8[] "
       "%y = qlinear_conv %x, %s, %z, %w, %s, %wz, %s, %z",
       "u8[1x1x7x7]"},
      {"input %x : u8[1x1x3x3] const %w : u8[1x1x2x2] = [1, 1, 1, 1] input %z : u8[] "
       "%y = conv_integer %x, %w, %z {pads=[1, 1, 1, 1]}",
       "i32[1x1x4x4]"},
      {"input %x : f32[1x1x4x4] %y = max_pool %x {kernel_shape=[3, 3], strides=[2, 2], "
       "ceil_mode=1}",
       "f32[1x1x2x2]"},
      // A last window that would begin in the end padding is dropped.
      {"input %x : f32[1x1x2x2] %y = max_pool %x {kernel_shape=[1, 1], strides=[2, 2], "
       "ceil_mode=1}",
       "f32[1x1x1x1]"},
      {"input %x : f32[1x1x5x5] %y, %i = max_pool %x {kernel_shape=[5, 5], pads=[2, 2, 2, 2]}",
       "f32[1x1x5x5], i64[1x1x5x5]"},
      {"input %x : f32[1x3x32x32] %y = average_pool %x {kernel_shape=[3, 3], "
       "auto_pad=\"SAME_LOWER\"}",
       "f32[1x3x32x32]"},
      {"input %x : f32[1x3x32x32x32] %y = average_pool %x {kernel_shape=[2, 2, 2]}",
       "f32[1x3x31x31x31]"},
      {"input %x : f32[?x3x5x6] %y = global_average_pool %x", "f32[?x3x1x1]"},
      {"input %x : f32[2x5x6x3] %y = global_max_pool %x {layout=\"nhwc\"}", "f32[2x1x1x3]"},
  };
}

TEST(ShapeInference, CountsOfElementsAreChecked) {
  EXPECT_EQ(CheckedNumElements(Shape{}), 1);
  EXPECT_EQ(CheckedNumElements(Shape{2, 3, 4}), 24);
  EXPECT_EQ(CheckedNumElements(Shape{kMaxElements, 1}), kMaxElements);
  EXPECT_EQ(CheckedNumElements(Shape{kMaxElements, 2}), std::nullopt);
  EXPECT_EQ(CheckedNumElements(Shape{0, INT64_MAX, INT64_MAX}), 0);
  EXPECT_EQ(CheckedNumElements(Shape{0, kUnknownDim}), std::nullopt);
  EXPECT_EQ(CheckedNumElements(Shape{kUnknownDim, 0}), std::nullopt);
}

TEST(ShapeInference, ConvolutionsAndPools) {
  ExpectTypes(ConvolutionsAndPoolsCases());
  ExpectErrors({
      {"input %x : f32[1x3x9x8] const %w : f32[16x4x3x5] = elided %y = conv %x, %w",
       "the input has 3 channels"},
      {"input %x : f32[1x3x9x8] const %w : f32[16x3x3x5] = elided input %b : f32[15] %y = conv %x, "
       "%w, %b",
       "the bias has shape 15; 16"},
      {"input %x : i32[1x3x9x8] const %w : i32[16x3x3x5] = elided %y = conv %x, %w",
       "has element type i32"},
      {"input %x : f32[1x3x9x8] const %w : f64[16x3x3x5] = elided %y = conv %x, %w",
       "differ in element type"},
      {"input %x : f32[1x3x9x8] %y = max_pool %x", "lacks the attribute 'kernel_shape'"},
      {"input %x : f32[1x1x1000000x8000] const %w : f32[1x1x1x1] = [1] "
       "%y = conv %x, %w {pads=[1000000000, 0, 1000000000, 0]}",
       "the result would have shape"},
  });
}

std::vector<Case> MatrixProductsCases() {
  return {
      {"input %a : f32[2x3] input %b : f32[3x4] %y = matmul %a, %b", "f32[2x4]"},
      {"input %a : f32[5x1x2x3] input %b : f32[7x3x4] %y = matmul %a, %b", "f32[5x7x2x4]"},
      {"input %a : f32[5x2x3] input %b : f32[5x4x3] %y = matmul %a, %b {transpose_b=1, alpha=0.5}",
       "f32[5x2x4]"},
      {"input %a : f32[3] input %b : f32[3] %y = matmul %a, %b", "f32[]"},
      {"input %a : f32[3] input %b : f32[6x3x4] %y = matmul %a, %b", "f32[6x4]"},
      {"input %a : f32[6x2x3] input %b : f32[3] %y = matmul %a, %b", "f32[6x2]"},
      {"input %a : f32[?x2x?] input %b : f32[3x4] %y = matmul %a, %b", "f32[?x2x4]"},
      {"input %a : f32[*] input %b : f32[3x4] %y = matmul %a, %b", "f32[*]"},
      {"input %a : f32[5x2] input %b : f32[4x5] input %c : f32[4] %y = gemm %a, %b, %c {transA=1, "
       "transB=1}",
       "f32[2x4]"},
      {"input %a : f32[*] input %b : f32[4x5] %y = gemm %a, %b", "f32[?x5]"},
      {"input %a : u8[2x3] input %b : i8[3x4] %y = matmul_integer %a, %b", "i32[2x4]"},
      {"input %a : u8[2x3] input %s : f32[] input %z : u8[] input %b : i8[3x4] input %bz : i8[] "
       "%y = qlinear_matmul %a, %s, %z, %b, %s, %bz, %s, %z",
       "u8[2x4]"},
  };
}

TEST(ShapeInference, MatrixProducts) {
  ExpectTypes(MatrixProductsCases());
  ExpectErrors({
      {"input %a : f32[2x3] input %b : f32[4x4] %y = matmul %a, %b",
       "inner dimensions 3 and 4 differ"},
      {"input %a : f32[2x3] input %b : f32[3x4] %y = matmul %a, %b {transpose_b=1}",
       "3x4 transposed"},
      {"input %a : f32[] input %b : f32[3x4] %y = matmul %a, %b", "multiplies scalar by 3x4"},
      {"input %a : f32[2] input %b : f32[2] %y = matmul %a, %b {transpose_b=1}", "a matrix for b"},
      {"input %a : f32[2x1x3] input %b : f32[3x3x4] %y = matmul %a, %b", "do not broadcast"},
      {"input %a : f32[2x3x4] input %b : f32[4x4] %y = gemm %a, %b", "an operand has shape 2x3x4"},
      {"input %a : f32[2x3] input %b : f32[3x4] input %c : f32[3] %y = gemm %a, %b, %c",
       "c 3 does not broadcast"},
      {"input %a : f32[100000x1] input %b : f32[1x100000] %y = matmul %a, %b",
       "would have shape 100000x100000"},
  });
}

std::vector<Case> NormalisationsCases() {
  return {
      {"input %x : f32[1x?x6] input %c : f32[2] %y = batch_norm %x, %c, %c, %c, %c", "f32[1x2x6]"},
      {"input %x : f32[1x?x6] input %c : f32[?] %y = instance_norm %x, %c, %c", "f32[1x?x6]"},
      {"input %x : f32[1x?x6] input %c : f32[4] %y = instance_norm %x, %c, %c", "f32[1x4x6]"},
      {"input %x : f32[?x3x4x4] input %c : f32[3] %y = batch_norm %x, %c, %c, %c, %c",
       "f32[?x3x4x4]"},
      {"input %x : f32[2x3x4] input %s : f32[3x4] %y, %m, %d = layer_norm %x, %s {axis=1}",
       "f32[2x3x4], f32[2x1x1], f32[2x1x1]"},
      {"input %x : f16[2x3x4] input %s : f16[4] %y, %m = layer_norm %x, %s, %s",
       "f16[2x3x4], f32[2x3x1]"},
      {"input %x : f32[2x3x4] input %c : f32[3] %y = instance_norm %x, %c, %c", "f32[2x3x4]"},
      {"input %x : f32[2x6x4] input %c : f32[6] %y = group_norm %x, %c, %c {num_groups=3}",
       "f32[2x6x4]"},
      {"input %x : f32[2x6x4] %y = softmax %x", "f32[2x6x4]"},
      {"input %x : f32[2x6x4] %y = log_softmax %x {axis=-3}", "f32[2x6x4]"},
  };
}

TEST(ShapeInference, Normalisations) {
  ExpectTypes(NormalisationsCases());
  ExpectErrors({
      {"input %x : f32[2x3x4] input %c : f32[4] %y = batch_norm %x, %c, %c, %c, %c",
       "operand 1 has shape 4"},
      {"input %x : f32[3] input %c : f32[3] %y = batch_norm %x, %c, %c, %c, %c",
       "the input has shape 3"},
      {"input %x : f32[2x3] input %c : f32[3] %y = batch_norm %x, %c, %c, %c, %c {training_mode=1}",
       "training mode"},
      {"input %x : f32[2x3x4] input %s : f32[3] %y = layer_norm %x, %s", "scale 3 does not fit"},
      {"input %x : f32[2x6x4] input %c : f32[6] %y = group_norm %x, %c, %c {num_groups=4}",
       "do not split into 4"},
      {"input %x : f32[2x6x4] input %c : f32[6] %y = group_norm %x, %c, %c {num_groups=0}",
       "num_groups is 0"},
      {"input %x : f32[2x6x4] %y = softmax %x {axis=3}",
       "axis 3 is outside a tensor of 3 axes; -3 to 2"},
      {"input %x : f32[] %y = softmax %x", "a scalar has no axes"},
  });
}

std::vector<Case> ElementWiseCases() {
  std::vector<Case> cases = {
      {"input %a : f32[2x1x4] input %b : f32[3x1] %y = add %a, %b", "f32[2x3x4]"},
      {"input %a : f32[?x1] input %b : f32[3] %y = mul %a, %b", "f32[?x3]"},
      {"input %a : f32[?] input %b : f32[3] %y = sub %a, %b", "f32[3]"},
      {"input %a : f32[*] input %b : f32[3] %y = div %a, %b", "f32[*]"},
      {"input %a : f32[0] input %b : f32[1] %y = div %a, %b", "f32[0]"},
      {"input %a : f32[2] input %b : i64[3x1] %y = pow %a, %b", "f32[3x2]"},
      {"input %a : i32[2] input %b : i32[] %y = mod %a, %b", "i32[2]"},
      {"input %a : f32[2] input %b : f32[] %y = mod %a, %b {fmod=1}", "f32[2]"},
      {"input %a : f32[2x1] input %b : f32[3] input %c : f32[4x1x1] %y = max %a, %b, %c",
       "f32[4x2x3]"},
      {"input %a : f32[2x1] %y = min %a", "f32[2x1]"},
      {"input %a : f32[2] %y = mean %a, %a", "f32[2]"},
      {"input %a : f32[2] %y = sum %a, %a", "f32[2]"},
      {"input %a : string[2] input %b : string[] %y = equal %a, %b", "bool[2]"},
      {"input %c : bool[2x1] input %a : i8[3] input %b : i8[] %y = where %c, %a, %b", "i8[2x3]"},
      {"input %x : f32[2x3x4] input %s : f32[3x1] %y = prelu %x, %s", "f32[2x3x4]"},
      {"input %x : f32[2] input %l : f32[] %y = clip %x, _, %l", "f32[2]"},
      {"input %x : f32[2x?] %y = cast %x {to=6}", "i32[2x?]"},
      {"input %x : f32[2x?] %y = cast %x {to=9}", "bool[2x?]"},
      {"input %x : f32[2] %y, %m = dropout %x", "f32[2], bool[2]"},
      {"input %x : f32[2] %y, _ = dropout %x", "f32[2]"},
  };
  for (std::string_view op :
       {"relu", "leaky_relu", "elu",   "sigmoid",    "hard_sigmoid", "hard_swish", "tanh",    "erf",
        "gelu", "softplus",   "sqrt",  "reciprocal", "neg",          "abs",        "exp",     "log",
        "sin",  "cos",        "floor", "ceil",       "round",        "sign",       "identity"}) {
    cases.push_back({"input %x : f32[2x?] %y = " + std::string(op) + " %x", "f32[2x?]"});
  }
  for (std::string_view op : {"greater", "greater_or_equal", "less", "less_or_equal"}) {
    cases.push_back(
        {"input %a : i8[2x1] input %b : i8[3] %y = " + std::string(op) + " %a, %b", "bool[2x3]"});
  }
  for (std::string_view op : {"and", "or", "xor"}) {
    cases.push_back({"input %a : bool[2x1] input %b : bool[3] %y = " + std::string(op) + " %a, %b",
                     "bool[2x3]"});
  }
  cases.push_back({"input %a : bool[2] %y = not %a", "bool[2]"});
  return cases;
}

TEST(ShapeInference, ElementWise) {
  ExpectTypes(ElementWiseCases());
  ExpectErrors({
      {"input %a : f32[2] input %b : f32[3] %y = add %a, %b",
       "operands of shape 2 and 3 do not broadcast"},
      {"input %a : f32[2] input %b : f32[] %y = mod %a, %b", "integer modulo of floats"},
      {"input %x : f32[3x4] input %s : f32[2x1x1] %y = prelu %x, %s",
       "slope 2x1x1 does not broadcast"},
      {"input %x : f32[3] input %s : f32[3] %y = clip %x, %s", "min has shape 3; a scalar"},
      {"input %x : f32[3] %y = cast %x {to=17}", "casts to ONNX element type 17"},
      {"input %x : f32[3] %y = and %x, %x", "has element type f32; And takes bool there"},
      {"input %a : f32[1x65536x65536] input %b : f32[65536x1x1] %y = add %a, %b",
       "would have shape"},
      {"input %a : f32[2] %y = sum %a, _", "operand 1 is absent"},
  });
}

std::vector<Case> ReductionsCases() {
  std::vector<Case> cases = {
      {"input %x : f32[2x3x4] %y = reduce_mean %x", "f32[1x1x1]"},
      {"input %x : f32[2x3x4] %y = reduce_mean %x {keepdims=0}", "f32[]"},
      {"input %x : f32[2x3x4] const %a : i64[2] = [-1, 0] %y = reduce_sum %x, %a", "f32[1x3x1]"},
      {"input %x : f32[2x?x4] const %a : i64[1] = [2] %y = reduce_max %x, %a {keepdims=0}",
       "f32[2x?]"},
      {"input %x : f32[2x3x4] const %a : i64[0] = [] %y = reduce_min %x, %a "
       "{noop_with_empty_axes=1}",
       "f32[2x3x4]"},
      {"input %x : f32[2x3x4] const %a : i64[0] = [] %y = reduce_prod %x, %a", "f32[1x1x1]"},
      {"input %x : f32[2x3x4] input %a : i64[1] %y = reduce_prod %x, %a", "f32[?x?x?]"},
      {"input %x : f32[2x3x4] input %a : i64[1] %y = reduce_prod %x, %a {keepdims=0}", "f32[*]"},
      {"input %x : f32[] %y = reduce_sum %x", "f32[]"},
      {"input %x : f32[2x3x4] %y = arg_max %x", "i64[1x3x4]"},
      {"input %x : f32[2x3x4] %y = arg_max %x {axis=-1, keepdims=0}", "i64[2x3]"},
  };
  return cases;
}

TEST(ShapeInference, Reductions) {
  ExpectTypes(ReductionsCases());
  ExpectErrors({
      {"input %x : f32[2x3] const %a : i64[1] = [2] %y = reduce_sum %x, %a", "axis 2 is outside"},
      {"input %x : f32[2x3] const %a : i64[2] = [1, -1] %y = reduce_sum %x, %a",
       "name an axis twice"},
      {"input %x : f32[2x3] const %a : i64[1x1] = [1] %y = reduce_sum %x, %a",
       "has shape 1x1; a list"},
      {"input %x : f32[2x0] %y = arg_max %x {axis=1}", "greatest of no elements"},
  });
}

std::vector<Case> CuttingAndJoiningCases() {
  return {
      {"input %a : f32[2x3] input %b : f32[2x4] %y = concat %a, %b {axis=-1}", "f32[2x7]"},
      {"input %a : f32[?x3] input %b : f32[2x?] %y = concat %a, %b {axis=1}", "f32[2x?]"},
      {"input %a : f32[*] input %b : f32[2x3] %y = concat %a, %b {axis=1}", "f32[2x?]"},
      {"input %x : f32[7x2] %a, %b, %c = split %x {num_outputs=3}", "f32[3x2], f32[3x2], f32[1x2]"},
      {"input %x : f32[6x2] %a, %b, %c = split %x", "f32[2x2], f32[2x2], f32[2x2]"},
      {"input %x : f32[6x4] const %s : i64[2] = [1, 3] %a, %b = split %x, %s {axis=1}",
       "f32[6x1], f32[6x3]"},
      {"input %x : f32[6x4] input %s : i64[2] %a, %b = split %x, %s {axis=1}",
       "f32[6x?], f32[6x?]"},
      {"input %x : f32[?] %a, %b = split %x {num_outputs=2}", "f32[?], f32[?]"},
      // Elements 1, 2 of 10; then 9, 7, 5, 3, 1 of 10.
      {"input %x : f32[10] const %s : i64[1] = [1] const %e : i64[1] = [3] %y = slice %x, %s, %e",
       "f32[2]"},
      {"input %x : f32[10] const %s : i64[1] = [-1] const %e : i64[1] = [-9223372036854775808] "
       "const %a : i64[1] = [0] const %d : i64[1] = [-2] %y = slice %x, %s, %e, %a, %d",
       "f32[5]"},
      {"input %x : f32[10x5] const %s : i64[2] = [0, -3] const %e : i64[2] = [9223372036854775807, "
       "-1] "
       "const %a : i64[2] = [0, -1] const %d : i64[2] = [3, 1] %y = slice %x, %s, %e, %a, %d",
       "f32[4x2]"},
      {"input %x : f32[10x?] const %s : i64[1] = [2] const %e : i64[1] = [1] %y = slice %x, %s, %e",
       "f32[0x?]"},
      {"input %x : f32[10x5] input %s : i64[1] const %e : i64[1] = [1] const %a : i32[1] = [1] %y "
       "= slice %x, %s, %e",
       "f32[?x5]"},
      {"input %x : f32[10x5] input %s : i64[1] input %a : i64[1] %y = slice %x, %s, %s, %a",
       "f32[?x?]"},
      {"input %x : f32[2x3x4] const %i : i64[2x2] = [0, -3, 2, 1] %y = gather %x, %i {axis=1}",
       "f32[2x2x2x4]"},
      {"input %x : f32[2x3x4] const %i : i64[] = [0] %y = gather %x, %i", "f32[3x4]"},
      {"input %x : f32[3x1] const %s : i64[3] = [2, 1, 6] %y = expand %x, %s", "f32[2x3x6]"},
      {"input %x : f32[3x1] const %s : i64[2] = [1, 1] %y = expand %x, %s", "f32[3x1]"},
      {"input %x : f32[3x1] input %s : i64[4] %y = expand %x, %s", "f32[?x?x?x?]"},
      {"input %x : f32[2x?] const %r : i64[2] = [3, 2] %y = tile %x, %r", "f32[6x?]"},
      {"input %x : f32[2x3] const %r : i64[2] = [0, 2] %y = tile %x, %r", "f32[0x6]"},
      {"input %x : f32[2x3] const %p : i64[4] = [1, 0, 2, -1] %y = pad %x, %p", "f32[5x2]"},
      {"input %x : f32[2x3] const %p : i64[2] = [1, 2] const %a : i64[1] = [-1] %y = pad %x, %p, "
       "_, %a",
       "f32[2x6]"},
      {"input %x : f32[2x3] input %p : i64[4] %y = pad %x, %p", "f32[?x?]"},
  };
}

TEST(ShapeInference, CuttingAndJoining) {
  ExpectTypes(CuttingAndJoiningCases());
  ExpectErrors({
      {"input %a : f32[2x3] input %b : f32[3x4] %y = concat %a, %b {axis=1}",
       "which differ on axis 0"},
      {"input %a : f32[2x3] input %b : f32[3] %y = concat %a, %b {axis=0}", "joins 2x3 and 3"},
      {"input %a : f32[2x3] %y = concat %a {axis=2}", "axis 2 is outside"},
      {"input %x : f32[7] %a, %b = split %x", "cannot cut 7 elements into 2 pieces; num_outputs"},
      {"input %x : f32[5] %a, %b, %c, %d = split %x {num_outputs=4}",
       "cannot cut 5 elements into 4 pieces"},
      {"input %x : f32[4] %a, %b = split %x {num_outputs=3}",
       "num_outputs is 3, but it has 2 results"},
      {"input %x : f32[4] const %s : i64[2] = [1, 2] %a, %b = split %x, %s",
       "add up to 3, axis 0 has 4"},
      {"input %x : f32[4] const %s : i64[2] = [9223372036854775807, 9223372036854775807] %a, %b = "
       "split %x, %s",
       "add up"},
      {"input %x : f32[4] const %s : i64[2] = [-1, 5] %a, %b = split %x, %s",
       "a piece of length -1"},
      {"input %x : f32[4] const %s : i64[1] = [4] %a, %b = split %x, %s",
       "1 lengths for 2 results"},
      {"input %x : f32[4] const %s : i64[1] = [0] const %d : i64[1] = [0] %y = slice %x, %s, %s, "
       "_, %d",
       "is 0"},
      {"input %x : f32[4] const %s : i64[2] = [0, 0] %y = slice %x, %s, %s",
       "cuts 2 axes of a tensor 4"},
      {"input %x : f32[4] const %s : i64[1] = [0] const %e : i64[2] = [1, 1] %y = slice %x, %s, %e",
       "1 and 2 numbers"},
      {"input %x : f32[4x4] const %s : i64[2] = [0, 0] const %a : i64[2] = [0, 0] %y = slice %x, "
       "%s, %s, %a",
       "twice"},
      {"input %x : f32[3] const %i : i64[1] = [3] %y = gather %x, %i",
       "index 3 is outside axis 0 of length 3"},
      {"input %x : f32[3] input %i : f32[1] %y = gather %x, %i", "Gather takes index there"},
      {"input %x : f32[3] const %s : i64[1] = [2] %y = expand %x, %s", "3 does not expand to [2]"},
      {"input %x : f32[3] const %s : i64[1] = [-1] %y = expand %x, %s", "expands to [-1]"},
      {"input %x : f32[3] const %s : i64[1] = [-1] %y = tile %x, %s", "repeats axis 0 -1 times"},
      {"input %x : f32[3] const %s : i64[2] = [1, 1] %y = tile %x, %s",
       "has 2 repeats for a tensor 3"},
      {"input %x : f32[3] const %s : i64[1] = [9223372036854775807] %y = tile %x, %s",
       "would have shape"},
      {"input %x : f32[3] const %p : i64[2] = [-2, -2] %y = pad %x, %p", "crops 2 and 2 elements"},
      {"input %x : f32[3] const %p : i64[3] = [1, 1, 1] %y = pad %x, %p", "has 3 pads for 1 axes"},
      {"input %x : f32[3] const %p : i64[2] = [9223372036854775807, 9223372036854775807] %y = pad "
       "%x, %p",
       "would have"},
      {"input %x : f32[0] const %p : i64[2] = [1, 1] %y = pad %x, %p {mode=\"edge\"}",
       "pads the empty axis 0"},
  });
}

std::vector<Case> NewAxesCases() {
  return {
      {"input %x : f32[2x3x4] const %s : i64[2] = [0, -1] %y = reshape %x, %s", "f32[2x12]"},
      {"input %x : f32[2x3x4] const %s : i64[3] = [4, 0, 2] %y = reshape %x, %s", "f32[4x3x2]"},
      {"input %x : f32[?x64x1x1] const %s : i64[2] = [0, -1] %y = reshape %x, %s", "f32[?x64]"},
      {"input %x : f32[?x64x1x1] const %s : i64[2] = [-1, 64] %y = reshape %x, %s", "f32[?x64]"},
      {"input %x : f32[?x64x?] const %s : i64[3] = [0, -1, 0] %y = reshape %x, %s", "f32[?x64x?]"},
      {"input %x : f32[0x3] const %s : i64[2] = [3, 0] %y = reshape %x, %s {allowzero=1}",
       "f32[3x0]"},
      {"input %x : f32[1] const %s : i64[0] = [] %y = reshape %x, %s", "f32[]"},
      {"input %x : f32[2x3] input %s : i64[3] %y = reshape %x, %s", "f32[?x?x?]"},
      {"input %x : f32[2x3] input %s : i64[?] %y = reshape %x, %s", "f32[*]"},
      {"input %x : f32[*] const %s : i64[3] = [0, -1, 5] %y = reshape %x, %s", "f32[?x?x5]"},
      {"input %x : f32[2x3x4] %y = flatten %x", "f32[2x12]"},
      {"input %x : f32[2x3x4] %y = flatten %x {axis=0}", "f32[1x24]"},
      {"input %x : f32[2x3x4] %y = flatten %x {axis=3}", "f32[24x1]"},
      {"input %x : f32[2x3x4] %y = flatten %x {axis=-1}", "f32[6x4]"},
      {"input %x : f32[?x3x4] %y = flatten %x", "f32[?x12]"},
      {"input %x : f32[2x3x4] %y = transpose %x", "f32[4x3x2]"},
      {"input %x : f32[2x3x?] %y = transpose %x {perm=[1, 2, 0]}", "f32[3x?x2]"},
      {"input %x : f32[*] %y = transpose %x {perm=[1, 0]}", "f32[?x?]"},
      {"input %x : f32[1x3x1] %y = squeeze %x", "f32[3]"},
      {"input %x : f32[1x3x1] const %a : i64[1] = [-1] %y = squeeze %x, %a", "f32[1x3]"},
      {"input %x : f32[1x?] %y = squeeze %x", "f32[*]"},
      {"input %x : f32[1x3x1] input %a : i64[2] %y = squeeze %x, %a", "f32[?]"},
      {"input %x : f32[3x4] const %a : i64[2] = [0, -1] %y = unsqueeze %x, %a", "f32[1x3x4x1]"},
      {"input %x : f32[] const %a : i64[] = [0] %y = unsqueeze %x, %a", "f32[1]"},
      {"input %x : f32[1x8x2x3] %y = depth_to_space %x {blocksize=2}", "f32[1x2x4x6]"},
      {"input %x : f32[1x9x2x3] %y = depth_to_space %x {blocksize=3, mode=\"CRD\"}",
       "f32[1x1x6x9]"},
      {"input %x : f32[1x2x4x6] %y = space_to_depth %x {blocksize=2}", "f32[1x8x2x3]"},
  };
}

TEST(ShapeInference, NewAxes) {
  ExpectTypes(NewAxesCases());
  ExpectErrors({
      {"input %x : f32[2x3] const %s : i64[1] = [5] %y = reshape %x, %s",
       "reshapes 2x3 to 5; as many elements"},
      {"input %x : f32[0x3] const %s : i64[2] = [0, -1] %y = reshape %x, %s",
       "where no dimension in place of ? fits"},
      {"input %x : f32[2x3] const %s : i64[2] = [4, -1] %y = reshape %x, %s",
       "reshapes 2x3 to 4x?"},
      {"input %x : f32[2x3] const %s : i64[2] = [-1, -1] %y = reshape %x, %s", "-1 at most once"},
      {"input %x : f32[2x3] const %s : i64[2] = [-2, 3] %y = reshape %x, %s", "reshapes to [-2,3]"},
      {"input %x : f32[6] const %s : i64[2] = [6, 0] %y = reshape %x, %s",
       "copies dimension 1 of a tensor 6"},
      {"input %x : f32[6] const %s : i64[2] = [0, -1] %y = reshape %x, %s {allowzero=1}",
       "with allowzero"},
      {"input %x : f32[6] const %s : i64[2] = [4294967296, 4294967296] %y = reshape %x, %s",
       "reshapes 6 to"},
      {"input %x : f32[2x3] %y = flatten %x {axis=3}", "axis 3 is outside"},
      {"input %x : f32[2x3] %y = transpose %x {perm=[0, 0]}", "does not permute"},
      {"input %x : f32[2x3] %y = transpose %x {perm=[0]}", "does not permute"},
      {"input %x : f32[2x3] const %a : i64[1] = [0] %y = squeeze %x, %a",
       "drops axis 0 of 2x3, which is 2 long"},
      {"input %x : f32[3] const %a : i64[1] = [2] %y = unsqueeze %x, %a",
       "axis 2 is outside a tensor of 2 axes"},
      {"input %x : f32[3] const %a : i64[2] = [0, 0] %y = unsqueeze %x, %a", "name an axis twice"},
      {"input %x : f32[1x6x2x3] %y = depth_to_space %x {blocksize=2}", "6 channels do not split"},
      {"input %x : f32[6x2x3] %y = depth_to_space %x {blocksize=2}", "the input has shape 6x2x3"},
      {"input %x : f32[1x6x2x3] %y = space_to_depth %x {blocksize=2}",
       "axis 3 of 1x6x2x3 does not split"},
      {"input %x : f32[1x6x2x3] %y = space_to_depth %x {blocksize=0}", "blocksize is 0"},
  });
}

std::vector<Case> MadeFromNumbersCases() {
  return {
      {"const %s : i64[2] = [3, 0] %y = constant_of_shape %s", "f32[3x0]"},
      {"const %s : i64[0] = [] %y = constant_of_shape %s {value=tensor i8[1] = [7]}", "i8[]"},
      {"input %s : i64[3] %y = constant_of_shape %s", "f32[?x?x?]"},
      {"input %x : f32[2x3x4] %y = shape %x", "i64[3]"},
      {"input %x : f32[2x3x4] %y = shape %x {start=1, end=-1}", "i64[1]"},
      {"input %x : f32[2x3x4] %y = shape %x {start=-1}", "i64[1]"},
      {"input %x : f32[2x3x4] %y = shape %x {start=2, end=1}", "i64[0]"},
      {"input %x : f32[*] %y = shape %x", "i64[?]"},
      {"input %x : f32[*] %y = size %x", "i64[]"},
      {"const %a : i64[] = [1] const %b : i64[] = [10] const %d : i64[] = [3] %y = range %a, %b, "
       "%d",
       "i64[3]"},
      {"const %a : i64[] = [10] const %b : i64[] = [4] const %d : i64[] = [-4] %y = range %a, %b, "
       "%d",
       "i64[2]"},
      {"const %a : i64[] = [10] const %b : i64[] = [4] const %d : i64[] = [4] %y = range %a, %b, "
       "%d",
       "i64[0]"},
      {"const %a : f32[] = [0] const %b : f32[] = [1] const %d : f32[] = [0.4] %y = range %a, %b, "
       "%d",
       "f32[3]"},
      {"input %a : i32[] %y = range %a, %a, %a", "i32[?]"},
      {"input %x : f32[1x1x2x4] const %s : f32[4] = [1, 1, 0.6, 0.6] %y = resize %x, _, %s",
       "f32[1x1x1x2]"},
      {"input %x : f32[1x1x5x5] const %s : f32[4] = [1, 1, 0.6, 0.6] %y = resize %x, _, %s",
       "f32[1x1x3x3]"},
      {"input %x : f32[1x1x2x2] const %s : i64[4] = [1, 1, 7, 8] %y = resize %x, _, _, %s",
       "f32[1x1x7x8]"},
      {"input %x : f32[1x1x2x4] const %s : i64[2] = [7, 8] "
       "%y = resize %x, _, _, %s {axes=[2, 3], keep_aspect_ratio_policy=\"not_larger\"}",
       "f32[1x1x4x8]"},
      // The width doubles for 8, the height needs 3.5: both grow 3.5 times.
      {"input %x : f32[1x1x2x4] const %s : i64[2] = [7, 8] "
       "%y = resize %x, _, _, %s {axes=[2, 3], keep_aspect_ratio_policy=\"not_smaller\"}",
       "f32[1x1x7x14]"},
      {"input %x : f32[1x1x4x4] const %none : f32[0] = [] const %s : i64[4] = [1, 1, 2, 2] "
       "%y = resize %x, %none, %none, %s",
       "f32[1x1x2x2]"},
      {"input %x : f32[1x1x4x4] const %r : f32[8] = [0, 0, 0, 0.25, 1, 1, 1, 0.75] const %s : "
       "f32[4] = [1, 1, 2, 2] "
       "%y = resize %x, %r, %s {coordinate_transformation_mode=\"tf_crop_and_resize\"}",
       "f32[1x1x8x4]"},
      {"input %x : f32[1x1x?x4] const %s : f32[4] = [1, 1, 2, 2] %y = resize %x, _, %s",
       "f32[1x1x?x8]"},
      {"input %x : f32[1x1x4x4] input %s : f32[4] %y = resize %x, _, %s", "f32[?x?x?x?]"},
  };
}

TEST(ShapeInference, MadeFromNumbers) {
  ExpectTypes(MadeFromNumbersCases());
  ExpectErrors({
      {"const %s : i64[1] = [-1] %y = constant_of_shape %s", "makes a tensor of shape [-1]"},
      {"const %s : i64[2] = [1048576, 1048576] %y = constant_of_shape %s", "would have shape"},
      {"const %s : i64[1] = [1] %y = constant_of_shape %s {value=tensor i8[2] = [7, 7]}",
       "the value has shape 2"},
      {"const %a : i64[] = [0] %y = range %a, %a, %a", "the step is 0"},
      {"const %a : f32[] = [0] %y = range %a, %a, %a", "no finite number"},
      {"const %a : i64[] = [-9223372036854775808] const %b : i64[] = [9223372036854775807] const "
       "%d : i64[] = [1] "
       "%y = range %a, %b, %d",
       "would make"},
      {"input %x : f32[4] %y = resize %x", "has neither scales nor sizes"},
      {"input %x : f32[4] const %s : f32[1] = [2] const %t : i64[1] = [2] %y = resize %x, _, %s, "
       "%t",
       "has both"},
      {"input %x : f32[4] const %s : f32[1] = [0] %y = resize %x, _, %s",
       "the scale of axis 0 is 0"},
      {"input %x : f32[4] const %s : f32[1] = [nan] %y = resize %x, _, %s",
       "the scale of axis 0 is nan"},
      {"input %x : f32[4] const %s : f32[1] = [1e38] %y = resize %x, _, %s", "resizes an axis to"},
      {"input %x : f32[4] const %s : f32[2] = [1, 1] %y = resize %x, _, %s",
       "has 2 scales for 1 axes"},
      {"input %x : f32[4] const %s : i64[1] = [-4] %y = resize %x, _, _, %s",
       "resizes to sizes [-4]"},
  });
}

std::vector<Case> QuantisedOperatorsCases() {
  return {
      {"input %x : f32[2x3] input %s : f32[] %y = quantize_linear %x, %s", "u8[2x3]"},
      {"input %x : f32[2x3] input %s : f32[] input %z : i16[] %y = quantize_linear %x, %s, %z",
       "i16[2x3]"},
      {"input %x : f32[2x3] input %s : f32[3] %y = quantize_linear %x, %s {output_dtype=3}",
       "i8[2x3]"},
      {"input %x : f32[2x70] input %s : f32[2x3] %y = quantize_linear %x, %s {block_size=32}",
       "u8[2x70]"},
      {"input %x : i32[2x3] input %s : f32[2] %y = dequantize_linear %x, %s {axis=0}", "f32[2x3]"},
      {"input %x : f32[2x3] %y, %s, %z = dynamic_quantize_linear %x", "u8[2x3], f32[], u8[]"},
      {"input %x : f32[2x3] input %s : f32[] %y = quant %x, %s, %s, %s {signed=1, narrow=1}",
       "f32[2x3]"},
      {"input %x : f32[2x3] input %s : f32[2x1] %y = bipolar_quant %x, %s", "f32[2x3]"},
      {"input %x : f32[2x3] input %s : f32[1] %y = trunc %x, %s, %s, %s, %s", "f32[2x3]"},
      {"input %x : f32[2x3] %y = quantise %x {type=\"int4 per_channel symmetric axis=0 scale=[1, "
       "2]\"}",
       "f32[2x3]"},
  };
}

TEST(ShapeInference, QuantisedOperators) {
  ExpectTypes(QuantisedOperatorsCases());
  ExpectErrors({
      {"input %x : f32[2x3] input %s : f32[2] %y = quantize_linear %x, %s",
       "the scale has shape 2"},
      {"input %x : f32[2x3] input %s : f32[3] input %z : u8[] %y = quantize_linear %x, %s, %z",
       "differ in shape"},
      {"input %x : f32[2x3] input %s : f32[] %y = quantize_linear %x, %s {output_dtype=1}",
       "output_dtype is 1"},
      {"input %x : f32[2x3] input %s : f32[] input %z : u8[] %y = quantize_linear %x, %s, %z "
       "{output_dtype=3}",
       "differs from the zero point's u8"},
      {"input %x : f32[2x70] input %s : f32[2x2] %y = quantize_linear %x, %s {block_size=32}",
       "a block of 32"},
      {"input %x : f32[2x3] input %s : f32[4] %y = quant %x, %s, %s, %s",
       "operand 1 of shape 4 does not broadcast"},
      {"input %x : f32[2x3] %y = quantise %x {type=\"int4 per_channel symmetric axis=0 "
       "scale=[1]\"}",
       "has 1 scales under per_channel; 2"},
      {"input %x : f32[2x3] %y = quantise %x {type=\"int4\"}", "type is 'int4'"},
  });
}

std::vector<Case> IndexCases() {
  return {
      {"input %x : f32[3x4] input %i : i64[2x4] %y = gather_elements %x, %i {axis=0}", "f32[2x4]"},
      {"input %x : f32[3x4] input %i : i32[3x1] input %u : f32[3x1] %y = scatter_elements %x, %i, "
       "%u {axis=1}",
       "f32[3x4]"},
      {"input %x : f32[2x3x4] input %i : i64[5x2] %y = gather_nd %x, %i", "f32[5x4]"},
      {"input %x : f32[2x3x4] input %i : i64[2x7x1] %y = gather_nd %x, %i {batch_dims=1}",
       "f32[2x7x4]"},
      {"input %x : f32[2x3x4] input %i : i64[?x2] %y = gather_nd %x, %i", "f32[?x4]"},
      {"input %x : f32[2x3x4] input %i : i64[5x1] input %u : f32[5x3x4] %y = scatter_nd %x, %i, %u",
       "f32[2x3x4]"},
      {"input %x : f32[2x7] const %k : i64[1] = [3] %y, %i = top_k %x, %k", "f32[2x3], i64[2x3]"},
      {"input %x : f32[2x7] input %k : i64[1] %y, %i = top_k %x, %k {axis=0}",
       "f32[?x7], i64[?x7]"},
      {"input %x : i32[2x7] const %a : i64[] = [-1] %y = cum_sum %x, %a", "i32[2x7]"},
      {"input %b : f32[1x6x4] input %s : f32[1x2x6] %y = non_max_suppression %b, %s", "i64[?x3]"},
      {"input %x : bool[4x5x6] %y = non_zero %x", "i64[3x?]"},
  };
}

TEST(ShapeInference, Indexing) {
  ExpectTypes(IndexCases());
  ExpectErrors({
      {"input %x : f32[3x4] input %i : i64[2] %y = gather_elements %x, %i", "as many axes in both"},
      {"input %x : f32[3x4] input %i : i64[2x5] %y = gather_elements %x, %i",
       "at most 4 along axis 1"},
      {"input %x : f32[3x4] input %i : i64[1x4] input %u : f32[2x4] %y = scatter_elements %x, %i, "
       "%u",
       "the same shape"},
      {"input %x : f32[2x3] input %i : i64[5x3] %y = gather_nd %x, %i", "indices of 3 numbers"},
      {"input %x : f32[2x3] input %i : i64[5x2] %y = gather_nd %x, %i {batch_dims=2}",
       "batch_dims is 2"},
      {"input %x : f32[2x3] input %i : i64[5x1] input %u : f32[5x4] %y = scatter_nd %x, %i, %u",
       "updates are 5x4; 5x3"},
      {"input %x : f32[2x3] const %k : i64[1] = [4] %y, %i = top_k %x, %k",
       "k is [4] along axis 1"},
      {"input %b : f32[1x6x4] input %s : f32[1x2x5] %y = non_max_suppression %b, %s",
       "as many batches and boxes"},
  });
}

std::vector<Case> RecurrentCases() {
  return {
      {"input %a : f32[2x3x4] input %b : f32[2x4x5] %y = einsum %a, %b {equation=\"bij,bjk->bik\"}",
       "f32[2x3x5]"},
      {"input %a : f32[2x3] %y = einsum %a {equation=\"ji\"}", "f32[3x2]"},
      {"input %a : f32[3x3] %y = einsum %a {equation=\"ii->\"}", "f32[]"},
      {"input %a : f32[7x1x3] input %b : f32[6x3] %y = einsum %a, %b {equation=\"...i,...i\"}",
       "f32[7x6]"},
      {"input %x : f32[5x2x3] input %w : f32[1x4x3] input %r : f32[1x4x4] %y, %h = rnn %x, %w, %r",
       "f32[5x1x2x4], f32[1x2x4]"},
      {"input %x : f32[2x5x3] input %w : f32[2x12x3] input %r : f32[2x12x4] %y, %h = gru %x, %w, "
       "%r "
       "{direction=\"bidirectional\", layout=1}",
       "f32[2x5x2x4], f32[2x2x4]"},
      {"input %x : f32[?x2x3] input %w : f32[1x16x3] input %r : f32[1x16x4] %y, %h, %c = lstm %x, "
       "%w, %r",
       "f32[?x1x2x4], f32[1x2x4], f32[1x2x4]"},
      {"input %x : f32[2x5x3] const %s : f32[3] = [1, 1, 1] %y = rms_norm %x, %s", "f32[2x5x3]"},
  };
}

TEST(ShapeInference, RecurrencesAndSumsOverLabels) {
  ExpectTypes(RecurrentCases());
  ExpectErrors({
      {"input %a : f32[2x3] %y = einsum %a {equation=\"ijk->i\"}", "names 3 axes of operand 0"},
      {"input %a : f32[2x3] input %b : f32[4x3] %y = einsum %a, %b {equation=\"ij,ik->jk\"}",
       "axes of 2 and 4"},
      {"input %a : f32[2x3] %y = einsum %a {equation=\"ij->k\"}", "'k', which no operand has"},
      {"input %a : f32[2x3] %y = einsum %a {equation=\"ij->ii\"}", "'i' twice"},
      {"input %a : f32[2x3] %y = einsum %a {equation=\"i1->i\"}", "other than letters"},
      {"input %a : f32[2x3] %y = einsum %a {equation=\"ij,ij->ij\"}", "2 terms for 1 operands"},
      {"input %x : f32[5x2x3] input %w : f32[1x4x3] input %r : f32[1x4x5] %y, %h = rnn %x, %w, %r",
       "a hidden size"},
      {"input %x : f32[5x2x3] input %w : f32[2x4x3] input %r : f32[1x4x4] %y, %h = rnn %x, %w, %r",
       "1 along axis 0, for the direction is forward"},
      {"input %x : f32[5x2x3] input %w : f32[1x8x3] input %r : f32[1x8x4] %y, %h = gru %x, %w, %r",
       "a multiple of 3"},
      {"input %x : f32[2x5x3] const %s : f32[4] = [1, 1, 1, 1] %y = rms_norm %x, %s",
       "scale 4 does not fit"},
  });
}

TEST(ShapeInference, EveryOperatorHasACase) {
  std::set<Op> seen;
  for (const std::vector<Case>& cases :
       {ConvolutionsAndPoolsCases(), MatrixProductsCases(), NormalisationsCases(),
        CuttingAndJoiningCases(), NewAxesCases(), MadeFromNumbersCases(), QuantisedOperatorsCases(),
        ElementWiseCases(), ReductionsCases(), IndexCases(), RecurrentCases()}) {
    for (const Case& c : cases) {
      const auto graph = ParseGraph(InGraph(c.body), "", {.elided_as_inputs = true});
      ASSERT_TRUE(graph.ok());
      for (const auto& node : graph->nodes()) seen.insert(node->op());
    }
  }
  for (const OpInfo& info : AllOps()) EXPECT_TRUE(seen.count(info.op) != 0) << info.id;
}

TEST(ShapeInference, DeclaredDimensionsFillWhatInferenceCannotTell) {
  Graph graph;
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{2, 3}});
  Value* s = graph.AddInput("s", {ElementType::kInt64, Shape{2}});
  Node* node = graph.AddNode(Op::kReshape, "r", {x, s}, {"y"});
  graph.SetType(node->result(), {ElementType::kFloat64, Shape{6, kUnknownDim}});
  ASSERT_TRUE(InferNode(graph, *node).ok());
  EXPECT_EQ(node->result()->type(), (TensorType{ElementType::kFloat32, Shape{6, kUnknownDim}}));
  graph.SetType(node->result(), {ElementType::kFloat32, Shape{1, 2, 3}});
  ASSERT_TRUE(InferNode(graph, *node).ok());
  EXPECT_EQ(node->result()->shape(), Shape({kUnknownDim, kUnknownDim}));
}

TEST(ShapeInference, ForgottenTypesOfRandomGraphsComeBack) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Graph graph = RandomGraph(seed);
    const std::string before = PrintGraph(graph);
    for (const auto& node : graph.nodes()) {
      for (Value* result : node->results()) graph.SetType(result, {});
    }
    ASSERT_TRUE(InferShapes(graph).ok());
    ASSERT_EQ(PrintGraph(graph), before) << "seed " << seed;
  }
}

// Operands of random types and shapes, attributes of random numbers: whatever an operator is given,
// it says yes or no.
TEST(ShapeInference, NonsenseNeverCrashes) {
  int accepted = 0;
  for (uint64_t seed = 0; seed < 60000; ++seed) {
    Random random(seed);
    const OpInfo& info = AllOps()[random.Below(AllOps().size())];
    Graph graph;
    std::vector<Value*> operands;
    const auto odd_number = [&]() -> int64_t {
      static constexpr int64_t kOdd[] = {
          -1, 0, 1, 2, 3, 4, 7, INT64_MIN, INT64_MAX, int64_t{1} << 33, -2, 1 << 20};
      return kOdd[random.Below(std::size(kOdd))];
    };
    const int64_t most = info.max_operands < 0 ? 4 : info.max_operands;
    for (int64_t i = random.Between(info.min_operands, most); i > 0; --i) {
      if (random.Below(8) == 0) {
        operands.push_back(nullptr);
        continue;
      }
      const bool ints = random.Below(3) == 0;
      const ElementType type = ints ? ElementType::kInt64 : ElementType::kFloat32;
      if (random.Below(2) == 0) {
        std::vector<int64_t> values(random.Below(5));
        for (int64_t& value : values) value = odd_number();
        const Shape shape{static_cast<int64_t>(values.size())};
        Tensor list = Tensor::Of<int64_t>(shape, values);
        if (!ints) {
          list = Tensor(ElementType::kFloat32, shape);
          for (size_t j = 0; j < values.size(); ++j)
            list.data<float>()[j] = static_cast<float>(values[j]);
        }
        operands.push_back(graph.AddConstant("", list));
        continue;
      }
      std::optional<Shape> shape;
      if (random.Below(6) != 0) {
        std::vector<int64_t> dims(random.Below(6));
        for (int64_t& d : dims) d = random.Below(5) == 0 ? odd_number() : random.Between(1, 4);
        shape = Shape(dims);
      }
      operands.push_back(graph.AddInput("", {type, shape}));
    }
    Node* node =
        graph.AddNode(info.op, "n", operands, std::vector<std::string>(1 + random.Below(3)));
    for (std::string_view name :
         {"axis", "group", "blocksize", "num_groups", "to", "block_size", "start", "end",
          "num_outputs", "keepdims", "output_dtype", "ceil_mode"}) {
      if (random.Below(2) == 0) node->attributes().Set(name, odd_number());
    }
    for (std::string_view name :
         {"kernel_shape", "strides", "pads", "dilations", "perm", "axes", "output_shape"}) {
      std::vector<int64_t> list(random.Below(5));
      for (int64_t& value : list)
        value = random.Below(3) == 0 ? odd_number() : random.Between(1, 3);
      if (random.Below(2) == 0) node->attributes().Set(name, list);
    }
    // Attributes that the operator does not know would end it early: keep those that it does.
    Attributes known;
    for (const auto& [name, value] : node->attributes()) {
      if (SignatureOf(info.op).FindAttribute(name) != nullptr) known.Set(name, value);
    }
    node->attributes() = known;
    const auto types = InferResultTypes(*node);
    accepted += types.ok() ? 1 : 0;
    if (!types.ok()) continue;
    for (const TensorType& type : *types)
      ASSERT_TRUE(!type.shape.has_value() || IsAcceptable(*type.shape));
  }
  EXPECT_GT(accepted, 2000);
}

TEST(Indexing, SlicesAgreeWithSteppingThrough) {
  const int64_t numbers[] = {INT64_MIN, -6, -5, -4, -3, -1, 0, 1, 2, 4, 5, 6, INT64_MAX};
  for (int64_t size = 0; size <= 5; ++size) {
    for (int64_t start : numbers) {
      for (int64_t end : numbers) {
        for (int64_t step : {INT64_MIN, int64_t{-7}, int64_t{-2}, int64_t{-1}, int64_t{1},
                             int64_t{2}, int64_t{3}, INT64_MAX}) {
          // ONNX's words: add the size to negative numbers, clamp, step until past the end.
          const __int128 from = start < 0 ? static_cast<__int128>(start) + size : start;
          const __int128 to = end < 0 ? static_cast<__int128>(end) + size : end;
          const auto clamp = [](__int128 v, int64_t low, int64_t high) {
            return v < low ? low : v > high ? high : v;
          };
          std::vector<int64_t> expected;
          if (step > 0) {
            for (__int128 i = clamp(from, 0, size); i < clamp(to, 0, size); i += step)
              expected.push_back(static_cast<int64_t>(i));
          } else if (size > 0) {
            for (__int128 i = clamp(from, 0, size - 1); i > clamp(to, -1, size - 1); i += step) {
              expected.push_back(static_cast<int64_t>(i));
            }
          }
          const SliceRange range = ResolveSlice(size, start, end, step);
          std::vector<int64_t> got;
          for (int64_t i = 0; i < range.count; ++i) got.push_back(range.start + i * range.step);
          ASSERT_EQ(got, expected) << size << ": " << start << " " << end << " " << step;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln
