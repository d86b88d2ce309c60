// Runs every operator on meaningless operands: the result must be an answer or an error, never a
// crash. The sanitiser builds run this test too.
#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

ElementType RandomType(Random& random) {
  // Mostly what operators accept, so that calls get past the type check.
  switch (random.Below(8)) {
    case 0:
    case 1:
      return ElementType::kInt64;
    case 2:
      return static_cast<ElementType>(random.Below(14));
    case 3:
      return random.Below(2) == 0 ? ElementType::kUint8 : ElementType::kInt8;
    default:
      return ElementType::kFloat32;
  }
}

Tensor RandomOperand(Random& random) {
  std::vector<int64_t> dims(random.Below(6));
  for (int64_t& d : dims) d = random.Below(12) == 0 ? 0 : random.Between(1, 4);
  const ElementType type = RandomType(random);
  Tensor t(type, Shape(dims));
  if (type == ElementType::kString) return t;
  for (int64_t i = 0; i < t.num_bytes(); ++i)
    t.mutable_bytes()[i] = static_cast<std::byte>(random());
  if (type == ElementType::kInt64) {
    for (int64_t& v : t.data<int64_t>()) {
      const uint64_t kind = random.Below(20);
      v = kind == 0 ? INT64_MIN : kind == 1 ? INT64_MAX : random.Between(-4, 5);
    }
  }
  if (type == ElementType::kFloat32 && random.Below(2) == 0) {
    for (float& v : t.data<float>()) v = static_cast<float>(random.Between(-2, 3));
  }
  return t;
}

Attribute RandomAttribute(Random& random) {
  const auto number = [&] {
    return random.Below(15) == 0 ? INT64_MAX - random.Between(0, 1) : random.Between(-3, 4);
  };
  switch (random.Below(6)) {
    case 0:
      return static_cast<float>(random.Uniform(-2, 2));
    case 1:
    case 2: {
      Ints list(random.Below(7));
      for (int64_t& v : list) v = number();
      return list;
    }
    case 3: {
      const char* names[] = {"linear", "cubic", "edge",       "reflect",
                             "CRD",    "nhwc",  "SAME_UPPER", "tf_crop_and_resize",
                             "?"};
      return std::string(names[random.Below(9)]);
    }
    default:
      return number();
  }
}

TEST(ReferenceRobustness, EveryOperatorAnswersWhateverItsOperands) {
  const char* names[] = {"axis",         "axes",
                         "keepdims",     "group",
                         "strides",      "pads",
                         "dilations",    "kernel_shape",
                         "auto_pad",     "layout",
                         "mode",         "perm",
                         "blocksize",    "to",
                         "num_outputs",  "transA",
                         "transB",       "transpose_b",
                         "output_shape", "output_padding",
                         "ceil_mode",    "storage_order",
                         "num_groups",   "block_size",
                         "start",        "end",
                         "fmod",         "coordinate_transformation_mode",
                         "alpha",        "epsilon",
                         "allowzero"};
  Random random(99);
  int answered = 0, calls = 0;
  for (const OpInfo& info : AllOps()) {
    for (int round = 0; round < 400; ++round) {
      std::vector<std::optional<Tensor>> operands;
      const int most = info.max_operands < 0 ? 4 : info.max_operands;
      const int64_t count = random.Between(std::max(0, info.min_operands - 1),
                                           most + (random.Below(10) == 0 ? 1 : 0));
      for (int64_t i = 0; i < count; ++i) {
        operands.emplace_back(RandomOperand(random));
        // Operands that agree in type and shape are what gets deep into a kernel.
        if (i > 0 && operands[0].has_value() && random.Below(3) == 0) operands.back() = operands[0];
        if (random.Below(12) == 0) operands.back() = std::nullopt;
      }
      AttributeList attributes;
      for (uint64_t i = random.Below(5); i > 0; --i) {
        attributes.emplace_back(names[random.Below(std::size(names))], RandomAttribute(random));
      }
      const int results =
          static_cast<int>(random.Between(1, info.max_results < 0 ? 3 : info.max_results));
      const auto result = Evaluate(info.op, operands, attributes, results);
      ++calls;
      if (!result.ok()) {
        ASSERT_NE(MessageOf(result.status()).find("node 'n' (" + std::string(info.id) + ")"),
                  std::string::npos)
            << MessageOf(result.status());
        continue;
      }
      ++answered;
      ASSERT_EQ(static_cast<int>(result->size()), results);
    }
  }
  // Otherwise the test would only look at argument checks.
  EXPECT_GT(answered, calls / 20) << "of " << calls;
}

}  // namespace
}  // namespace kiln
