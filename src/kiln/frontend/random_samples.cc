// Implements random_samples.h: finds the range of valid indices by following an input to the tables
// that it indexes, and draws values.
#include "kiln/frontend/random_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kiln/frontend/data_input.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

constexpr size_t kMaxUses = size_t{1} << 20;  // bounds the work of following one input

// Follows a value to its uses, with the least and the greatest constant added to it on the way.
// Example: ids + 2 as indices of a table of 1000 rows restricts ids to [0, 998).
class IndexWalk {
 public:
  // Follows the value with a work list; each combination of value and sums is visited once.
  void Run(const Value& value) {
    Reach(value, 0, 0);
    while (!open_.empty() && uses_ <= kMaxUses) {
      const auto [reached, least, most] = open_.back();
      open_.pop_back();
      for (const Node* user : reached->users()) {
        for (int i = 0; i < user->num_operands(); ++i) {
          if (user->operand(i) == reached && ++uses_ <= kMaxUses) Use(*user, i, least, most);
        }
      }
    }
  }
  std::optional<IndexRange> range() const {
    return is_index_ ? std::optional(IndexRange{low_, std::max(low_ + 1, high_)}) : std::nullopt;
  }

 private:
  using Place =
      // A value, with the least and the greatest sum added so far.
      std::tuple<const Value*, int64_t, int64_t>;

  // Schedules a value for a visit unless it has been visited with the same sums.
  void Reach(const Value& value, int64_t least, int64_t most) {
    if (seen_.emplace(&value, least, most).second) open_.emplace_back(&value, least, most);
  }

  // Restricts the range so that value + sum stays inside a table of `places` entries.
  void Narrow(int64_t places, int64_t least, int64_t most) {
    is_index_ = true;
    low_ = std::max(low_, -least);
    high_ = std::min(high_, places - std::max<int64_t>(0, most));
  }

  // Returns the number of entries of the table that operand `i` of the node indexes; nullopt if it
  // is not an index.
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
    if (op == "GatherND") {  // one index per leading axis: below the shortest of them
      return shape.rank() == 0 ? 1 : *std::min_element(shape.dims().begin(), shape.dims().end());
    }
    int64_t axis = node.attributes().Int("axis", 0);
    if (axis < 0) axis += shape.rank();
    return axis >= 0 && axis < shape.rank() ? shape[static_cast<int>(axis)] : 1;
  }

  // Returns true if the node only moves or casts operand `i`.
  static bool Moves(const Node& node, int i) {
    if (node.op() == Op::kConcat) return true;
    if (node.op() == Op::kWhere) return i > 0;
    if (node.op() == Op::kCast) return IsInteger(node.result()->element());
    return i == 0 && node.info().Has(kMovesData);
  }

  // Handles one use of a value: an index, a move, or a sum with a constant.
  void Use(const Node& node, int i, int64_t least, int64_t most) {
    if (const std::optional<int64_t> places = Places(node, i)) Narrow(*places, least, most);
    if (Moves(node, i)) {
      for (const Value* result : node.results()) {
        if (result != nullptr) Reach(*result, least, most);
      }
      return;
    }
    const bool adds = node.op() == Op::kAdd, subtracts = node.op() == Op::kSub && i == 0;
    if (!adds && !subtracts) return;
    const Value* other = node.operand(1 - i);
    if (other == nullptr || !other->is_constant() || !IsInteger(other->element()) ||
        other->constant().size() == 0) {
      return;
    }
    // Subtracting a constant from [low, high] adds [-high, -low].
    const auto [low, high] = RangeOf(*other);
    const int64_t lowest = subtracts ? -high : low, highest = subtracts ? -low : high;
    // The value's own range is still unknown; only the constants are added up.
    Reach(*node.result(), std::clamp(least + lowest, -kMost, kMost),
          std::clamp(most + highest, -kMost, kMost));
  }

  // Returns the least and the greatest element of a constant, clamped to +-kMost.
  std::pair<int64_t, int64_t> RangeOf(const Value& constant) {
    const auto [at, is_new] = ranges_.try_emplace(&constant, kMost, -kMost);
    if (is_new) {
      for (const int64_t c : constant.constant().ToInts()) {
        at->second.first = std::min(at->second.first, std::clamp(c, -kMost, kMost));
        at->second.second = std::max(at->second.second, std::clamp(c, -kMost, kMost));
      }
    }
    return at->second;
  }

  static constexpr int64_t kMost = int64_t{1} << 40;  // keeps sums far from overflow
  std::vector<Place> open_;
  std::set<Place> seen_;
  std::unordered_map<const Value*, std::pair<int64_t, int64_t>> ranges_;
  size_t uses_ = 0;
  bool is_index_ = false;
  int64_t low_ = 0, high_ = std::numeric_limits<int64_t>::max();
};

// Returns the greatest value of an integer type, at most that of int64.
int64_t MostOf(ElementType type) {
  const int bits = 8 * SizeOf(type);
  const bool is_signed = type == ElementType::kInt8 || type == ElementType::kInt16 ||
                         type == ElementType::kInt32 || type == ElementType::kInt64;
  return bits == 64 ? std::numeric_limits<int64_t>::max()
                    : (int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
}

// Appends a value in little-endian order.
void AppendInteger(int64_t value, ElementType type, std::string* bytes) {
  for (int i = 0; i < SizeOf(type); ++i)
    *bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 255);
}

void AppendFloat(double value, ElementType type, std::string* bytes) {
  const auto single = static_cast<float>(value);
  const auto append = [bytes](const auto& bits) {
    bytes->append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  };
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

// Draws `count` samples of an input; the header lists the distributions.
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
    // 8-bit integers are drawn as bytes, so all values of either sign occur.
    for (int64_t i = 0; i < elements; ++i) AppendInteger(random.Between(0, 255), type, &bytes);
  } else {
    // Masks: ones, then zeros, per row.
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
  walk.Run(value);
  return walk.range();
}

StatusOr<std::vector<DataSet>> RandomSamples(const Graph& network, int64_t count,
                                             int64_t most_bytes) {
  std::vector<DataSet> sets;
  int64_t left = most_bytes;  // a model can declare any shape
  for (const Value* input : network.inputs()) {
    const std::string place = fmt::format("input {}", QuotedExcerpt(input->name()));
    if (input->element() == ElementType::kString) {
      return UnsupportedAt(network.source(), place, "takes strings", "there are no random ones");
    }
    const Shape sample = input->has_shape() ? SampleShape(*input) : Shape{kUnknownDim};
    const std::optional<int64_t> elements = CheckedNumElements(sample);
    if (!elements.has_value() || *elements == 0) {
      return ErrorAt("", "--random",
                     fmt::format("there are no samples of {}", DescribeInput(*input)),
                     "the network's inputs must have known dimensions above 0");
    }
    const int64_t size = *elements * SizeOf(input->element());
    // Dividing avoids an overflow of count * size.
    if (count > left / size) {
      return ErrorAt("", "--random",
                     fmt::format("{} sample{} of {} {} too large", count, count == 1 ? "" : "s",
                                 DescribeInput(*input), count == 1 ? "is" : "are"),
                     fmt::format("at most {} bytes are made", most_bytes));
    }
    left -= count * size;
    // The seed depends only on the input's position, so samples are reproducible.
    auto bytes = std::make_shared<const std::string>(Draw(*input, sample, count, 1 + sets.size()));
    const auto first = sample.dims().begin() + (HasBatchAxis(sample) ? 1 : 0);
    sets.emplace_back(
        "random noise", DataFormat::kRaw,
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
