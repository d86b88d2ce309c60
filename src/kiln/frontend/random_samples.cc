#include "kiln/frontend/random_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "kiln/frontend/data_input.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 32;  // a model can name any shape
constexpr size_t kMaxVisits = 100000;            // of values that an input flows through

// Where a value goes, with the least and the greatest constant that was added to it on the way.
class IndexWalk {
 public:
  void Visit(const Value& value, int64_t least, int64_t most) {
    if (seen_.size() > kMaxVisits || !seen_.emplace(&value, least, most).second) return;
    for (const Node* user : value.users()) {
      for (int i = 0; i < user->num_operands(); ++i) {
        if (user->operand(i) == &value) Use(*user, i, least, most);
      }
    }
  }
  const std::optional<IndexRange>& range() const { return range_; }

 private:
  void Narrow(int64_t places, int64_t least, int64_t most) {
    const int64_t low = std::max<int64_t>(0, -least);
    const int64_t high = std::max(low + 1, places - std::max<int64_t>(0, most));
    if (!range_.has_value()) {
      range_ = IndexRange{low, high};
      return;
    }
    range_->low = std::max(range_->low, low);
    range_->high = std::max(range_->low + 1, std::min(range_->high, high));
  }

  // How many places the table has that operand `i` of the node indexes; nothing where it is no index.
  static std::optional<int64_t> Places(const Node& node, int i) {
    const std::string_view op = node.info().onnx_name;
    const Value* table = node.operand(0);
    if (op == "OneHot" && i == 0) {
      const Value* depth = node.operand(1);
      const bool known = depth != nullptr && depth->is_constant() && depth->constant().size() == 1;
      return known ? std::max<int64_t>(1, static_cast<int64_t>(depth->constant().ValueAt(0))) : 1;
    }
    const bool gathers = op == "Gather" || op == "GatherElements" || op == "GatherND";
    if (!gathers || i != 1 || table == nullptr) return std::nullopt;
    if (!table->has_shape() || !table->shape().IsKnown()) return 1;
    const Shape& shape = table->shape();
    if (op == "GatherND") {  // an index for each of the first axes: below the least of them
      return shape.rank() == 0 ? 1 : *std::min_element(shape.dims().begin(), shape.dims().end());
    }
    int64_t axis = node.attributes().Int("axis", 0);
    if (axis < 0) axis += shape.rank();
    return axis >= 0 && axis < shape.rank() ? shape[static_cast<int>(axis)] : 1;
  }

  static bool Moves(const Node& node, int i) {
    if (node.op() == Op::kConcat) return true;
    if (node.op() == Op::kWhere) return i > 0;
    if (node.op() == Op::kCast) return IsInteger(node.result()->element());
    return i == 0 && node.info().Has(kMovesData);
  }

  void Use(const Node& node, int i, int64_t least, int64_t most) {
    if (const std::optional<int64_t> places = Places(node, i)) Narrow(*places, least, most);
    if (Moves(node, i)) {
      for (const Value* result : node.results()) {
        if (result != nullptr) Visit(*result, least, most);
      }
      return;
    }
    const bool adds = node.op() == Op::kAdd, subtracts = node.op() == Op::kSub && i == 0;
    if (!adds && !subtracts) return;
    const Value* other = node.operand(1 - i);
    if (other == nullptr || !other->is_constant() || !IsInteger(other->element()) || other->constant().size() == 0) {
      return;
    }
    constexpr int64_t kMost = int64_t{1} << 40;  // sums stay far from where they would overflow
    int64_t low = kMost, high = -kMost;
    for (const int64_t c : other->constant().ToInts()) {
      const int64_t shift = std::clamp(subtracts ? -std::clamp(c, -kMost, kMost) : c, -kMost, kMost);
      low = std::min(low, shift);
      high = std::max(high, shift);
    }
    Visit(*node.result(), std::clamp(least + low, -kMost, kMost), std::clamp(most + high, -kMost, kMost));
  }

  std::set<std::tuple<const Value*, int64_t, int64_t>> seen_;
  std::optional<IndexRange> range_;
};

// The greatest value of an integer type, or of int64 where that is less.
int64_t MostOf(ElementType type) {
  const int bits = 8 * SizeOf(type);
  const bool is_signed = type == ElementType::kInt8 || type == ElementType::kInt16 || type == ElementType::kInt32 ||
                         type == ElementType::kInt64;
  return bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
}

void AppendInteger(int64_t value, ElementType type, std::string* bytes) {
  for (int i = 0; i < SizeOf(type); ++i) *bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 255);
}

void AppendFloat(double value, ElementType type, std::string* bytes) {
  const auto single = static_cast<float>(value);
  const auto append = [bytes](const auto& bits) { bytes->append(reinterpret_cast<const char*>(&bits), sizeof(bits)); };
  switch (type) {
    case ElementType::kFloat64:
      return append(value);
    case ElementType::kFloat16:
      return append(FloatToHalf(single));
    case ElementType::kBfloat16:
      return append(FloatToBfloat16(single));
    default:
      return append(single);
  }
}

std::string Draw(const Value& input, const Shape& sample, int64_t count, uint64_t seed) {
  const ElementType type = input.element();
  const int64_t elements = count * sample.NumElements();
  std::string bytes;
  bytes.reserve(static_cast<size_t>(elements * SizeOf(type)));
  Random random(seed);
  const std::optional<IndexRange> range = IsInteger(type) ? IndexRangeOf(input) : std::nullopt;
  if (IsFloat(type)) {
    for (int64_t i = 0; i < elements; ++i) AppendFloat(random.Uniform(-1, 1), type, &bytes);
  } else if (range.has_value()) {
    const int64_t most = MostOf(type);
    const int64_t low = std::min(range->low, most), high = std::min(range->high - 1, most);
    for (int64_t i = 0; i < elements; ++i) AppendInteger(random.Between(low, high), type, &bytes);
  } else if (type == ElementType::kInt8 || type == ElementType::kUint8) {
    for (int64_t i = 0; i < elements; ++i) AppendInteger(random.Between(0, 255), type, &bytes);
  } else {
    const int64_t row = sample.rank() > 0 ? sample[sample.rank() - 1] : 1;
    for (int64_t i = 0; i < elements; i += row) {
      const int64_t ones = random.Between(1, row);
      for (int64_t at = 0; at < row; ++at) AppendInteger(at < ones ? 1 : 0, type, &bytes);
    }
  }
  return bytes;
}

}  // namespace

std::optional<IndexRange> IndexRangeOf(const Value& value) {
  IndexWalk walk;
  walk.Visit(value, 0, 0);
  return walk.range();
}

StatusOr<std::vector<DataSet>> RandomSamples(const Graph& network, int64_t count) {
  std::vector<DataSet> sets;
  int64_t left = kMaxBytes;
  for (const Value* input : network.inputs()) {
    const std::string place = fmt::format("input '{}'", input->name());
    if (input->element() == ElementType::kString) {
      return UnsupportedAt(network.source(), place, "takes strings", "there are no random ones");
    }
    const Shape sample = input->has_shape() ? SampleShape(*input) : Shape{kUnknownDim};
    const std::optional<int64_t> elements = CheckedNumElements(sample);
    if (!elements.has_value() || *elements == 0) {
      return ErrorAt("", "--random", fmt::format("there are no samples of {}", DescribeInput(*input)),
                     "the network's inputs must have known dimensions above 0");
    }
    const int64_t size = *elements * SizeOf(input->element());
    if (count > left / size) {
      return ErrorAt("", "--random",
                     fmt::format("{} sample{} of {} {} too large", count, count == 1 ? "" : "s", DescribeInput(*input),
                                 count == 1 ? "is" : "are"),
                     "at most 4 GiB are made");
    }
    left -= count * size;
    auto bytes = std::make_shared<const std::string>(Draw(*input, sample, count, 1 + sets.size()));
    const auto first = sample.dims().begin() + (HasBatchAxis(sample) ? 1 : 0);
    sets.emplace_back("random noise", DataFormat::kRaw,
                      DataSet::Parts{.bytes = std::move(bytes),
                                     .offset = 0,
                                     .stride = size,
                                     .count = count,
                                     .image_shape = Shape(std::vector<int64_t>(first, sample.dims().end())),
                                     .layout = ImageLayout::kChw,
                                     .element = input->element(),
                                     .labels = {},
                                     .label_shape = {}});
  }
  return sets;
}

}  // namespace kiln
