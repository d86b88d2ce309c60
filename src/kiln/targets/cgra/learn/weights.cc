// Lists, initialises, writes and reads the weights of policies.

#include "kiln/targets/cgra/learn/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "kiln/support/check.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"
#include "kiln/support/random.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/cgra/learn/features.h"

namespace kiln::cgra {
namespace {

constexpr std::string_view kMagic = "KILNPOLI";
constexpr uint32_t kVersion = 1;
constexpr size_t kMostNumbers = 64, kMostName = 64;

Matrix Named(std::string_view name, int rows, int columns) {
  return {.name = std::string(name), .rows = rows, .columns = columns, .values = {}};
}

void AddLayer(std::string_view name, int rows, int columns, std::vector<Matrix>* matrices) {
  matrices->push_back(Named(name, rows, columns));
  matrices->push_back(Named(fmt::format("{}.bias", name), 1, columns));
}

class ByteWriter {
 public:
  void Word(uint32_t word) {
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(word >> (8 * i) & 0xff);
  }
  void Long(uint64_t value) {
    Word(static_cast<uint32_t>(value));
    Word(static_cast<uint32_t>(value >> 32));
  }
  void Text(std::string_view text) {
    Word(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  void Values(const Matrix& matrix) {
    Text(matrix.name);
    Word(static_cast<uint32_t>(matrix.rows));
    Word(static_cast<uint32_t>(matrix.columns));
    for (const float value : matrix.values) Word(std::bit_cast<uint32_t>(value));
  }
  std::string bytes_;
};

// Reads what ByteWriter wrote; after the end, it returns zeros and fails.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  uint32_t Word() {
    if (bytes_.size() - at_ < 4) {
      failed_ = true;
      return 0;
    }
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i) {
      word |= static_cast<uint32_t>(static_cast<unsigned char>(bytes_[at_++])) << (8 * i);
    }
    return word;
  }
  uint64_t Long() {
    const uint64_t low = Word();
    return low | static_cast<uint64_t>(Word()) << 32;
  }
  std::string_view Text(size_t most) {
    const size_t size = Word();
    if (size > most || size > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    const std::string_view text = bytes_.substr(at_, size);
    at_ += size;
    return text;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return at_ == bytes_.size(); }
  size_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

uint32_t FlagsOf(const PolicyShape& shape) {
  return (shape.graph ? 1U : 0U) | (shape.attention ? 2U : 0U) | (shape.stacked ? 4U : 0U);
}

// The sizes that the matrices follow from; a file made with others is refused.
std::vector<uint32_t> Sizes() {
  std::vector<uint32_t> sizes;
  for (const int size :
       {kInstructionFeatures, kGlobalFeatures, kTileFeatures, kCellFeatures, kEmbedding, kHeads,
        kContext, kTileWidth, kHidden, kHidden2, kStackedHidden, kStackedTiles, kStackedSlots}) {
    sizes.push_back(static_cast<uint32_t>(size));
  }
  return sizes;
}

Status FaultIn(std::string_view source, std::string_view fault) {
  return ErrorAt(source, "", fault, "a policy that this version of Kiln trained");
}

// Reads the matrices of one list, which must be `wanted`, in order.
Status ReadMatrices(ByteReader* reader, const std::vector<Matrix>& wanted, std::string_view source,
                    std::vector<Matrix>* matrices) {
  for (const Matrix& matrix : wanted) {
    const std::string_view name = reader->Text(kMostName);
    const uint32_t rows = reader->Word(), columns = reader->Word();
    if (reader->failed()) return FaultIn(source, "it ends inside a matrix");
    if (name != matrix.name || rows != static_cast<uint32_t>(matrix.rows) ||
        columns != static_cast<uint32_t>(matrix.columns)) {
      return FaultIn(
          source,
          fmt::format("it has the matrix '{}' of {}x{} where '{}' of {}x{} belongs", Excerpt(name),
                      rows, columns, matrix.name, matrix.rows, matrix.columns));
    }
    const size_t count = static_cast<size_t>(matrix.rows) * static_cast<size_t>(matrix.columns);
    if (reader->left() < count * 4) return FaultIn(source, "it ends inside a matrix");
    Matrix read = matrix;
    read.values.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const float value = std::bit_cast<float>(reader->Word());
      if (!std::isfinite(value)) {
        return FaultIn(source, fmt::format("matrix '{}' has a value that is not finite", name));
      }
      read.values.push_back(value);
    }
    matrices->push_back(std::move(read));
  }
  return OkStatus();
}

std::string DigestOf(std::string_view bytes) {
  const std::vector<uint8_t> digest =
      Sha256Of(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  return {digest.begin(), digest.end()};
}

}  // namespace

int StackedInputs() {
  return kStackedTiles * kStackedSlots + kStackedTiles + kStackedSlots + kInstructionFeatures +
         kGlobalFeatures;
}

const Matrix& Weights::at(std::string_view name) const {
  const auto matrix = std::ranges::find(matrices, name, &Matrix::name);
  KILN_CHECK(matrix != matrices.end());
  return *matrix;
}

std::vector<Matrix> MatricesOf(const PolicyShape& shape) {
  std::vector<Matrix> matrices;
  if (shape.stacked) {
    for (const std::string_view part : {"actor", "critic"}) {
      AddLayer(fmt::format("{}.1", part), StackedInputs(), kStackedHidden, &matrices);
      AddLayer(fmt::format("{}.2", part), kStackedHidden, kStackedHidden, &matrices);
      AddLayer(fmt::format("{}.3", part), kStackedHidden,
               part == "actor" ? kStackedTiles * kStackedSlots : 1, &matrices);
    }
    return matrices;
  }
  const int twice = shape.graph ? 2 : 1;  // a layer reads an instruction and its neighbourhood
  AddLayer("graph.1", twice * kInstructionFeatures, kEmbedding, &matrices);
  AddLayer("graph.2", twice * kEmbedding, kEmbedding, &matrices);
  if (shape.attention) {
    AddLayer("attention.query", kEmbedding, kEmbedding, &matrices);
    AddLayer("attention.key", kEmbedding, kEmbedding, &matrices);
    AddLayer("attention.value", kEmbedding, kEmbedding, &matrices);
    AddLayer("attention.out", kEmbedding, kEmbedding, &matrices);
    AddLayer("attention.wide", kEmbedding, 2 * kEmbedding, &matrices);
    AddLayer("attention.narrow", 2 * kEmbedding, kEmbedding, &matrices);
  }
  AddLayer("context", 2 * kEmbedding + kGlobalFeatures, kContext, &matrices);
  AddLayer("tile", 2 * kEmbedding + kTileFeatures, kTileWidth, &matrices);
  AddLayer("actor.1", kCellFeatures + kTileWidth + kContext, kHidden, &matrices);
  AddLayer("actor.2", kHidden, kHidden2, &matrices);
  AddLayer("actor.3", kHidden2, 1, &matrices);
  AddLayer("critic.1", kContext + kTileWidth, kHidden, &matrices);
  AddLayer("critic.2", kHidden, kHidden2, &matrices);
  AddLayer("critic.3", kHidden2, 1, &matrices);
  return matrices;
}

Weights InitialWeights(const PolicyShape& shape, uint64_t seed) {
  Weights weights{.shape = shape, .matrices = MatricesOf(shape)};
  Random random(seed);
  for (Matrix& matrix : weights.matrices) {
    matrix.values.assign(static_cast<size_t>(matrix.rows) * static_cast<size_t>(matrix.columns),
                         0.0F);
    if (matrix.name.ends_with(".bias")) continue;
    double most = std::sqrt(6.0 / (matrix.rows + matrix.columns));
    if (matrix.name == "actor.3") most /= 10;
    for (float& value : matrix.values) value = static_cast<float>(random.Uniform(-most, most));
  }
  return weights;
}

std::string SerializeTraining(const TrainingState& state) {
  ByteWriter writer;
  writer.bytes_ = kMagic;
  writer.Word(kVersion);
  writer.Word(FlagsOf(state.weights.shape));
  for (const uint32_t size : Sizes()) writer.Word(size);
  writer.Word(static_cast<uint32_t>(state.numbers.size()));
  for (const auto& [name, value] : state.numbers) {
    writer.Text(name);
    writer.Long(value);
  }
  writer.Word(state.first.empty() ? 0 : 1);
  for (const std::vector<Matrix>* list : {&state.weights.matrices, &state.first, &state.second}) {
    for (const Matrix& matrix : *list) writer.Values(matrix);
  }
  writer.bytes_ += DigestOf(writer.bytes_);
  return std::move(writer.bytes_);
}

StatusOr<TrainingState> ParseTraining(std::string_view bytes, std::string_view source) {
  if (std::ssize(bytes) > budgets::kPolicyBytes) {
    return FaultIn(
        source, fmt::format("it has {} bytes, more than {}", bytes.size(), budgets::kPolicyBytes));
  }
  if (!bytes.starts_with(kMagic)) return FaultIn(source, "it is not a policy");
  if (bytes.size() < kMagic.size() + kSha256Bytes) return FaultIn(source, "it is cut short");
  const std::string_view body = bytes.substr(0, bytes.size() - kSha256Bytes);
  ByteReader reader(body.substr(kMagic.size()));
  if (const uint32_t version = reader.Word(); version != kVersion) {
    return FaultIn(source, fmt::format("it has version {}; this Kiln reads {}", version, kVersion));
  }
  if (DigestOf(body) != bytes.substr(body.size())) {
    return FaultIn(source, "its bytes do not match its SHA-256; it is cut short or changed");
  }
  const uint32_t flags = reader.Word();
  if (flags > 7) return FaultIn(source, fmt::format("it has the unknown shape {}", flags));
  TrainingState state;
  state.weights.shape = {
      .graph = (flags & 1) != 0, .attention = (flags & 2) != 0, .stacked = (flags & 4) != 0};
  for (const uint32_t size : Sizes()) {
    if (reader.Word() != size) return FaultIn(source, "it was made for other features or layers");
  }
  const uint32_t numbers = reader.Word();
  if (numbers > kMostNumbers) return FaultIn(source, fmt::format("it has {} numbers", numbers));
  for (uint32_t i = 0; i < numbers; ++i) {
    const std::string_view name = reader.Text(kMostName);
    state.numbers[std::string(name)] = reader.Long();
  }
  const uint32_t has_moments = reader.Word();
  if (reader.failed() || has_moments > 1) return FaultIn(source, "its header is cut short");
  const std::vector<Matrix> wanted = MatricesOf(state.weights.shape);
  KILN_RETURN_IF_ERROR(ReadMatrices(&reader, wanted, source, &state.weights.matrices));
  if (has_moments == 1) {
    KILN_RETURN_IF_ERROR(ReadMatrices(&reader, wanted, source, &state.first));
    KILN_RETURN_IF_ERROR(ReadMatrices(&reader, wanted, source, &state.second));
  }
  if (!reader.at_end()) return FaultIn(source, "bytes follow its last matrix");
  return state;
}

StatusOr<TrainingState> ReadTraining(const std::string& path) {
  KILN_ASSIGN_OR_RETURN(const std::string bytes,
                        ReadFile(path, static_cast<uint64_t>(budgets::kPolicyBytes)));
  return ParseTraining(bytes, path);
}

}  // namespace kiln::cgra
